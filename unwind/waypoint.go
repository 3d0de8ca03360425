package unwind

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// way is what the runtimes know of the way of a walk.
type way struct {
	thread *snapshot.Thread
	points []Waypoint // of the current stack
	known  bool       // a runtime may know some
	asked  bool       // for the current stack
	asks   int        // how often so far
	late   bool       // they rest on words that were not copied
}

// maxAsks bounds how often the runtimes are asked for waypoints in one walk.
const maxAsks = 16

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

var leftOut = end(NoRule, "a guess left this one out")

// keepOnWay checks whether the step just made, by a guess, has left out a place that the stack is known to pass. Then
// that is next.
func (c *cursor) keepOnWay() *ending {
	if c.bare || !guessed(c.next.Origin) || !c.way.known {
		return nil
	}
	if sp := c.top().SP; sp < c.lo || sp > c.hi {
		return nil // the step has left the stack
	}
	if p := c.waypoint(); p != nil {
		if sp, _ := p.Registers.SP(); sp < c.next.SP && c.next.SP <= c.hi {
			return c.goTo(p, leftOut)
		}
	}
	return nil
}

// goOn goes to the next place that the stack is known to pass, where the walk came to the end e; without one that
// is the result.
func (c *cursor) goOn(e *ending) *ending {
	if c.bare || e.stop == Root || !c.way.known || c.w.modules.Budget().Stopped() != nil {
		return e
	}
	p := c.waypoint()
	if p == nil || c.goTo(p, e) != nil {
		return e
	}
	return nil
}

// waypoint returns the first place above the top frame in the current stack, nil if none is known.
func (c *cursor) waypoint() *Waypoint {
	c.askWay()
	var first *Waypoint
	var at mem.Addr
	for i := range c.way.points {
		to, ok := c.way.points[i].Registers.SP()
		if ok && to > c.top().SP && to > c.lo && to <= c.hi && (first == nil || to < at) {
			first, at = &c.way.points[i], to
		}
	}
	return first
}

// askWay asks the runtimes, once for the current stack.
func (c *cursor) askWay() {
	if c.way.asked {
		return
	}
	c.way.asked, c.way.points, c.way.late = true, c.way.points[:0], false
	if c.way.asks == maxAsks {
		return
	}
	c.way.asks++
	for _, r := range c.w.all() {
		if p, ok := r.(Waypointer); ok {
			reader := noting{c: c}
			c.way.points = append(c.way.points, p.Waypoints(c.way.thread, c.frames, &reader)...)
			c.way.late = c.way.late || reader.late
		}
	}
}

// goTo makes p the next frame, as why is what keeps the walk from the frames before it.
func (c *cursor) goTo(p *Waypoint, why *ending) *ending {
	if pc, ok := p.Registers.PC(); !ok || !c.executable(pc) || p.Registers.Arch != c.arch {
		return end(NoRule, "%#x, which the stack is said to pass, is no code", uint64(pc))
	}
	if e := c.advance(0, &p.Registers, ByWaypoint); e != nil {
		return e
	}
	c.next.Interrupted, c.next.Note = false, p.Note+"; frames before it are missing"
	if why.err != nil {
		c.next.Note += ": " + why.err.Error()
	}
	if c.way.late {
		c.late = true
		c.next.Note += "; read while the thread ran again"
	}
	c.doubt = 0
	return nil
}
