package hang

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// Judge says of a case whether its processes hang, and why. It changes nothing in c.
func Judge(c *Case) *Verdict {
	j := newJudging(c)
	v := j.decide()
	v.Tests = tests(c, v.Culprit)
	v.Sentence = withTests(v.Sentence, inTests(v.Tests))
	v.Threads, v.Lacks = j.threads, slices.Clone(c.Problems)
	return v
}

// decide makes the verdict: what is proven first, then what moves, then what all wait for.
func (j *judging) decide() *Verdict {
	if len(j.dumps) == 0 {
		return j.unseen()
	}
	sinks := j.sinks()
	for i := range j.waits.Cycles {
		if c := &j.waits.Cycles[i]; c.Kind == profile.CycleDeadlock && j.concerns(c) {
			return j.evidence(j.deadlock(c), sinks)
		}
	}
	if len(sinks) > 0 && sinks[0].rank == rankLost {
		return j.evidence(j.rootVerdict(&sinks[0]), sinks)
	}
	for i := range j.waits.Cycles {
		if c := &j.waits.Cycles[i]; c.Kind == profile.CycleStuck && j.concerns(c) && j.isAtRest(c) {
			return j.evidence(j.stuck(c, sinks), sinks)
		}
	}
	if j.c.Kept {
		return j.evidence(j.kept(sinks), sinks)
	}
	moves := j.movements(sinks)
	switch {
	case len(sinks) > 0 && sinks[0].rank <= rankStill && len(moves) == 0:
		return j.evidence(j.rootVerdict(&sinks[0]), sinks)
	case len(moves) > 0:
		return j.evidence(j.moving(moves), sinks)
	case j.starved():
		return j.evidence(j.starvation(), sinks)
	case len(sinks) > 0:
		return j.evidence(j.rootVerdict(&sinks[0]), sinks)
	}
	return j.evidence(&Verdict{Kind: Unknown, Sentence: "what it waits for is not known"}, sinks)
}

// kept is the verdict on dumps that were made before, where no cycle and no lost lock is: what they were doing then, and
// whether they hung nobody can tell from one moment, but of who was stopped.
func (j *judging) kept(sinks []sink) *Verdict {
	for _, t := range j.sampled {
		if s := t.Signal; s != nil && s.Name != "" {
			v := &Verdict{Kind: Unknown, Culprit: j.culprit(j.owner[t.TID], t.TID)}
			v.Sentence = fmt.Sprintf("%s was ended by %s", j.process(j.owner[t.TID]), text.Escape(s.Name)) +
				j.where(&node{pid: j.owner[t.TID], tid: t.TID})
			return v
		}
	}
	if len(sinks) == 0 {
		return &Verdict{Kind: Unknown, Sentence: "what it waited for is not known"}
	}
	v := j.rootVerdict(&sinks[0])
	if v.Kind == Waiting && sinks[0].rank > rankOwn {
		v.Kind = Unknown
	}
	return v
}

// unseen is the verdict where no process could be sampled.
func (j *judging) unseen() *Verdict {
	if words := j.ended(); words != "" {
		return j.moving([]movement{{words, nil}})
	}
	v := &Verdict{Kind: Unknown, Sentence: "no process could be sampled"}
	if len(j.c.Roots) == 1 && j.processes[j.c.Roots[0]] == nil {
		v.Sentence = "it ended before it could be sampled"
	}
	for _, pid := range j.c.Roots {
		if p := j.processes[pid]; p != nil && p.State == "Z" {
			v.Sentence = fmt.Sprintf("%s had ended before, and its parent %s has not waited for it", j.process(pid),
				j.process(p.Parent))
		}
	}
	return v
}

// concerns reports whether a cycle has a thread of the tree, or one that something of the tree waits for: others that
// were read have nothing to do with it.
func (j *judging) concerns(c *profile.WaitCycle) bool {
	if slices.ContainsFunc(slices.Concat(c.Threads, c.Behind), func(tid int) bool { return j.tree[j.owner[tid]] }) {
		return true
	}
	reached := map[int]bool{}
	for _, n := range j.reach() {
		reached[n.tid] = true
	}
	return slices.ContainsFunc(c.Threads, func(tid int) bool { return reached[tid] })
}

