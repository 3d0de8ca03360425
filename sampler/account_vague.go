package sampler

import (
	"time"

	"github.com/fpstack/fpstack/profile"
)

// vague are samples in which a thread ran that makes many system calls, and that was stopped on another CPU: that it
// ran is sure, where is not (see beside). What they cover goes to the stacks in which it was met for sure, in
// proportion; without one, to where it was met.
type vague struct {
	list    []vagueSample
	samples int64
	wall    time.Duration
}

type vagueSample struct {
	stack   profile.NodeID
	samples int64
	wall    time.Duration
	ended   bool // at the end of a system call
}

func (v *vague) add(s vagueSample) {
	v.list = append(v.list, s)
	v.samples, v.wall = v.samples+s.samples, v.wall+s.wall
}

// spreadVague gives away what the vague samples of t cover.
func (c *counter) spreadVague(t *track) {
	v := &t.vague
	if len(v.list) == 0 {
		return
	}
	if len(t.cpu.seen) > 0 {
		spread(v.wall, t.cpu.seen, func(n profile.NodeID, d time.Duration) {
			c.ledger.entry(n, t.task, true).wall += d
		})
		spread(time.Duration(v.samples), t.cpu.seen, func(n profile.NodeID, d time.Duration) {
			c.ledger.entry(n, t.task, true).samples += int64(d)
		})
	} else {
		for _, s := range v.list {
			e := c.ledger.entry(s.stack, t.task, true)
			e.samples, e.wall = e.samples+s.samples, e.wall+s.wall
			c.met(s.samples, s.ended)
		}
	}
	*v = vague{list: v.list[:0]}
}

// met counts samples that count where their thread was met.
func (c *counter) met(samples int64, ended bool) {
	if ended {
		c.out.ended.Add(uint64(samples))
	}
}
