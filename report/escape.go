package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is how many bytes of one name are shown; C++ names of a few kilobytes are real.
const maxName = 4096

// escape returns s so that it stands on one line of a terminal and can be told apart from
// any other: a backslash is doubled, a byte that is no UTF-8 is \xNN, a character that does
// not print (controls, marks that turn the direction of text, line separators) is \n, \t, \r,
// \xNN, \uNNNN or \UNNNNNNNN. What is beyond maxName bytes is left out, and "…" says so.
func escape(s string) string {
	if len(s) <= maxName && plain(s) {
		return s
	}
	s, more := cut(s)
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		writeRune(&b, r, s[i:i+size])
		i += size
	}
	return b.String() + more
}

// quoted returns s escaped and in double quotes; a double quote in it is \".
func quoted(s string) string {
	return `"` + strings.ReplaceAll(escape(s), `"`, `\"`) + `"`
}

// plain says that every byte of s prints as itself.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' || s[i] == '\\' {
			return false
		}
	}
	return true
}

// cut returns at most maxName bytes of s, never half a character, and the mark of what is
// missing.
func cut(s string) (kept, mark string) {
	if len(s) <= maxName {
		return s, ""
	}
	end := maxName
	for i := 0; i < utf8.UTFMax-1 && !utf8.RuneStart(s[end]); i++ {
		end--
	}
	return s[:end], "…"
}

// writeRune writes r, which stands in the source as bytes, as escape says.
func writeRune(b *strings.Builder, r rune, bytes string) {
	switch {
	case r == utf8.RuneError && len(bytes) == 1:
		fmt.Fprintf(b, `\x%02x`, bytes[0])
	case r == '\\':
		b.WriteString(`\\`)
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\t':
		b.WriteString(`\t`)
	case r == '\r':
		b.WriteString(`\r`)
	case unicode.IsPrint(r):
		b.WriteRune(r)
	case r < 0x80:
		fmt.Fprintf(b, `\x%02x`, r)
	case r <= 0xffff:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}
