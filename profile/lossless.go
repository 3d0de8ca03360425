package profile

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Lossless returns s, a name from a target, as valid UTF-8 from which each byte can be had back:
// a backslash is doubled, a byte that is no UTF-8 is \xNN. The documents fpstack.dump/1 and fpstack.profile/1
// hold their strings so, since JSON can hold no other bytes.
func Lossless(s string) string {
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

// Original undoes [Lossless]. It is not ok if s holds a backslash that begins neither \\ nor \xNN;
// such a one stays as it is.
func Original(s string) (original string, ok bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, true
	}
	var b strings.Builder
	ok = true
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if strings.HasPrefix(s[i:], `\\`) {
			b.WriteByte('\\')
			i++
		} else if v, found := hexByte(s[i+1:]); found {
			b.WriteByte(v)
			i += 3
		} else {
			b.WriteByte('\\')
			ok = false
		}
	}
	return b.String(), ok
}

// hexByte reads the xNN at the begin of s.
func hexByte(s string) (byte, bool) {
	if len(s) < 3 || s[0] != 'x' {
		return 0, false
	}
	v, err := strconv.ParseUint(s[1:3], 16, 8)
	return byte(v), err == nil
}
