package hang

import (
	"slices"

	"github.com/fpstack/fpstack/profile"
)

// byThread finds the samples of a thread: a map for each moment.
type byThread []map[threadID]*profile.Thread

// threadID is a thread of a process: ids of threads are given again.
type threadID struct{ pid, tid int }

// samples orders what was sampled by thread.
func (c *Case) samples() byThread {
	all := make(byThread, len(c.Moments))
	began := map[threadID]uint64{} // of the one that was there last: others had the id before
	for i, m := range slices.Backward(c.Moments) {
		all[i] = map[threadID]*profile.Thread{}
		for _, d := range m.Dumps {
			for k := range d.Threads {
				t := &d.Threads[k]
				id, start := threadID{d.Process.PID, t.TID}, m.Counters[t.TID].Before.Start
				if last, known := began[id]; known && last != start {
					continue
				}
				began[id] = start
				if all[i][id] == nil {
					all[i][id] = t
				}
			}
		}
	}
	return all
}

// alike reports whether a thread had the same stack at each moment that has it.
func (all byThread) alike(id threadID) bool {
	var first *profile.Thread
	for _, moment := range all {
		t := moment[id]
		if t == nil {
			continue
		}
		if first == nil {
			first = t
		} else if !sameStack(first, t) {
			return false
		}
	}
	return true
}

// together is what is known of all threads of a process. Each of them asks for it: it is worked out once, or a verdict
// on 20,000 threads would take minutes.
type together struct {
	dump     *profile.Dump    // the last one, nil without one
	fibers   []*profile.Fiber // goroutines that wait for others, if none of them can go on
	parked   []*profile.Fiber // all of the program, if none of them runs
	changes  bool             // its fibers change threads
	leaves   []*profile.Fiber // tasks and async functions that wait for no other
	sleepers []*profile.Fiber // those that wait for a time alone
	requests []*profile.Fiber // those of leaves that a server waits for
	tasks    bool             // an executor has tasks
	timed    bool             // one of these waits for a time: then the timer of its loop is that
	hosts    bool             // one waits until somebody ends the program
	serves   bool             // one waits for somebody to connect
	timers   bool             // a timer of its runtime is set
	pooled   bool             // one waits for a connection or an object of a pool
	locking  map[int]int      // how many threads wait for a lock that a thread has
	computes map[int]bool     // threads whose result others wait for
	owing    []int            // those of them that wait for what nobody is known to bring
	rests    bool             // no thread runs, nor did but to wake and sleep again
	spin     []int            // those that spin
	share    string           // how much CPU each of these had or wanted
}

// of works out what is known of the threads of a process.
func (j *judging) of(pid int) *together {
	if p := j.known[pid]; p != nil {
		return p
	}
	p := &together{rests: true}
	j.known[pid] = p
	for _, d := range slices.Concat(j.dumps, j.beside) {
		if d.Process.PID == pid && p.dump == nil {
			p.dump = d
		}
	}
	for _, tid := range j.members[pid] {
		j.steps++
		p.serves = p.serves || j.servesBy(tid) && !j.isHousekeeper(tid)
		if w := j.waiting[tid]; w != nil {
			p.pooled = p.pooled || w.Sort == profile.SortPool
			// Whoever waits on behalf of fibers waits until the first of them.
			p.timers = p.timers || w.Mode == profile.WaitIdle && hasTimer(w) && !isAlarm(p.dump, w)
		}
		switch class := j.classOf(tid); {
		case class == Spinning:
			p.spin = append(p.spin, tid)
			p.rests = false
		case class != Blocked && class != Waking && class != InDisk && class != Still,
			// Who has no CPU for long did little, and goes on; who woke was met on its way.
			j.waiting[tid] == nil && (j.states[tid] == "R" || j.states[tid] == "S" && class == Waking):
			p.rests = p.rests && j.isHousekeeper(tid)
		}
	}
	p.share = j.spinShare(p.spin)
	j.addOwners(pid, p)
	p.addFibers()
	return p
}

// addOwners works out which threads of process pid others of it wait for.
func (j *judging) addOwners(pid int, p *together) {
	p.locking, p.computes = map[int]int{}, map[int]bool{}
	for _, tid := range j.members[pid] {
		w := j.waiting[tid]
		if w == nil || w.Mode != profile.WaitOne || len(w.Wakers) != 1 || j.owner[w.Wakers[0].TID] != pid {
			continue
		}
		switch w.Sort {
		case profile.SortLock:
			p.locking[w.Wakers[0].TID]++
		case profile.SortCondition:
			p.computes[w.Wakers[0].TID] = true
		}
	}
	for _, tid := range j.members[pid] {
		w := j.waiting[tid]
		if p.computes[tid] && w != nil && w.Sort == profile.SortCondition && w.Mode == profile.WaitAny &&
			j.classOf(tid) == Blocked {
			p.owing = append(p.owing, tid)
		}
	}
}

// addFibers works out what is known of those of a process: goroutines, or tasks and async functions.
func (p *together) addFibers() {
	if p.dump == nil {
		return
	}
	if slices.ContainsFunc(p.dump.Fibers, func(f profile.Fiber) bool {
		return f.Wait != "" && !f.Awaits()
	}) {
		p.fibers, p.parked = stuckFibers(p.dump, p.timers)
		p.changes = true
		return
	}
	p.leaves, p.sleepers, p.timed = leaves(p.dump)
	p.requests = requests(p.dump, p.leaves)
	for i := range p.dump.Fibers {
		p.tasks = p.tasks || p.dump.Fibers[i].Kind == profile.AsyncTask
		p.hosts = p.hosts || awaitsShutdown(p.dump, &p.dump.Fibers[i])
	}
}
