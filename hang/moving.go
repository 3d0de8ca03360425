package hang

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/text"
)

// Bounds of what is called moving, between the first moment and the last.
const (
	muchNetwork = 64 << 10
	muchIO      = 1 << 20
	smallCPU    = 0.002 // of a CPU: a thread that wakes now and then may be met in another place
)

// movements are what went on between the moments, each for a person; nil if nothing did.
func (j *judging) movements() (all []string) {
	all = j.activity()
	var busy []*Judged
	for i := range j.threads {
		t := &j.threads[i]
		did := j.c.did(t.TID)
		switch {
		case t.Class == Going && (did.share(did.cpu) >= wakes || did.share(did.cpu) >= smallCPU &&
			!j.samples.alike(threadID{t.PID, t.TID})):
			busy = append(busy, t)
		case t.Class == Spinning:
			if _, kind, _ := j.busy(&node{pid: t.PID, tid: t.TID}); kind == Moving {
				busy = append(busy, t)
			}
		}
	}
	slices.SortStableFunc(busy, func(a, b *Judged) int { return cmp.Compare(b.CPU, a.CPU) })
	for _, t := range busy {
		all = append(all, j.moves(t))
	}
	return all
}

// activity is what moved that no thread shows.
func (j *judging) activity() (all []string) {
	a := &j.c.Activity
	switch {
	case a.Network >= muchNetwork:
		all = append(all, bytes(a.Network)+" came and went by network")
	case a.IO >= muchIO:
		all = append(all, bytes(a.IO)+" were read and written")
	}
	if a.Output > 0 {
		all = append(all, bytes(a.Output)+" of output")
	}
	began := text.Count(a.Began, "process") + " began"
	switch {
	case len(a.Repeats) > 0 && len(a.Commands) <= 1: // a loop of commands, one of which was not met before
	case len(a.Commands) > 0:
		all = append(all, began+", as "+text.Escape(a.Commands[0]))
	case a.Began > 0:
		all = append(all, began+", by commands that were there before")
	}
	return all
}

// moves says what a thread did that moves.
func (j *judging) moves(t *Judged) string {
	did := j.c.did(t.TID)
	who := j.process(t.PID)
	if len(j.members[t.PID]) > 1 {
		who += " " + j.thread(t.TID, t.PID)
	}
	stacks := j.stacks(t.PID, t.TID)
	words := fmt.Sprintf("%s took %.0f %% of a CPU", who, 100*did.share(did.cpu))
	if n := len(paths(stacks, 0)); n > 1 {
		words += fmt.Sprintf(", %d of %d stacks differ", n, len(stacks))
	}
	return words
}

func bytes(n uint64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d kB", n>>10)
	}
	return text.Count(int(n), "byte")
}
