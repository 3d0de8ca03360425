package top

import (
	"strconv"
	"strings"

	"github.com/gdamore/tcell/v2"
)

// maxName bounds what is shown of a name, in bytes.
const maxName = 2048

// escape makes a name harmless to a terminal: what does not print is shown as Go writes it, \n
// or \x1b. A very long one loses its middle.
func escape(s string) string {
	if len(s) > maxName {
		s = strings.ToValidUTF8(s[:maxName/2], "") + "…" + strings.ToValidUTF8(s[len(s)-maxName/2:], "")
	}
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRune(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

// isPlain tells whether s is printable ASCII alone: one cell a byte.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// width is how many cells s takes. s holds no control characters.
func width(s string) int {
	if isPlain(s) {
		return len(s)
	}
	cells := 0
	eachCell(s, func(_ string, w int) bool { cells += w; return true })
	return cells
}

// eachCell calls f with each piece of s that stays together on a terminal, and its cells,
// until f returns false.
func eachCell(s string, f func(piece string, cells int) bool) {
	var one tcell.CellBuffer
	one.Resize(1, 1)
	for s != "" {
		rest, w := one.Put(0, 0, s, tcell.StyleDefault)
		if len(rest) >= len(s) || !f(s[:len(s)-len(rest)], w) {
			return
		}
		s = rest
	}
}

// head is as much of the begin of s as fits into cells.
func head(s string, cells int) string {
	if isPlain(s) {
		return s[:min(len(s), max(cells, 0))]
	}
	taken, end := 0, 0
	eachCell(s, func(piece string, w int) bool {
		if taken+w > cells {
			return false
		}
		taken, end = taken+w, end+len(piece)
		return true
	})
	return s[:end]
}

// cutEnd shortens s to cells by its end.
func cutEnd(s string, cells int) string {
	if width(s) <= cells {
		return s
	}
	if cells < 1 {
		return ""
	}
	return head(s, cells-1) + "…"
}

// cutMiddle shortens a name to cells. One with parts keeps the last of them, which says the
// most: "github.com/…/Method", "std::…::push_back". Arguments go before the part does.
func cutMiddle(s string, cells int) string {
	if width(s) <= cells {
		return s
	}
	at := lastPart(s)
	if at <= 0 {
		return cutEnd(s, cells)
	}
	tail := s[at:]
	if args := arguments(tail); args > 0 && width(tail)+3 > cells {
		tail = tail[:args] + "()"
	}
	if room := cells - width(tail) - 1; room >= 2 {
		return head(s, room) + "…" + tail
	}
	return cutEnd(strings.TrimLeft(tail, ":./"), cells)
}

// cutPath shortens FILE:LINE to cells and keeps its end: "src/…/ae.c:97".
func cutPath(s string, cells int) string {
	if width(s) <= cells {
		return s
	}
	tail := s[strings.LastIndexByte(s, '/')+1:]
	if room := cells - width(tail) - 2; room >= 1 && len(tail) < len(s) {
		return head(s, room) + "…/" + tail
	}
	if cells < 1 {
		return ""
	}
	left := width(tail) - (cells - 1) // how much has to go
	eachCell(tail, func(piece string, w int) bool {
		if left <= 0 {
			return false
		}
		left, tail = left-w, tail[len(piece):]
		return true
	})
	return "…" + tail
}

// lastPart is where the last ::, . or / begins that stands outside of all brackets; -1 if
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
	if open <= 0 || !strings.HasSuffix(s, ")") && !strings.HasSuffix(s, ") const") || strings.HasPrefix(s[open:], "()") {
		return 0
	}
	return open
}

// pad fills s up to cells with blanks on its right, or on its left.
func pad(s string, cells int, left bool) string {
	blanks := strings.Repeat(" ", max(0, cells-width(s)))
	if left {
		return blanks + s
	}
	return s + blanks
}
