package jsondoc

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hex writes v as our documents hold numbers of 64 bits, since many readers keep only 53 bits
// of a JSON number.
func Hex(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }

// ParseHex reads what Hex wrote.
func ParseHex(s string) (uint64, error) {
	digits, ok := strings.CutPrefix(s, "0x")
	v, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil || len(digits) > 16 {
		return 0, fmt.Errorf("%.40q is no number of the form 0x1f of up to 64 bits", s)
	}
	return v, nil
}

// Printable returns JSON text in which characters that do not print are \uNNNN, as a pair of
// surrogates beyond U+FFFF: a terminal shows what is there. They can only be inside strings, save
// for the newlines between members, which stay. The result may be text itself.
func Printable(text []byte) []byte {
	plain := func(c byte) bool { return c >= ' ' && c < 0x7f || c == '\n' }
	at := 0
	for at < len(text) && plain(text[at]) {
		at++
	}
	if at == len(text) {
		return text
	}
	out := append(make([]byte, 0, len(text)+16), text[:at]...)
	for i := at; i < len(text); {
		if plain(text[i]) {
			out = append(out, text[i])
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case unicode.IsPrint(r):
			out = append(out, text[i:i+size]...)
		case r > 0xffff:
			v := r - 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+v>>10, 0xdc00+v&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += size
	}
	return out
}
