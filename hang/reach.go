package hang

import (
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// node is a thread, or a process where tid is 0, that a process of the case waits for, directly or through others.
type node struct {
	pid, tid int
	from     *node         // who waits for it, nil for a root
	by       *profile.Wait // the wait of from, nil for a root
	ends     bool          // it waits for nobody that is known
	piped    bool          // somebody on the way to it waits for data in a pipe
}

// mostNodes bounds the threads that are followed.
const mostNodes = 1 << 16

// reach follows the waits from the roots of the case, nearest first.
func (j *judging) reach() []*node {
	var all []*node
	seen := map[profile.Waker]bool{}
	add := func(to profile.Waker, from *node, by *profile.Wait) bool {
		if seen[to] || len(all) >= mostNodes {
			return false
		}
		seen[to] = true
		piped := from != nil && from.piped || by != nil && by.Sort == profile.SortPipeData
		all = append(all, &node{pid: to.PID, tid: to.TID, from: from, by: by, piped: piped})
		return true
	}
	entered := map[int]bool{}
	enter := func(pid int, from *node, by *profile.Wait) {
		if entered[pid] { // all that there is to add was added
			return
		}
		entered[pid] = true
		some := false
		for _, tid := range j.members[pid] {
			j.steps++
			if j.matters(tid) {
				add(profile.Waker{PID: pid, TID: tid}, from, by)
				some = true
			}
		}
		if !some && len(j.members[pid]) > 0 { // all are kept for work: the first stands for them
			add(profile.Waker{PID: pid, TID: j.members[pid][0]}, from, by)
		} else if !some {
			add(profile.Waker{PID: pid}, from, by)
		}
	}
	for _, pid := range j.c.Roots {
		enter(pid, nil, nil)
	}
	for i := 0; i < len(all); i++ {
		n := all[i]
		targets := j.targets(n)
		n.ends = len(targets) == 0
		for _, to := range targets {
			if to.TID != 0 {
				add(profile.Waker{PID: j.owner[to.TID], TID: to.TID}, n, j.waiting[n.tid])
			} else {
				enter(to.PID, n, j.waiting[n.tid])
			}
		}
	}
	return all
}

// targets is whom n waits for: other threads, and other processes.
func (j *judging) targets(n *node) []profile.Waker {
	w := j.waiting[n.tid]
	if n.tid == 0 || w == nil || j.isToken(w) || !j.tree[n.pid] {
		return nil
	}
	if class := j.classOf(n.tid); class == Still || class == Spinning || class == Going {
		return nil
	}
	t := j.sampled[n.tid]
	ends := t != nil && t.Loop != nil || isInput(w, t) // what these wait for outside the tree they say themselves
	var out []profile.Waker
	for _, to := range w.Wakers {
		if ends && to.TID == 0 && !j.tree[to.PID] {
			continue
		}
		switch {
		case to.TID != 0 && to.TID != n.tid && j.owner[to.TID] != 0:
			out = append(out, to)
		case to.TID == 0 && to.PID != n.pid:
			out = append(out, to)
		}
	}
	return out
}

// isToken reports whether w is a wait for a token of make's jobserver.
func (j *judging) isToken(w *profile.Wait) bool {
	for name := range j.tokens {
		if w.Name == name || strings.Contains(w.Name, "<"+name+">") {
			return true
		}
	}
	return false
}

// housekeepers are how names of threads begin by which runtimes do their own work.
var housekeepers = []string{"GC Thread", "G1 ", "VM Thread", "VM Periodic", "C1 Compiler", "C2 Compiler", "Signal Disp",
	"Finalizer", "Reference Hand", "Common-Cleaner", "Notification T", "Service Thread", "Monitor Deflat", "Sweeper",
	"ZDriver", "ZWorker", "ZStat", "ZDirector", "XDriver", ".NET Sy", ".NET Ev", ".NET Si", ".NET Ti", ".NET Fi",
	".NET BGC", ".NET Se", "libuv-worker", "DelayedTaskSche", "SignalInspector", "V8Worker"}

// matters reports whether a thread may tell what its process waits for: runtimes keep others for work, and for their
// own.
func (j *judging) matters(tid int) bool {
	if t := j.sampled[tid]; t != nil && tid != j.owner[tid] {
		if slices.ContainsFunc(housekeepers, func(s string) bool { return strings.HasPrefix(t.Name, s) }) {
			return false
		}
	}
	return !j.keeps(tid)
}

// keeps reports whether a runtime keeps a thread for work, and nobody that is known brings it some.
func (j *judging) keeps(tid int) bool {
	w := j.waiting[tid]
	return w != nil && w.Mode == profile.WaitIdle && len(w.Wakers) == 0
}
