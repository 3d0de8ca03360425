package flame

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// lossless returns s as valid UTF-8 from which each byte can be had back: a backslash is doubled,
// a byte that is no UTF-8 is \xNN.
func lossless(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\\':
			b.WriteString(`\\`)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// original undoes [lossless]. A backslash that stands for nothing stays.
func original(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if s[i+1] == '\\' {
				i++
			} else if v, ok := hexByte(s[i+1:]); ok {
				b.WriteByte(v)
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// hexByte reads the xNN at the begin of s.
func hexByte(s string) (byte, bool) {
	if len(s) < 3 || s[0] != 'x' {
		return 0, false
	}
	v, err := strconv.ParseUint(s[1:3], 16, 8)
	return byte(v), err == nil
}
