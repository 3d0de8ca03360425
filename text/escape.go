// Package text is for text that people read: names from a target made harmless and short
// enough for a line, and numbers, times and shares in one form.
//
// Names may hold any bytes. Escape, Quote, Message and Clean make them harmless; the other
// functions take text that is harmless already. Widths are cells of a terminal, where East
// Asian characters take two and combining ones none.
//
// It is not for formats that programs read: those have rules of their own.
package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is how many bytes of one name are shown; C++ names of a few kilobytes are real.
const MaxName = 4096

// Escape returns name on one line, such that no two names look alike: a backslash is
// doubled, a byte that is no UTF-8 is \xNN, a character that does not print (controls, marks
// that turn the direction of text, line separators) is \n, \t, \r, \xNN, \uNNNN or
// \UNNNNNNNN. What is beyond MaxName bytes is left out, and "…" says so.
func Escape(name string) string {
	if len(name) <= MaxName && isPlain(name) && strings.IndexByte(name, '\\') < 0 {
		return name
	}
	name, more := cutBytes(name)
	return escape(name, `\\`) + more
}

// Quote returns name escaped and in double quotes; a double quote in it is \".
func Quote(name string) string {
	return `"` + strings.ReplaceAll(Escape(name), `"`, `\"`) + `"`
}

// Message returns a sentence, in which names may be quoted already, on one line: as Escape, but
// a backslash stays single and nothing is left out.
func Message(s string) string {
	if isPlain(s) {
		return s
	}
	return escape(s, `\`)
}

// isPlain says that s is printable ASCII alone: one cell a byte.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// cutBytes returns at most MaxName bytes of s, never half a character, and the mark of what is missing.
func cutBytes(s string) (kept, mark string) {
	if len(s) <= MaxName {
		return s, ""
	}
	end := MaxName
	for i := 0; i < utf8.UTFMax-1 && !utf8.RuneStart(s[end]); i++ {
		end--
	}
	return s[:end], "…"
}

// escape writes what does not print as Go does, and a backslash as given.
func escape(s, backslash string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\\':
			b.WriteString(backslash)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += size
	}
	return b.String()
}

// Lines is Message for text of several lines, in which tabs stay.
func Lines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(Message(l), `\t`, "\t")
	}
	return strings.Join(lines, "\n")
}
