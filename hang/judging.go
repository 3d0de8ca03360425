package hang

import (
	"fmt"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// judging is a case, ordered for judging it.
type judging struct {
	c       *Case
	last    *Moment // nil without one
	waits   *profile.Waits
	threads []Judged
	class   map[int]*Judged
	sampled map[int]*profile.Thread // of the last moment
	waiting map[int]*profile.WaitingThread
	owner   map[int]int // the process of a thread
	names   map[int]string
}

func newJudging(c *Case) *judging {
	j := &judging{c: c, threads: Classify(c), waits: &profile.Waits{}, class: map[int]*Judged{},
		sampled: map[int]*profile.Thread{}, waiting: map[int]*profile.WaitingThread{}, owner: map[int]int{},
		names: map[int]string{}}
	for i := range j.threads {
		j.class[j.threads[i].TID] = &j.threads[i]
	}
	for i := range c.Processes {
		j.names[c.Processes[i].PID] = c.Processes[i].Name
	}
	if len(c.Moments) == 0 {
		return j
	}
	j.last = &c.Moments[len(c.Moments)-1]
	if j.last.Waits != nil {
		j.waits = j.last.Waits
	}
	for i := range j.waits.Processes {
		j.names[j.waits.Processes[i].PID] = j.waits.Processes[i].Comm
	}
	for i := range j.waits.Threads {
		t := &j.waits.Threads[i]
		j.waiting[t.TID], j.owner[t.TID] = t, t.PID
	}
	for _, d := range j.last.Dumps {
		for i := range d.Threads {
			j.sampled[d.Threads[i].TID], j.owner[d.Threads[i].TID] = &d.Threads[i], d.Process.PID
		}
	}
	return j
}

// process names a process: `make (77)`.
func (j *judging) process(pid int) string {
	if name := j.names[pid]; name != "" {
		return fmt.Sprintf("%s (%d)", text.Escape(name), pid)
	}
	return fmt.Sprintf("process %d", pid)
}

// decide makes the verdict.
func (j *judging) decide() *Verdict {
	for i := range j.waits.Cycles {
		if c := &j.waits.Cycles[i]; c.Kind == "deadlock" {
			return j.deadlock(c)
		}
	}
	return &Verdict{Kind: Unknown, Sentence: "what it waits for is not known"}
}

// deadlock is the verdict on a proven cycle.
func (j *judging) deadlock(c *profile.WaitCycle) *Verdict {
	v := &Verdict{Kind: Deadlock, Sentence: text.Message(c.Text)}
	for _, line := range c.Lines {
		v.Because = append(v.Because, text.Message(line))
	}
	if len(c.Threads) > 0 {
		tid := c.Threads[0]
		v.Culprit = &Culprit{PID: j.owner[tid], TID: tid, Process: j.names[j.owner[tid]]}
	}
	return v
}