// sinks lists what waits for nobody in the case, the most likely cause first: what the roots wait for, or, where that
// leads nowhere, every thread of the tree.
func (j *judging) sinks() []sink {
	var all []sink
	for _, n := range j.reach() {
		if n.ends {
			all = append(all, j.sink(n))
		}
	}
	reached := map[int]bool{}
	for i := range all {
		reached[all[i].pid] = true
	}
	for _, d := range j.dumps {
		if reached[d.Process.PID] {
			continue
		}
		for _, tid := range j.members[d.Process.PID] {
			n := &node{pid: d.Process.PID, tid: tid}
			if len(j.targets(n)) > 0 || !j.matters(tid) {
				continue
			}
			if s := j.sink(n); s.rank <= rankLocked && s.rank != rankHolder {
				all = append(all, s)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b sink) int { return j.compareSinks(&a, &b) })
	return all
}

// rootVerdict is the verdict that all wait for s.
func (j *judging) rootVerdict(s *sink) *Verdict {
	does, repeats := s.does, j.c.Activity.Repeats
	if does == "" && s.from == nil && len(repeats) > 0 {
		does, repeats = "repeats the same command: "+text.Escape(repeats[0]), nil
	}
	words := j.sentence(s.node, does)
	if len(repeats) > 0 && s.kind != Busy {
		words = fit(words, "; it repeats the same command: "+text.Escape(repeats[0]))
	}
	if s.kind.Hung() && len(j.of(s.pid).fibers) == 0 {
		words = fit(words, j.since(s.tid))
	}
	v := &Verdict{Kind: s.kind, Sentence: words}
	v.Culprit = j.culprit(s.pid, s.tid)
	return v
}

// culprit is a thread to look at first, with the first of its frames that is the user's own.
func (j *judging) culprit(pid, tid int) *Culprit {
	c := &Culprit{PID: pid, TID: tid, Process: j.names[pid]}
	d := j.of(pid).dump
	if d == nil {
		return c
	}
	of := j.of(pid)
	if _, c.Frame = culpritFiber(d, of.fibers); c.Frame != nil {
		return c
	}
	t := j.sampled[tid]
	if t != nil {
		c.Frame = ownFrame(d, &t.Stack)
	}
	if c.Frame == nil {
		_, c.Frame = culpritFiber(d, of.parked)
	}
	if c.Frame == nil && t != nil && t.Loop != nil {
		_, c.Frame = culpritFiber(d, of.calls)
	}
	return c
}

// deadlock is the verdict on a proven cycle.
func (j *judging) deadlock(c *profile.WaitCycle) *Verdict {
	v := &Verdict{Kind: Deadlock, Sentence: text.Message(c.Text)}
	if len(c.Threads) == 0 {
		return v
	}
	pid := j.owner[c.Threads[0]]
	v.Sentence = j.path(pid) + ": " + v.Sentence
	var places []string
	for _, tid := range c.Threads[:min(2, len(c.Threads))] {
		if t := j.sampled[tid]; t != nil {
			if f := ownFrame(j.of(j.owner[tid]).dump, &t.Stack); f != nil {
				places = append(places, place(f))
			}
		}
	}
	if len(places) > 0 {
		v.Sentence = fit(v.Sentence, ", in "+strings.Join(places, " and "))
	}
	v.Sentence = fit(v.Sentence, j.since(c.Threads...))
	for _, line := range c.Lines[:min(mostLines, len(c.Lines))] {
		v.Because = append(v.Because, text.Message(line))
	}
	v.Culprit = j.culprit(pid, c.Threads[0])
	return v
}

// path says how the roots come to wait for process pid: `make (77) waits for test (78)`. It is the process alone if
// they are not known to.
func (j *judging) path(pid int) string {
	for _, n := range j.reach() {
		if n.pid == pid && n.from != nil && n.from.pid != pid {
			return j.chain(n)
		}
	}
	return j.process(pid)
}

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
	for _, line := range c.Lines[:min(mostLines, len(c.Lines))] {
		v.Because = append(v.Because, text.Message(line))
	}
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

// starved reports whether the machine has no CPU for what would run.
func (j *judging) starved() bool {
	return slices.ContainsFunc(j.threads, func(t Judged) bool { return t.Class == Hungry })
}

func (j *judging) starvation() *Verdict {
	v := &Verdict{Kind: Starved}
	var worst *Judged
	n := 0
	for i := range j.threads {
		if t := &j.threads[i]; t.Class == Hungry {
			n++
			if worst == nil {
				worst = t
			}
		}
	}
	did := j.c.did(worst.TID)
	waits := "waits"
	if n > 1 {
		waits = "wait"
	}
	v.Sentence = fmt.Sprintf("short of CPU: %s %s for one most of the time; %s had one for %.0f %% of it",
		text.Count(n, "thread"), waits, j.process(worst.PID), 100*did.share(did.cpu))
	v.Culprit = j.culprit(worst.PID, worst.TID)
	return v
}
