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
	thread *Judged        // nil for what no thread shows
	in     *profile.Frame // the function of the user's own that shows most often, nil for none
}

// movements are what went on between the moments: threads, those of the program that took most CPU first, and what no
// thread shows; nil if nothing did.
func (j *judging) movements(sinks []sink) []movement {
	all := j.runners()
	for i := range sinks {
		if s := &sinks[i]; s.kind == Moving && !j.tree[s.pid] {
			all = append(all, movement{words: j.sentence(s.node, s.does)})
		}
	}
	if words := j.ended(); words != "" {
		all = slices.Insert(all, 0, movement{words: words})
	}
	for i := range j.c.Activity.Executed {
		e := &j.c.Activity.Executed[i]
		all = append(all, movement{words: fmt.Sprintf("%s (%d) executed %s while it was looked at", text.Escape(e.Name),
			e.PID, text.Escape(e.Now))})
	}
	for _, words := range j.activity() {
		all = append(all, movement{words: words})
	}
	return all
}

// runners are the movements of threads: those of the program that took most CPU first, and then what its runtime did for
// itself.
func (j *judging) runners() (all []movement) {
	together := map[int][]*Judged{} // of processes whose fibers change threads
	for i := range j.threads {
		switch t := &j.threads[i]; {
		case !j.isBusy(t):
		case j.of(t.PID).changes:
			together[t.PID] = nil
		default:
			all = append(all, j.moves(t))
		}
	}
	for i := range j.threads {
		if threads, busy := together[j.threads[i].PID]; busy {
			together[j.threads[i].PID] = append(threads, &j.threads[i])
		}
	}
	for _, threads := range together {
		all = append(all, j.movesTogether(threads))
	}
	slices.SortStableFunc(all, func(a, b movement) int {
		if own := j.isHousekeeper(a.thread.TID); own != j.isHousekeeper(b.thread.TID) {
			if own {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(b.thread.CPU, a.thread.CPU), cmp.Compare(a.thread.TID, b.thread.TID))
	})
	return all
}

// isBusy reports whether a thread ran enough to call that a movement.
func (j *judging) isBusy(t *Judged) bool {
	did := j.c.did(t.TID)
	switch t.Class {
	case Going:
		return did.share(did.cpu) >= wakes || did.share(did.cpu) >= smallCPU && !j.samples.alike(threadID{t.PID, t.TID})
	case Spinning:
		_, kind, _ := j.busy(&node{pid: t.PID, tid: t.TID})
		return kind == Moving
	}
	return false
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
		v.Culprit = &Culprit{PID: t.PID, TID: t.TID, Process: j.names[t.PID], Frame: moves[0].in}
	}
	return v
}

// hottest is the function of the user's own that is innermost in most of those stacks; nil if there is none.
func hottest(d *profile.Dump, stacks []*profile.Stack) *profile.Frame {
	count := map[string]int{}
	var best *profile.Frame
	for _, s := range stacks {
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

// movesTogether is what the threads of a process did among which its fibers change: which of them a fiber ran on when it
// was met says nothing of where that thread spent its time. Fibers that are ready to run count as well.
func (j *judging) movesTogether(threads []*Judged) movement {
	most, share := threads[0], 0.0
	for _, t := range threads {
		if did := j.c.did(t.TID); did.wall > 0 {
			share += did.share(did.cpu)
		}
		if t.CPU > most.CPU {
			most = t
		}
	}
	return j.uses(j.process(most.PID), share, most, j.stacksTogether(threads))
}

// stacksTogether are the stacks of threads of a process, and of its fibers that are ready to run.
func (j *judging) stacksTogether(threads []*Judged) (stacks []*profile.Stack) {
	for _, t := range threads {
		stacks = append(stacks, j.stacks(t.PID, t.TID)...)
	}
	for i := range j.c.Moments {
		for _, d := range j.c.Moments[i].Dumps {
			if d.Process.PID == threads[0].PID {
				stacks = append(stacks, readyStacks(d)...)
			}
		}
	}
	return stacks
}

// uses is the movement that who took that share of a CPU, and where: t is the thread that took most, stacks are where it
// was met.
func (j *judging) uses(who string, share float64, t *Judged, stacks []*profile.Stack) movement {
	m := movement{words: who + " uses " + percent(share), thread: t, in: hottest(j.of(t.PID).dump, stacks)}
	if m.in != nil {
		m.words += " in " + place(m.in)
	}
	return m
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

// moves is what a thread did that moves.
func (j *judging) moves(t *Judged) movement {
	did := j.c.did(t.TID)
	who := j.process(t.PID)
	if len(j.members[t.PID]) > 1 && t.TID != t.PID {
		who += " " + j.thread(t.TID, t.PID)
	}
	return j.uses(who, did.share(did.cpu), t, j.stacks(t.PID, t.TID))
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
