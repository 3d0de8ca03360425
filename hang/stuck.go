package hang

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// isAtRest reports whether no thread of a cycle ran, as far as that is known: at least since the moment before the
// last, as what waits now may have worked before. One that a signal ends by right is no cycle that lasts.
func (j *judging) isAtRest(c *profile.WaitCycle) bool {
	return !slices.ContainsFunc(c.Threads, func(tid int) bool {
		if w := j.waiting[tid]; w != nil && j.waitsForSignals(&node{pid: j.owner[tid], tid: tid}, w) {
			return true
		}
		if last := j.c.since(len(j.c.Moments)-1, tid); last.wall > 0 {
			return last.switches() > 0 || last.cpu > 0
		}
		class := j.classOf(tid)
		return class != Unseen && class != Still && class != ""
	})
}

// stuck is the verdict on threads that only wait for each other, by descriptors and children.
func (j *judging) stuck(c *profile.WaitCycle, sinks []sink) *Verdict {
	v := &Verdict{Kind: Waiting}
	in := map[int]bool{}
	for _, tid := range c.Threads {
		in[tid] = true
	}
	leaf := j.leaf(c.Threads, in)
	if i := slices.IndexFunc(sinks, func(s sink) bool { return in[s.tid] }); i >= 0 {
		leaf = sinks[i].tid
	}
	w := j.waiting[leaf]
	ring := j.ring(c.Threads[0], in)
	switch {
	case len(ring) == len(c.Threads) && len(ring) > 1:
		v.Sentence = j.ringWords(ring)
	case j.waitForTheSame(c.Threads) && w.Sort == profile.SortPipeRoom && len(c.Threads) > 1:
		v.Sentence = fmt.Sprintf("%s write to the full %s; its readers are the writers themselves",
			text.Count(j.processesOf(c.Threads), "process"), text.Escape(w.Name))
	default:
		n := j.nodeOf(leaf)
		s := j.sink(n)
		v.Sentence = j.sentence(n, s.does)
		if len(c.Threads) > 1 {
			v.Because = append(v.Because, fmt.Sprintf("nobody but %s could end that: each of them waits for another",
				text.Count(len(c.Threads), "thread")))
		}
	}
	v.Sentence = fit(v.Sentence, j.since(leaf))
	j.addCycle(v, c)
	v.Culprit = j.culprit(j.owner[leaf], leaf)
	return v
}

// leaf is the thread of a set that most of the others wait for in the end, where the waits for one thread or process
// are followed and none of them ends: of several that which the first waits for.
func (j *judging) leaf(set []int, in map[int]bool) int {
	ends := map[int]int{} // by thread, where it leads
	var path []int
	follow := func(tid int) int {
		path = path[:0]
		on := map[int]bool{}
		for end, known := ends[tid]; ; end, known = ends[tid] {
			if known {
				tid = end
				break
			}
			on[tid] = true
			path = append(path, tid)
			next := j.onlyNext(tid, in)
			if next == 0 || on[next] {
				break
			}
			tid = next
		}
		for _, p := range path {
			ends[p] = tid
		}
		return tid
	}
	first := follow(set[0])
	for _, pid := range j.c.Roots {
		if in[pid] {
			first = follow(pid)
		}
	}
	count, best := map[int]int{}, first
	for _, tid := range set {
		count[follow(tid)]++
	}
	for _, tid := range set {
		if count[tid] > count[best] {
			best = tid
		}
	}
	return best
}

// onlyNext is the thread of the set that tid waits for by name: an owner, or a child's first thread; 0 for none.
func (j *judging) onlyNext(tid int, in map[int]bool) int {
	w := j.waiting[tid]
	if w == nil || len(w.Wakers) != 1 || w.Mode != profile.WaitOne && w.Wakers[0].PID == j.owner[tid] {
		return 0
	}
	next := w.Wakers[0].TID
	if next == 0 && len(j.members[w.Wakers[0].PID]) > 0 && w.Wakers[0].PID != j.owner[tid] {
		next = j.members[w.Wakers[0].PID][0]
	}
	if !in[next] || next == tid {
		return 0
	}
	return next
}

// nodeOf is the node of a thread on the way from the roots; one by itself if no way leads to it.
func (j *judging) nodeOf(tid int) *node {
	for _, n := range j.reach() {
		if n.tid == tid {
			return n
		}
	}
	return &node{pid: j.owner[tid], tid: tid}
}

// processesOf counts the processes of those threads.
func (j *judging) processesOf(tids []int) int {
	in := map[int]bool{}
	for _, tid := range tids {
		in[j.owner[tid]] = true
	}
	return len(in)
}

// mostLines bounds the threads of a cycle that are listed.
const mostLines = 3

// waitForTheSame reports whether threads wait for one object.
func (j *judging) waitForTheSame(tids []int) bool {
	first := j.waiting[tids[0]]
	return first != nil && !slices.ContainsFunc(tids, func(tid int) bool {
		w := j.waiting[tid]
		return w == nil || w.Kind != first.Kind || w.Addr != first.Addr || w.Name != first.Name
	})
}

// ring follows the waits of a set from one thread until it comes back. It is nil if that needs a choice.
func (j *judging) ring(first int, in map[int]bool) (ring []int) {
	seen := map[int]int{}
	for at := first; ; {
		if from, back := seen[at]; back {
			return ring[from:]
		}
		seen[at] = len(ring)
		ring = append(ring, at)
		next := 0
		if w := j.waiting[at]; w != nil {
			for _, to := range w.Wakers {
				candidates := j.members[to.PID]
				if to.TID != 0 {
					candidates = []int{to.TID}
				}
				for _, tid := range candidates {
					// Any thread of its own process may end many a wait: that is no ring.
					if j.steps++; in[tid] && tid != at && j.owner[tid] == to.PID &&
						(to.TID != 0 || to.PID != j.owner[at]) {
						next = cmp.Or(next, tid)
						break
					}
				}
			}
		}
		if next == 0 {
			return nil
		}
		at = next
	}
}

// ringWords says a ring: `a (1) writes to a full pipe; its read end is held by b (2), which waits for a (1): cycle`. A
// writer comes first.
func (j *judging) ringWords(ring []int) string {
	for k, tid := range ring {
		if w := j.waiting[tid]; w != nil && w.Sort == profile.SortPipeRoom {
			ring = slices.Concat(ring[k:], ring[:k])
			break
		}
	}
	words := j.process(j.owner[ring[0]])
	n := &node{pid: j.owner[ring[0]], tid: ring[0]}
	for k := range ring {
		to := ring[(k+1)%len(ring)]
		n = &node{pid: j.owner[to], tid: to, from: n, by: j.waiting[ring[k]]}
		if k > 0 {
			words += ", which"
		}
		words += " " + j.link(n)
	}
	return words + ": cycle"
}
