package hang

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

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
	if v := j.taskDeadlock(); v != nil {
		return j.evidence(v, sinks)
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
	perhaps := j.supposed()
	switch {
	case len(sinks) > 0 && sinks[0].rank <= rankStill && len(moves) == 0:
		return j.evidence(j.rootVerdict(&sinks[0]), sinks)
	case len(moves) > 0:
		return j.evidence(j.moving(moves), sinks)
	case perhaps != nil:
		return j.evidence(perhaps, sinks)
	case j.starved():
		return j.evidence(j.starvation(), sinks)
	case len(sinks) > 0:
		return j.evidence(j.rootVerdict(&sinks[0]), sinks)
	}
	return j.evidence(&Verdict{Kind: Unknown, Sentence: "what it waits for is not known"}, sinks)
}

// supposed is the verdict on a cycle of which not all is proven: a hang if none of its threads ran between the moments;
// nil if there is no such cycle.
func (j *judging) supposed() *Verdict {
	for i := range j.waits.Cycles {
		c := &j.waits.Cycles[i]
		if c.Kind != profile.CycleSupposed || !j.concerns(c) {
			continue
		}
		v := j.deadlock(c)
		v.Kind = Waiting
		if j.c.Kept || !j.isAtRest(c) {
			v.Kind = Unknown
		}
		return v
	}
	return nil
}

// kept is the verdict on dumps that were made before, where no cycle and no lost lock is: what they were doing then;
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
	if v := j.supposed(); v != nil {
		return v
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

// unseen is the verdict where no process could be sampled: what the kernel counted, and the state of each of the roots.
func (j *judging) unseen() *Verdict {
	moves := j.movements(nil)
	ran, wall := j.ranUnseen()
	if share := ran.Seconds() / max(1e-9, wall.Seconds()); share >= wakes && len(j.c.Roots) == 1 {
		moves = append(moves, movement{words: j.process(j.c.Roots[0]) + " uses " + percent(share) +
			"; in which function could not be sampled"})
	}
	if len(moves) > 0 {
		return j.moving(moves)
	}
	v := &Verdict{Kind: Unknown, Sentence: "no process could be sampled"}
	if len(j.c.Roots) == 1 {
		v.Sentence = "it ended before it could be sampled"
	}
	for _, pid := range j.c.Roots {
		switch p := j.processes[pid]; {
		case p == nil:
		case p.State == "Z":
			v.Sentence = fmt.Sprintf("%s had ended before, and its parent %s has not waited for it", j.process(pid),
				j.process(p.Parent))
			return v
		case len(j.c.Roots) == 1:
			v.Sentence = j.process(pid) + " " + j.unsampled(pid)
		}
	}
	if wall > 0 {
		v.Sentence += "; the kernel counted " + seconds(ran) + " of CPU in " + seconds(wall)
	}
	return v
}

// ranUnseen is how much CPU the threads of the tree had between the moments, and in which time.
func (j *judging) ranUnseen() (ran, wall time.Duration) {
	if len(j.c.Moments) == 0 {
		return 0, 0
	}
	for tid := range j.c.Moments[len(j.c.Moments)-1].Counters {
		if pid := j.owner[tid]; pid != 0 && !j.tree[pid] {
			continue
		}
		did := j.c.did(tid)
		ran, wall = ran+did.cpu, max(wall, did.wall)
	}
	return ran, wall
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
	who, does, repeats := s.node, s.does, j.c.Activity.Repeats
	if len(repeats) > 0 && who.from != nil && j.names[who.pid] == "" {
		who, does = who.from, "" // the next of these commands, which began as all else had been looked at
	}
	if does == "" && who.from == nil && len(repeats) > 0 {
		does, repeats = "repeats the same command: "+text.Escape(repeats[0]), nil
	}
	words := j.sentence(who, does)
	if len(repeats) > 0 && s.kind != Busy {
		words = fit(words, "; it repeats the same command: "+text.Escape(repeats[0]))
	}
	if s.kind.Hung() && len(j.blamed(s.pid, s.tid)) == 0 {
		words = fit(words, j.since(s.tid))
	}
	v := &Verdict{Kind: s.kind, Sentence: words}
	if len(j.c.Activity.Repeats) > 0 && who.from != nil && j.isNew(who) {
		who = who.from // it comes and goes, and who starts it again and again stays
	}
	v.Culprit = j.culprit(who.pid, who.tid)
	if owing := j.of(who.pid).owing; s.rank == rankWork && v.Culprit.Frame == nil && len(owing) > 0 {
		v.Culprit = j.culprit(who.pid, owing[0])
	}
	return v
}

// isNew reports whether n is of a process that began after the first moment.
func (j *judging) isNew(n *node) bool {
	p := j.processes[n.pid]
	return j.classOf(n.tid) == New || p != nil && len(j.c.Moments) > 0 && p.Started.After(j.c.Moments[0].Time)
}

// culprit is a thread to look at first, with the first of its frames that is the user's own.
func (j *judging) culprit(pid, tid int) *Culprit {
	c := &Culprit{PID: pid, TID: tid, Process: j.names[pid]}
	d := j.of(pid).dump
	if d == nil {
		return c
	}
	of := j.of(pid)
	blamed := j.blamed(pid, tid)
	if w := j.waiting[tid]; len(blamed) == 0 && w != nil && w.Listens {
		blamed = of.requests
	}
	if len(blamed) == 0 {
		blamed = j.sleepersOf(pid, tid, j.waiting[tid])
	}
	if c.Fiber, c.Frame = culpritFiber(d, blamed); c.Frame != nil {
		return c
	}
	t := j.sampled[tid]
	if t != nil {
		c.Frame = ownFrame(d, &t.Stack)
	}
	if c.Frame == nil {
		c.Fiber, c.Frame = culpritFiber(d, of.parked)
	}
	if c.Frame == nil && t != nil && t.Loop != nil {
		c.Fiber, c.Frame = culpritFiber(d, of.leaves)
	}
	if c.Frame == nil && t != nil {
		c.Frame = entryFrame(d, &t.Stack)
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
	j.addCycle(v, c)
	v.Culprit = j.culprit(pid, c.Threads[0])
	return v
}

// addCycle adds the waits of a cycle to the evidence, as far as there is room.
func (j *judging) addCycle(v *Verdict, c *profile.WaitCycle) {
	lines, _ := c.Telling(func(tid int) bool {
		t := j.sampled[tid]
		return t != nil && t.IdleKind() != ""
	})
	for _, line := range lines[:min(mostLines, len(lines))] {
		v.Because = append(v.Because, text.Message(line))
	}
	if len(lines) <= mostLines {
		v.Cycle = c.Threads
	}
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
			worst = cmp.Or(worst, t)
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
	if of := j.of(worst.PID); v.Culprit.Frame == nil && of.changes {
		v.Culprit.Frame = hottest(of.dump, j.stacksTogether(j.threadsOf(worst.PID)))
	} else if v.Culprit.Frame == nil {
		v.Culprit.Frame = hottest(of.dump, j.stacks(worst.PID, worst.TID))
	}
	return v
}

// threadsOf lists the threads of a process.
func (j *judging) threadsOf(pid int) (all []*Judged) {
	for i := range j.threads {
		if t := &j.threads[i]; t.PID == pid {
			all = append(all, t)
		}
	}
	return all
}
