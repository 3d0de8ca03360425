package flame

import (
	"fmt"
	"io"

	"github.com/fpstack/fpstack/profile"
)

// FoldedOptions say how folded text is written.
type FoldedOptions struct {
	Type    int  // index of the value type; -1 is the profile's default
	Threads bool // the process's and the thread's name are in front of each stack

	Warn func(string) // called with what was joined to keep the text small; may be nil
}

// maxFoldedText bounds the text that is written: each line repeats the names of all its frames, and 60,000 calls below
// each other that a file of 10 MB holds would be gigabytes.
const maxFoldedText = 1 << 30

// WriteFolded writes one value of p as folded stacks: outermost frame first, ';' between frames,
// a space, an integer above 0, LF; valid UTF-8, no heading, sorted by bytes. Stacks whose
// names are the same are one line. What it changes in a name is written in docs/dev/formats.md.
// Of what would be longer than 1 GiB the smallest stacks are joined as "(smaller)" behind what they have in common
// with larger ones, which opt.Warn says.
//
// Precondition: p passes [profile.Profile.CheckValid]. It fails if w does, or if a value is
// below 0.
func WriteFolded(w io.Writer, p *profile.Profile, opt FoldedOptions) error {
	return writeFolded(w, p, opt, maxFoldedText)
}

func writeFolded(w io.Writer, p *profile.Profile, opt FoldedOptions, limit int64) error {
	typ := typeOf(p, opt.Type)
	t := newFoldTree(p, opt)
	for i := range p.Samples {
		v := p.Value(i)[typ]
		if v < 0 {
			return fmt.Errorf("write folded: value %d of sample %d: folded text has no negative numbers", v, i)
		}
		t.values[t.place[i]] += v
	}
	t.shorten(limit, opt.Warn)
	return t.write(w)
}
