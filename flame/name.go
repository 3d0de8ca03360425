package flame

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// clean returns name as valid UTF-8 on one line.
func clean(name string) string { return text.Clean(name, '?') }

// foldedName returns name so that every reader of folded text sees one frame in it: no ';', no
// white space around it, not empty, and no number behind white space at its end, which would be
// a column of its own.
func foldedName(name string) string {
	name = strings.TrimFunc(strings.ReplaceAll(clean(name), ";", ":"), unicode.IsSpace)
	if name == "" {
		return "?"
	}
	at := len(name)
	for at > 0 && isDigit(name[at-1]) {
		at--
	}
	if at > 0 && name[at-1] == '.' {
		for at--; at > 0 && isDigit(name[at-1]); {
			at--
		}
	}
	// "b 3" and "b 3.5" become "b_3" and "b_3.5"; "b .5" is no number.
	if at > 0 && at < len(name) && isDigit(name[at]) {
		if r, size := utf8.DecodeLastRuneInString(name[:at]); unicode.IsSpace(r) {
			return name[:at-size] + "_" + name[at:]
		}
	}
	return name
}

// taskName returns a process's or thread's name as a frame, white space as '_' as
// stackcollapse-perf.pl has it. id is left out if it is 0.
func taskName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, foldedName(name))
}

// typeOf returns value type i of p, the default one if there is no such.
func typeOf(p *profile.Profile, i int) int {
	if i < 0 || i >= len(p.Types) {
		return p.Default
	}
	return i
}
