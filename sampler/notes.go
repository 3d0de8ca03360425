package sampler

import (
	"fmt"
	"slices"
)

// maxNotes bounds what is reported of a recording.
const maxNotes = 64

// notes are what a person should know, each kind once. A kind is reported in its latest words.
type notes struct {
	kinds []string
	texts []string
	more  int
}

// add reports text under kind.
func (n *notes) add(kind, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if i := slices.Index(n.kinds, kind); i >= 0 {
		n.texts[i] = text
		return
	}
	if len(n.kinds) >= maxNotes {
		n.more++
		return
	}
	n.kinds, n.texts = append(n.kinds, kind), append(n.texts, text)
}

// all returns a copy of the notes.
func (n *notes) all() []string {
	out := slices.Clone(n.texts)
	if n.more > 0 {
		out = append(out, fmt.Sprintf("%d more notes were left out", n.more))
	}
	return out
}
