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
	hops     int           // from one process to another outside the tree
}

// root is the one that n is reached from.
func (n *node) root() *node {
	for n.from != nil {
		n = n.from
	}
	return n
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
		n := &node{pid: to.PID, tid: to.TID, from: from, by: by}
		if from != nil {
			n.hops = from.hops
			if from.pid != to.PID && !j.tree[to.PID] {
				n.hops++
			}
		}
		all = append(all, n)
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
		ended := slices.ContainsFunc(j.c.Activity.Ended, func(e Ended) bool { return e.PID == pid })
		if !ended || len(j.members[pid]) > 0 {
			enter(pid, nil, nil)
		}
	}
	for i := 0; i < len(all); i++ {
		n := all[i]
		targets := j.targets(n)
		n.ends = len(targets) == 0 || !j.tree[n.pid] && n.isAwaitedByAll(targets)
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

// isAwaitedByAll reports whether all of those wait for n, directly or through others: a server that waits for what its
// client, which waits for it, asks next.
func (n *node) isAwaitedByAll(targets []profile.Waker) bool {
	return !slices.ContainsFunc(targets, func(to profile.Waker) bool {
		for at := n.from; at != nil; at = at.from {
			if at.pid == to.PID && (to.TID == 0 || at.tid == to.TID) {
				return false
			}
		}
		return true
	})
}

// mostHops bounds the steps that are followed from one process outside the tree to the next.
const mostHops = 4

// targets is whom n waits for: other threads, and other processes.
func (j *judging) targets(n *node) []profile.Waker {
	w := j.waiting[n.tid]
	if n.tid == 0 || w == nil || n.hops > mostHops {
		return nil
	}
	switch j.classOf(n.tid) {
	case Still, Spinning:
		return nil
	case Going: // what wakes now and then, if in another place each time, waits all the same
		if !j.tree[n.pid] || j.isBusy(j.class[n.tid]) {
			return nil
		}
	}
	if holders := j.backendWakers(n.pid); holders != nil {
		return holders
	}
	wakers := j.sought(n, w)
	asked := isInput(w, j.sampled[n.tid]) // who else has that is said
	var out []profile.Waker
	for _, to := range wakers {
		switch {
		case asked && to.TID == 0 && !j.tree[to.PID]:
		case to.TID != 0 && to.TID != n.tid && j.owner[to.TID] != 0:
			out = append(out, to)
		case to.TID == 0 && to.PID != n.pid:
			out = append(out, to)
		}
	}
	if len(out) == 0 && !w.Listens { // whatever else: the end of a child would tell by its signal
		for _, pid := range w.Children {
			out = append(out, profile.Waker{PID: pid})
		}
	}
	return out
}

// sought are those who can end the wait of n as far as it waits for them: of several descriptors those at which it
// asked somebody for something. Who connected to it, or shares its jobs, is not waited for by right.
func (j *judging) sought(n *node, w *profile.Wait) (out []profile.Waker) {
	switch {
	case j.isToken(n.pid, w):
		return nil
	case len(w.Set) == 0 && (w.Sort == profile.SortSet || w.Mode == profile.WaitIdle): // which ones is not known
		if t := j.sampled[n.tid]; t != nil && t.Loop != nil {
			return nil
		}
		return w.Wakers
	case len(w.Set) == 0:
		return w.Wakers
	}
	for i := range w.Set {
		if p := &w.Set[i]; isSought(p) && !j.isOfDeath(n.pid, p) && !isAside(j.sampled[n.tid], p.FD) {
			out = append(out, p.Wakers...)
		}
	}
	return out
}

// isAside reports whether a descriptor is one at which an event loop listens, and for which it would not go on: nothing
// of the program is to come from there.
func isAside(t *profile.Thread, fd int) bool {
	aside := false
	if t == nil || t.Loop == nil {
		return false
	}
	for i := range t.Loop.Handles {
		if h := &t.Loop.Handles[i]; h.FD == fd {
			if h.Keeps {
				return false
			}
			aside = true
		}
	}
	return aside
}

// isOfDeath reports whether a descriptor is the pipe by whose end a child learns that its parent is gone: nothing is
// ever written to it.
func (j *judging) isOfDeath(pid int, p *profile.WaitPart) bool {
	of := j.processes[pid]
	return of != nil && p.Sort == profile.SortPipeData && !slices.ContainsFunc(p.Wakers, func(to profile.Waker) bool {
		return to.PID != of.Parent && to.PID != pid
	})
}

// isSought reports whether a descriptor of a set is one at which its process waits for an answer, or for an end.
func isSought(p *profile.WaitPart) bool {
	switch p.Sort {
	case profile.SortSocketData, profile.SortSocketRoom, profile.SortAcceptance:
		return p.Made
	case profile.SortPipeData, profile.SortPipeRoom, profile.SortProcess, profile.SortChild:
		return !p.Own
	}
	return false
}

// isToken reports whether w is a wait for a token of make's jobserver.
//
// make reads one pipe of which it has both ends: that of its tokens.
func (j *judging) isToken(pid int, w *profile.Wait) bool {
	of := func(sort profile.WaitSort, name string, wakers []profile.Waker) bool {
		return sort == profile.SortPipeData && (j.tokens[name] || isMake(j.names[pid]) &&
			slices.ContainsFunc(wakers, func(to profile.Waker) bool { return to.PID == pid }))
	}
	return of(w.Sort, w.Name, w.Wakers) || slices.ContainsFunc(w.Set, func(p profile.WaitPart) bool {
		return of(p.Sort, p.Name, p.Wakers)
	})
}

func isMake(name string) bool { return name == "make" || name == "gmake" }

// housekeepers are how names of threads begin by which runtimes do their own work.
var housekeepers = []string{"GC Thread", "G1 ", "VM Thread", "VM Periodic", "C1 Compiler", "C2 Compiler", "Signal Disp",
	"Finalizer", "Reference Hand", "Common-Cleaner", "Notification T", "Service Thread", "Monitor Deflat", "Sweeper",
	"ZDriver", "ZWorker", "ZStat", "ZDirector", "XDriver", ".NET Sy", ".NET Ev", ".NET Si", ".NET Ti", ".NET Fi",
	".NET BGC", ".NET Se", ".NET De", ".NET Tiered",
	".NET TP Gate", "libuv-worker", "DelayedTaskSche", "SignalInspector", "V8Worker"}

// matters reports whether a thread may tell what its process waits for: runtimes keep others for work, and for their
// own.
func (j *judging) matters(tid int) bool {
	if t := j.sampled[tid]; t != nil && tid != j.owner[tid] && t.Loop != nil && !isKept(t.Loop) {
		return false
	}
	return !j.isHousekeeper(tid) && !j.keeps(tid)
}

// isHousekeeper reports whether a runtime has a thread for its own work.
func (j *judging) isHousekeeper(tid int) bool {
	t := j.sampled[tid]
	return t != nil && tid != j.owner[tid] &&
		slices.ContainsFunc(housekeepers, func(s string) bool { return strings.HasPrefix(t.Name, s) })
}

// keeps reports whether a runtime keeps a thread for work, and nobody that is known brings it some.
func (j *judging) keeps(tid int) bool {
	w := j.waiting[tid]
	return w != nil && w.Mode == profile.WaitIdle && len(w.Wakers) == 0
}

// Beside lists the processes outside the tree of c, at most most, that something of it waits for in the end.
func Beside(c *Case, most int) (pids []int) {
	j := newJudging(c)
	for _, n := range j.reach() {
		if !j.tree[n.pid] && !slices.Contains(pids, n.pid) && len(pids) < most {
			pids = append(pids, n.pid)
		}
	}
	return pids
}
