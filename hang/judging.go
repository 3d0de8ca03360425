package hang

import (
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// judging is a case, ordered so that it can be judged.
type judging struct {
	c         *Case
	dumps     []*profile.Dump // of the last moment
	beside    []*profile.Dump // of processes outside the tree
	waits     *profile.Waits
	threads   []Judged
	class     map[int]*Judged
	sampled   map[int]*profile.Thread // of the last moment
	waiting   map[int]*profile.Wait
	states    map[int]string
	members   map[int][]int // the threads of a process, its first thread first
	owner     map[int]int   // the process of a thread
	processes map[int]*Process
	names     map[int]string // of processes
	tree      map[int]bool   // the processes of the case
	tokens    map[string]bool
	samples   byThread
	known     map[int]*together // of processes
	steps     int               // threads that were visited, for tests
}

func newJudging(c *Case) *judging {
	samples := c.samples()
	j := &judging{c: c, threads: classifyBy(c, samples), samples: samples, known: map[int]*together{},
		waits: &profile.Waits{}, class: map[int]*Judged{}, sampled: map[int]*profile.Thread{},
		waiting: map[int]*profile.Wait{}, states: map[int]string{}, members: map[int][]int{},
		owner: map[int]int{}, processes: map[int]*Process{}, names: map[int]string{},
		tree: map[int]bool{}, tokens: map[string]bool{}}
	for i := range j.threads {
		j.class[j.threads[i].TID] = &j.threads[i]
	}
	for _, list := range [][]Process{c.Outside, c.Processes} {
		for i := range list {
			p := &list[i]
			j.processes[p.PID], j.names[p.PID] = p, p.Name
			if p.Jobserver != "" {
				j.tokens[p.Jobserver] = true
			}
		}
	}
	for i := range c.Processes {
		j.tree[c.Processes[i].PID] = true
	}
	if len(c.Moments) > 0 {
		j.addMoment(&c.Moments[len(c.Moments)-1])
		j.woken()
	}
	return j
}

// addMoment takes the threads of the last moment.
func (j *judging) addMoment(m *Moment) {
	if m.Waits != nil {
		j.waits = m.Waits
	}
	for i := range j.waits.Processes {
		j.names[j.waits.Processes[i].PID] = j.waits.Processes[i].Comm
	}
	for i := range j.waits.Threads {
		t := &j.waits.Threads[i]
		j.waiting[t.TID] = t.Wait
		j.addThread(t.PID, t.TID, t.State)
	}
	j.dumps = m.Dumps
	for _, d := range m.Dumps {
		j.tree[d.Process.PID] = true
		if d.Process.Comm != "" {
			j.names[d.Process.PID] = d.Process.Comm
		}
		j.addThreads(d)
	}
	for _, d := range j.c.Beside {
		if !j.tree[d.Process.PID] {
			j.beside = append(j.beside, d)
			j.addThreads(d)
		}
	}
	for pid, tids := range j.members {
		slices.SortStableFunc(tids, func(a, b int) int { return order(a, pid) - order(b, pid) })
	}
}

// order puts the first thread of a process before the others.
func order(tid, pid int) int {
	if tid == pid {
		return 0
	}
	return 1
}

func (j *judging) addThreads(d *profile.Dump) {
	for i := range d.Threads {
		t := &d.Threads[i]
		j.sampled[t.TID] = t
		state := t.State
		if t.Wait != nil {
			j.waiting[t.TID] = t.Wait
		} else if j.states[t.TID] == "R" && !j.tree[d.Process.PID] {
			state = "R" // when its waits were read: for what it sleeps now is not known
		}
		j.addThread(d.Process.PID, t.TID, state)
	}
}

func (j *judging) addThread(pid, tid int, state string) {
	if _, known := j.owner[tid]; !known {
		j.members[pid] = append(j.members[pid], tid)
	}
	j.owner[tid] = pid
	if state != "" {
		j.states[tid] = state
	}
}

// process names a process: `make (77)`.
func (j *judging) process(pid int) string {
	if name := j.names[pid]; name != "" {
		return fmt.Sprintf("%s (%d)", text.Escape(name), pid)
	}
	return fmt.Sprintf("process %d", pid)
}

// thread names a thread as somebody of process from does.
func (j *judging) thread(tid, from int) string {
	words := fmt.Sprintf("thread %d", tid)
	if t := j.sampled[tid]; t != nil && t.OwnName() != "" {
		words += " " + text.Quote(t.OwnName())
	}
	pid := j.owner[tid]
	if pid == from || pid == 0 {
		return words
	}
	if len(j.members[pid]) <= 1 {
		return j.process(pid)
	}
	return words + " of " + j.process(pid)
}

// about is what a person must know of a process that another waits for: that its parent is gone, that it is in another
// session or outside the tree.
func (j *judging) about(pid, from int) string {
	p, q := j.processes[pid], j.processes[from]
	words := ""
	switch {
	case p == nil:
	case p.Parent <= 1:
		words += ", parent gone"
	}
	if p != nil && q != nil && p.Session != 0 && p.Session != q.Session {
		words += ", another session"
	}
	if !j.tree[pid] {
		words += ", outside this tree"
	}
	return words
}

// classOf is the class of a thread: of one outside the tree by what the kernel counted of it alone. It is "" where
// nothing was.
func (j *judging) classOf(tid int) Class {
	if t := j.class[tid]; t != nil {
		return t.Class
	}
	if did := j.c.did(tid); did.wall > 0 && !j.tree[j.owner[tid]] {
		t := profile.Thread{TID: tid, State: j.states[tid]}
		of := classify(j.c, j.owner[tid], &t, nil)
		j.class[tid] = &of
		return of.Class
	}
	return ""
}
