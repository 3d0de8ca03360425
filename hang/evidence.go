package hang

import (
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// Bounds of the evidence.
const (
	mostEvidence = 5   // lines below the sentence
	mostRequests = 3   // of these, for what requests of one process wait for
	manyThreads  = 8   // from so many on, threads with the same stack are worth a line
	manyShare    = 0.3 // if they are this share of all
)

// evidence adds to v what else is to be known: what other threads do, and where most are.
func (j *judging) evidence(v *Verdict, sinks []sink) *Verdict {
	if c := v.Culprit; c != nil {
		if c.Frame != nil {
			who := j.whole(c.TID, c.PID)
			if c.waitsApart() {
				who = fiberName(c.Fiber) + " of " + j.process(c.PID)
			}
			v.Because = append(v.Because, fmt.Sprintf("look first at %s: %s", who, place(c.Frame)))
		}
		if t := j.class[c.TID]; !c.waitsApart() && t != nil && t.Why != "" && t.Class != Unseen {
			v.Because = append(v.Because, fmt.Sprintf("%s: %s, %s", j.whole(c.TID, c.PID), t.Class, t.Why))
		}
	}
	j.lockedFibers(v)
	j.lostCalls(v)
	v.Because = v.Because[:min(len(v.Because), mostEvidence)]
	shown := map[string]bool{}
	for i := range sinks {
		s := &sinks[i]
		if s.does == "" || s.kind != Waiting || s.rank > rankTime || len(v.Because) >= mostEvidence ||
			v.Culprit != nil && s.tid == v.Culprit.TID {
			continue
		}
		if line := "also: " + j.root(s.node) + " " + s.does; !shown[line] {
			shown[line] = true
			v.Because = append(v.Because, line)
		}
	}
	if line := j.largestGroup(); line != "" && len(v.Because) < mostEvidence {
		v.Because = append(v.Because, line)
	}
	return v
}

// whole names a thread with its process: by that alone where it is all of it.
func (j *judging) whole(tid, pid int) string {
	if len(j.members[pid]) <= 1 {
		return j.process(pid)
	}
	return j.thread(tid, pid) + " of " + j.process(pid)
}

// lockedFibers adds to v which locks the fibers of the culprit's process wait for, where they are known: of two that
// wait for two locks each has the other's, as nobody else could.
func (j *judging) lockedFibers(v *Verdict) {
	if v.Culprit == nil {
		return
	}
	of := j.of(v.Culprit.PID)
	for _, f := range of.fibers[:min(mostLines, len(of.fibers))] {
		if f.Wait != profile.FiberLock || f.Object == 0 {
			continue
		}
		line := fmt.Sprintf("%s %d waits for the lock %#x", f.Kind, f.ID, f.Object)
		if _, frame := culpritFiber(of.dump, []*profile.Fiber{f}); frame != nil {
			line += " in " + place(frame)
		}
		v.Because = append(v.Because, line)
	}
}

// lostCalls adds to v the async functions that nobody lets go on, or that have what others wait for, or those that a
// server waits for, of processes for which it does not blame one.
func (j *judging) lostCalls(v *Verdict) {
	for _, d := range j.dumps {
		of := j.of(d.Process.PID)
		calls, most := of.requests, mostRequests
		if len(of.leaves) > 0 && (lost(of.leaves[0]) == 0 || awaitingHeld(d, of.leaves[0]) != nil) {
			calls, most = of.leaves, 1
		}
		for range most {
			words, frame, others := j.awaiting(d, calls)
			if calls = others; frame != nil && (v.Culprit == nil || v.Culprit.Frame != frame) {
				v.Because = append(v.Because, "also: "+j.process(d.Process.PID)+" has "+words)
			}
		}
	}
}

// largestGroup says how many threads have the same stack, where they are many. "" where not.
func (j *judging) largestGroup() string {
	count, example := map[string]int{}, map[string]string{}
	all, best := 0, ""
	for _, d := range j.dumps {
		for i := range d.Threads {
			f := functions(&d.Threads[i].Stack)
			all++
			if len(f) == 0 {
				continue
			}
			var key, shown []string
			for k := len(f) - 1; k >= 0; k-- {
				key = append(key, fmt.Sprintf("%q %x", f[k].Func, f[k].ModuleAddr))
				if len(shown) < 3 && f[k].Func != "" {
					shown = append(shown, text.Escape(f[k].Func))
				}
			}
			id := strings.Join(key, " ")
			count[id]++
			example[id] = strings.Join(shown, " < ")
			if count[id] > count[best] {
				best = id
			}
		}
	}
	if n := count[best]; n >= manyThreads && float64(n) >= manyShare*float64(all) {
		return fmt.Sprintf("%d of %d threads have the same stack: %s", n, all, example[best])
	}
	return ""
}
