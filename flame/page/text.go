package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fpstack/fpstack/profile"
)

// clean makes s fit for XML and for a reader's eyes: bytes that are not UTF-8, control
// characters, characters that XML 1.0 does not allow, and marks that turn the direction of
// text become U+FFFD.
// Source: XML 1.0 section 2.2 (Char); Unicode Standard Annex #9 section 2.
func clean(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return strings.Map(cleanRune, strings.ToValidUTF8(s, "\ufffd"))
		}
	}
	return s
}

// cleaner is clean for many names: what it changes is kept once, however many frames or threads have that
// name.
type cleaner map[string]string

func (c cleaner) clean(name string) string {
	out, ok := c[name]
	if !ok {
		if out = clean(name); out == name {
			return name
		}
		c[name] = out
	}
	return out
}

func cleanRune(r rune) rune {
	switch {
	case unicode.IsControl(r), r == 0xfffe, r == 0xffff,
		r == 0x2028, r == 0x2029, unicode.Is(unicode.Bidi_Control, r):
		return utf8.RuneError
	}
	return r
}

// escape replaces what has a meaning in XML and HTML, in text and in quoted attributes.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;").Replace

// shorten cuts name to n columns, in the middle where it is made of parts, so that
// the last part stays: a::b::c to a…::c. Below three columns nothing is left.
func shorten(name string, n int) string {
	if len(name) <= n || len(name) <= utf8.UTFMax*n && columns(name) <= n {
		return name
	}
	if n < 3 {
		return ""
	}
	runes := []rune(name[:min(len(name), 1<<14)])
	tail := runes[lastPart(runes):]
	if len(tail) == len(runes) || columns(string(tail))+3 > n {
		if len(tail) < len(runes) && columns(string(tail))+1 <= n {
			return "…" + string(tail)
		}
		for len(tail) > 1 && len(tail) < len(runes) && strings.ContainsRune(":./", tail[0]) {
			tail = tail[1:]
		}
		if columns(string(tail)) <= n {
			return string(tail)
		}
		return fit(tail, n-1) + "…"
	}
	return fit(runes, n-1-columns(string(tail))) + "…" + string(tail)
}

// lastPart returns where the last part of a name made of parts begins, with its separator,
// arguments and what stands in angle brackets left aside; 0 if there is but one.
func lastPart(name []rune) int {
	depth, at := 0, 0
	for i, r := range name {
		switch {
		case r == '(' && i > 0 && depth == 0:
			return at
		case r == '<' || r == '[' || r == '{':
			depth++
		case (r == '>' || r == ']' || r == '}') && depth > 0:
			depth--
		case depth == 0 && i > 0 && (r == '.' || r == '/' || r == ':' && name[i-1] == ':'):
			at = i
			if r == ':' {
				at--
			}
		}
	}
	return at
}

// columns is the width of s in a font of one width, where East Asian characters take two.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += wide(r)
	}
	return n
}

func wide(r rune) int {
	if r >= 0x2e80 || r >= 0x1100 && r < 0x1160 {
		return 2
	}
	return 1
}

func fit(s []rune, n int) string {
	for i, r := range s {
		if n -= wide(r); n < 0 {
			return string(s[:i])
		}
	}
	return string(s)
}

// quantity writes v in unit for a person.
func quantity(v float64, unit string) string {
	switch unit {
	case "nanoseconds":
		return scaled(v, []string{"ns", "µs", "ms", "s"}, 1000)
	case "microseconds":
		return scaled(v, []string{"µs", "ms", "s"}, 1000)
	case "milliseconds":
		return scaled(v, []string{"ms", "s"}, 1000)
	case "bytes":
		return scaled(v, []string{"B", "KiB", "MiB", "GiB", "TiB"}, 1024)
	}
	if v = math.Round(v); v >= math.MaxInt64 { // as a float that is one more than an int64 holds
		return grouped(math.MaxInt64)
	}
	return grouped(int64(v))
}

// amount writes v; all says that it is everything, of which a person should know that it is more than the clock shows.
func (t *shown) amount(v float64, all bool) string {
	if all {
		return quantity(v, t.Unit) + t.whose()
	}
	return quantity(v, t.Unit)
}

// whose says that a sum is one over threads.
func (t *shown) whose() string {
	if t.Whole {
		return " of thread time"
	}
	return ""
}

func scaled(v float64, units []string, step float64) string {
	i := 0
	for ; i < len(units)-1 && math.Abs(v) >= step; i++ {
		v /= step
	}
	digits := 2
	if math.Abs(v) >= 100 || i == 0 {
		digits = 0
	} else if math.Abs(v) >= 10 {
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + " " + units[i]
}

// grouped writes v with a comma behind each third digit.
func grouped(v int64) string {
	s := strconv.FormatInt(v, 10)
	first := len(s)
	for s[0] == '-' && first > 4 || s[0] != '-' && first > 3 {
		first -= 3
		s = s[:first] + "," + s[first:]
	}
	return s
}

// share writes part of whole in per cent.
func share(part, whole float64) string {
	if whole == 0 {
		return "0.0 %"
	}
	return strconv.FormatFloat(100*part/whole, 'f', 2, 64) + " %"
}

// typeTitle names a value as the page's switch does.
func typeTitle(t profile.ValueType) string {
	if t.Unit == "count" || t.Unit == "" || t.Unit == "nanoseconds" {
		return clean(t.Type)
	}
	return clean(fmt.Sprintf("%s (%s)", t.Type, t.Unit))
}

// numbered names a process or thread: "redis-server 4121", as much of it as is known.
func numbered(name string, id int) string {
	switch {
	case id == 0:
		return name
	case name == "":
		return strconv.Itoa(id)
	}
	return name + " " + strconv.Itoa(id)
}
