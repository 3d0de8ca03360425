package hang

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// Bounds of what is called moving, between the first moment and the last.
const (
	muchNetwork = 64 << 10
	muchIO      = 1 << 20
	smallCPU    = 0.002 // of a CPU: a thread that wakes now and then may be met in another place
)

// movement is one thing that went on between the moments.
type movement struct {
	words  string
	thread *Judged // nil for what no thread shows
}

// movements are what went on between the moments, what took most CPU first; nil if nothing did.
func (j *judging) movements(sinks []sink) (all []movement) {
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
		all = append(all, movement{j.moves(t), t})
	}
	for i := range sinks {
		if s := &sinks[i]; s.kind == Moving && !j.tree[s.pid] {
			all = append(all, movement{j.sentence(s.node, s.does), nil})
		}
	}
	if words := j.ended(); words != "" {
		all = slices.Insert(all, 0, movement{words, nil})
	}
	for i := range j.c.Activity.Executed {
		e := &j.c.Activity.Executed[i]
		all = append(all, movement{fmt.Sprintf("%s (%d) executed %s while it was looked at", text.Escape(e.Name), e.PID,
			text.Escape(e.Now)), nil})
	}
	for _, words := range j.activity() {
		all = append(all, movement{words, nil})
	}
	return all
}

// ended says that all of the roots ended while they were looked at: "sh (7) ended while it was looked at". "" if not
// all did, or if somebody may have ended them, as who wants us to end does.
func (j *judging) ended() string {
	all := j.c.Activity.Ended
	kind := j.c.Trigger.Kind
	if len(all) == 0 || len(all) < len(j.c.Roots) || len(j.dumps) > 0 && (kind == Signalled || kind == ParentEnded) {
		return ""
	}
	if len(all) > 1 {
		return text.Count(len(all), "process") + " ended while they were looked at"
	}
	name := text.Escape(cmp.Or(all[0].Name, "process"))
	return fmt.Sprintf("%s (%d) ended while it was looked at", name, all[0].PID)
}

// moving is the verdict that something goes on.
func (j *judging) moving(moves []movement) *Verdict {
	v := &Verdict{Kind: Moving, Sentence: fit("not hung: "+moves[0].words, "")}
	for _, m := range moves[1:min(4, len(moves))] {
		v.Because = append(v.Because, "also: "+m.words)
	}
	if t := moves[0].thread; t != nil {
		v.Culprit = &Culprit{PID: t.PID, TID: t.TID, Process: j.names[t.PID], Frame: j.hottest(t)}
	}
	return v
}

// hottest is the function of the user's own that a thread was met in most often; nil if there is none.
func (j *judging) hottest(t *Judged) *profile.Frame {
	d := j.of(t.PID).dump
	count := map[string]int{}
	var best *profile.Frame
	for _, s := range j.stacks(t.PID, t.TID) {
		f := ownFrame(d, s)
		if f == nil {
			continue
		}
		if count[f.Func]++; best == nil || count[f.Func] > count[best.Func] {
			best = f
		}
	}
	return best
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
	case a.Began > 0 && len(a.Repeats) > 0:
		all = append(all, "it restarts the same command: "+text.Escape(a.Repeats[0]))
	case a.Began > 0:
		all = append(all, began+", of commands that ran before")
	}
	return all
}

// moves says what a thread did that moves.
func (j *judging) moves(t *Judged) string {
	did := j.c.did(t.TID)
	who := j.process(t.PID)
	if len(j.members[t.PID]) > 1 && t.TID != t.PID {
		who += " " + j.thread(t.TID, t.PID)
	}
	words := who + " uses " + percent(did.share(did.cpu))
	if f := j.hottest(t); f != nil {
		words += " in " + place(f)
	}
	return words
}

func percent(share float64) string {
	if share < 0.005 {
		return "less than 1 % of a CPU"
	}
	return fmt.Sprintf("%.0f %% of a CPU", 100*share)
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
