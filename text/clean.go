package text

import (
	"strings"
	"unicode"
)

// Clean returns name as valid UTF-8 on one line, fit for XML: a control character, a line
// separator, a mark that turns the direction of text or a character that XML 1.0 does not
// allow becomes instead, a byte that is no UTF-8 becomes U+FFFD.
// Source: XML 1.0 section 2.2 (Char); Unicode Standard Annex #9 section 2.
func Clean(name string, instead rune) string {
	if isPlain(name) {
		return name
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == 0xfffe, r == 0xffff,
			r == 0x2028, r == 0x2029, unicode.Is(unicode.Bidi_Control, r):
			return instead
		}
		return r
	}, name)
}

// Cleaner is Clean for many names: what it changes is kept once, however many frames or
// threads have that name.
type Cleaner struct {
	instead rune
	changed map[string]string
}

// NewCleaner returns a Cleaner that knows no name yet.
func NewCleaner(instead rune) *Cleaner { return &Cleaner{instead, map[string]string{}} }

// Clean returns name as the function Clean does.
func (c *Cleaner) Clean(name string) string {
	if isPlain(name) {
		return name
	}
	out, ok := c.changed[name]
	if !ok {
		if out = Clean(name, c.instead); out == name {
			return name
		}
		c.changed[name] = out
	}
	return out
}

// FileName keeps of a name what needs no care in any shell or file system.
func FileName(name string) string {
	const most = 64
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-', r == '+':
			return r
		}
		return '_'
	}, name)
	return plain[:min(len(plain), most)]
}
