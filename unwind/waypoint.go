package unwind

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// way is the waypoints of a walk.
type way struct {
	thread *snapshot.Thread
	points []Waypoint
	known  bool // a runtime may know some
	asked  bool
	late   bool // they rest on words that were not copied
}

// begin is for a walk of t.
func (y *way) begin(t *snapshot.Thread, w *Walker) {
	y.thread = t
	for _, r := range w.all() {
		if _, ok := r.(Waypointer); ok {
			y.known = true
		}
	}
}

// guessed reports whether a step of that origin is proved by nothing that says so for the code that it leaves.
func guessed(o Origin) bool { return o == FramePointer || o == Code || o == StackTop }

// keepOnWay looks whether the step just made, by a guess, has left out a place that the stack is known to pass. Then
// that is next.
func (c *cursor) keepOnWay() *ending {
	if c.bare || !guessed(c.next.Origin) || !c.way.known {
		return nil
	}
	if p := c.waypoint(c.top().SP); p != nil {
		if sp, _ := p.Registers.SP(); sp < c.next.SP && c.next.SP <= c.hi {
			return c.goTo(p)
		}
	}
	return nil
}

// goOn goes to the next place that the stack is known to pass, where the walk came to the end e; without one that
// is the result.
func (c *cursor) goOn(e *ending) *ending {
	if c.bare || e.stop == Root || e.stop == DepthLimit || c.w.runtimes == nil ||
		c.w.modules.Budget().Stopped() != nil {
		return e
	}
	p := c.waypoint(c.top().SP)
	if p == nil || c.goTo(p) != nil {
		return e
	}
	return nil
}

// waypoint returns the first place above sp in the current stack, nil if none is known.
func (c *cursor) waypoint(sp mem.Addr) *Waypoint {
	c.askWay()
	for i := range c.way.points {
		if to, ok := c.way.points[i].Registers.SP(); ok && to > sp && to > c.lo && to <= c.hi {
			return &c.way.points[i]
		}
	}
	return nil
}

// askWay asks the runtimes, once a walk.
func (c *cursor) askWay() {
	if c.way.asked {
		return
	}
	c.way.asked = true
	for _, r := range c.w.all() {
		if p, ok := r.(Waypointer); ok {
			reader := noting{c: c}
			c.way.points = append(c.way.points, p.Waypoints(c.way.thread, &reader)...)
			c.way.late = c.way.late || reader.late
		}
	}
}

// goTo makes p the next frame.
func (c *cursor) goTo(p *Waypoint) *ending {
	if pc, ok := p.Registers.PC(); !ok || !c.executable(pc) || p.Registers.Arch != c.arch {
		return end(NoRule, "%#x, which the stack is said to pass, is no code", uint64(pc))
	}
	if e := c.advance(0, &p.Registers, ByWaypoint); e != nil {
		return e
	}
	c.next.Interrupted, c.next.Note = false, p.Note
	if c.way.late {
		c.late = true
		c.next.Note += "; read while the thread ran again"
	}
	c.doubt = 0
	return nil
}
