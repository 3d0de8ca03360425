package text

import (
	"strings"

	"github.com/rivo/uniseg"
)

// maxRead bounds how much of a name is read when it is shortened, in bytes.
const maxRead = 1 << 14

// Width is how many cells s takes on a terminal.
func Width(s string) int {
	if isPlain(s) {
		return len(s)
	}
	cells := 0
	EachCell(s, func(_ string, w int) bool { cells += w; return true })
	return cells
}

// EachCell calls f with each piece of s that stays together on a terminal, and its cells, until f
// returns false. What takes no cell belongs to the piece behind it, at the end to none.
func EachCell(s string, f func(piece string, cells int) bool) {
	state := -1
	for s != "" {
		rest, w := s, 0
		for w == 0 && rest != "" {
			_, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		}
		if !f(s[:len(s)-len(rest)], w) {
			return
		}
		s = rest
	}
}

// Head is as much of the begin of s as fits into cells.
func Head(s string, cells int) string {
	if isPlain(s) {
		return s[:min(len(s), max(cells, 0))]
	}
	taken, end := 0, 0
	EachCell(s, func(piece string, w int) bool {
		if taken+w > cells {
			return false
		}
		taken, end = taken+w, end+len(piece)
		return true
	})
	return s[:end]
}

// ShortenEnd shortens s to cells by its end.
func ShortenEnd(s string, cells int) string {
	if fits(s, cells) {
		return s
	}
	if cells < 1 {
		return ""
	}
	return Head(s, cells-1) + "…"
}

// Shorten shortens the name of a function to cells. One with parts keeps the last of them,
// which says the most: "github.com/…/Method", "std::…::push_back". Arguments go before the
// part does.
func Shorten(name string, cells int) string {
	if fits(name, cells) {
		return name
	}
	if len(name) > maxRead {
		name = strings.ToValidUTF8(name[:maxRead/2], "") + strings.ToValidUTF8(name[len(name)-maxRead/2:], "")
	}
	at := lastPart(name)
	if at <= 0 {
		return ShortenEnd(name, cells)
	}
	tail := name[at:]
	if args := arguments(tail); args > 0 && Width(tail)+3 > cells {
		tail = tail[:args] + "()"
	}
	switch room := cells - Width(tail) - 1; {
	case room >= 2:
		return Head(name, room) + "…" + tail
	case room >= 0:
		return "…" + tail
	}
	return ShortenEnd(strings.TrimLeft(tail, ":./"), cells)
}

// ShortenPath shortens a path, or FILE:LINE, to cells and keeps its end, whole folders of it as far as they fit:
// "…/src/ae.c:97".
func ShortenPath(s string, cells int) string {
	if fits(s, cells) {
		return s
	}
	if cells < 1 {
		return ""
	}
	s = strings.ToValidUTF8(s[max(0, len(s)-maxRead):], "")
	tail := s[strings.LastIndexByte(s, '/')+1:]
	if tail != "" && fits(tail, cells) {
		for rest := s; ; {
			_, end, found := strings.Cut(rest, "/")
			switch {
			case !found:
				return tail
			case fits("…/"+end, cells):
				return "…/" + end
			}
			rest = end
		}
	}
	left := Width(tail) - (cells - 1) // how much has to go
	EachCell(tail, func(piece string, w int) bool {
		if left <= 0 {
			return false
		}
		left, tail = left-w, tail[len(piece):]
		return true
	})
	return "…" + tail
}

// fits reports whether s takes at most cells. A name of a megabyte is not measured.
func fits(s string, cells int) bool {
	return cells >= 0 && (len(s) <= cells || len(s) <= maxRead && Width(s) <= cells)
}

// lastPart is where the last ::, . or / begins outside of all brackets; -1 if
// there is none, or nothing behind it.
func lastPart(s string) int {
	at, depth := -1, 0
	for i := 0; i < len(s)-1; i++ {
		switch s[i] {
		case '<', '(', '[', '{':
			depth++
		case '>', ')', ']', '}':
			depth = max(0, depth-1)
		case '.', '/':
			if depth == 0 {
				at = i
			}
		case ':':
			if depth == 0 && s[i+1] == ':' {
				at = i
				i++
			}
		case 'o':
			i += operatorSign(s[i:])
		}
	}
	return at
}

// operatorSign is how many bytes of "operator<<" and its like at the begin of s to pass over,
// as its sign is no bracket.
func operatorSign(s string) int {
	const word = "operator"
	if !strings.HasPrefix(s, word) {
		return 0
	}
	sign := s[len(word):]
	for _, pair := range []string{"()", "[]"} {
		if strings.HasPrefix(sign, pair) {
			return len(word) + 1
		}
	}
	return len(word) + len(sign) - len(strings.TrimLeft(sign, "<>-=+*/!&|^%~")) - 1
}

// arguments is where the list of arguments at the end of s begins, 0 if it has none.
func arguments(s string) int {
	open := strings.IndexByte(s, '(')
	if open <= 0 || !strings.HasSuffix(s, ")") && !strings.HasSuffix(s, ") const") ||
		strings.HasPrefix(s[open:], "()") {
		return 0
	}
	return open
}
