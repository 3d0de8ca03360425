package cpython

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/view"
)

// chain is the frames of Python that one state of a thread leads to, innermost first.
type chain struct {
	state  object.Thread
	stack  mem.Range // of the thread
	frames []object.Frame
	groups []group
	most   int  // how many frames are enough, 0: all
	cut    bool // there are more, which could not be read
	unset  bool // a call of the eval loop has just begun, and what leads to the frames is not set
	bare   bool // nothing says which call of the eval loop runs which frames: calls are counted
	// begun is an address in the frame of such a call where those that came before it are known; 0 for none.
	begun mem.Addr
}

// group is the frames that one call of the eval loop runs: frames[from:to] of the chain.
type group struct {
	from, to int
	// anchor is an address in the frame of that call; 0 where the release keeps none.
	anchor mem.Addr
}

// maxFrames bounds the frames of Python of one thread.
const maxFrames = 1 << 14

func (c *chain) reset(t object.Thread) {
	c.state, c.frames, c.groups, c.cut, c.unset, c.bare, c.begun = t, c.frames[:0], c.groups[:0], false, false, false, 0
}

func (c *chain) close(anchor mem.Addr) {
	from := 0
	if n := len(c.groups); n > 0 {
		from = c.groups[n-1].to
	}
	if from < len(c.frames) {
		c.groups = append(c.groups, group{from, len(c.frames), anchor})
	}
}

// walk reads the innermost frames of the chain of t from m, so many at most, where the stack of the thread is not
// known.
func (c *chain) walk(l *object.Layout, m *view.View, t object.Thread, most int) {
	c.most = most
	c.walkOn(l, m, t, mem.Range{})
}

// walkOn reads the chain of t from m. stack is what was copied of the thread's stack.
func (c *chain) walkOn(l *object.Layout, m *view.View, t object.Thread, stack mem.Range) {
	c.reset(t)
	if c.stack = stack; c.most == 0 {
		c.most = maxFrames
	}
	switch {
	case l.Thread.CFrame == 0 && l.Thread.Chunk == 0:
		c.walkObjects(l, m, t.Frame)
		c.bare = true
	case l.Thread.CFrame != 0 && l.Thread.Frame != 0:
		c.walkObjects(l, m, t.Frame)
		c.pairCFrames(l, m)
	case l.Thread.CFrame != 0:
		c.walkCFrames(l, m)
	default:
		c.walkShims(l, m, t.Frame)
	}
}

// walkObjects reads frames that are objects (3.8 to 3.10): each call of the eval loop runs one.
func (c *chain) walkObjects(l *object.Layout, m *view.View, at mem.Addr) {
	for at != 0 {
		f, ok := l.FrameAt(m, at)
		if !ok || len(c.frames) == c.most {
			c.cut = true
			return
		}
		c.frames = append(c.frames, f)
		c.close(0)
		at = f.Previous
	}
}

// pairCFrames gives each frame its CFrame (3.10), the oldest first: one more or less belongs to a call that begins or
// ends. A call that begins may have put its CFrame in front before it has set what that leads to: then the list, which
// ends in the state, is lost.
func (c *chain) pairCFrames(l *object.Layout, m *view.View) {
	if c.cut {
		return
	}
	var anchors [64]mem.Addr
	list := anchors[:0]
	for at := c.state.CFrame; c.isCFrame(l, at); {
		if len(list) > maxFrames {
			return
		}
		list = append(list, at)
		next, ok := object.Pointer(m, at+mem.Addr(l.CFrame.Previous))
		if !ok || next == 0 {
			c.bare = true
			return
		}
		at = next
	}
	if c.bare = len(list)+1 < len(c.groups); c.bare {
		return
	}
	for i, j := len(c.groups)-1, len(list)-1; i >= 0 && j >= 0; i, j = i-1, j-1 {
		c.groups[i].anchor = list[j]
	}
}

// isCFrame reports whether a is a CFrame of a call, and not the one that ends the list, which is part of the state.
func (c *chain) isCFrame(l *object.Layout, a mem.Addr) bool {
	return a != 0 && !within(&c.state, a)
}

// walkCFrames reads frames by the CFrames that lead to them (3.11, 3.12). A call that just begins has put its CFrame
// in front before it has set it: then the next one counts.
func (c *chain) walkCFrames(l *object.Layout, m *view.View) {
	at, dropped := c.state.CFrame, false
	for n := 0; c.isCFrame(l, at); n++ {
		first := n == 0
		b, ok := m.Bytes(at, l.CFrame.Size)
		if !ok || n == maxFrames { // each of a list that goes in a circle may be without frames
			c.broken(dropped, 0)
			return
		}
		frame := mem.Addr(order.Uint64(b[l.CFrame.Frame:]))
		next := mem.Addr(order.Uint64(b[l.CFrame.Previous:]))
		had := len(c.frames)
		caller, ok := c.walkEntry(l, m, frame)
		under, known := object.Pointer(m, next+mem.Addr(l.CFrame.Frame))
		switch {
		case ok && known && (caller == under):
			c.close(at)
		case len(c.frames) == c.most && c.most < maxFrames:
			c.cut = true
			c.close(at)
			return
		case first && known:
			c.frames, dropped, c.begun = c.frames[:had], true, at
		case first: // not even what leads to the next is set
			c.broken(true, 0)
			return
		default:
			c.broken(dropped, at)
			return
		}
		at = next
	}
	if dropped && (at == 0 || len(c.frames) == 0) { // it ends in the state, and a call has frames
		c.broken(true, 0)
	}
}

// broken ends a chain that cannot be followed to its end. Where the CFrame in front was not set what it led to is
// whatever an earlier call left there: nothing of that is believed.
func (c *chain) broken(unset bool, anchor mem.Addr) {
	if unset {
		c.reset(c.state)
		c.unset = true
		return
	}
	c.cut = true
	c.close(anchor)
}

// walkEntry reads the frames from at on that one call of the eval loop runs, and returns the innermost of its caller.
func (c *chain) walkEntry(l *object.Layout, m *view.View, at mem.Addr) (caller mem.Addr, ok bool) {
	for at != 0 && len(c.frames) < c.most {
		f, ok := l.FrameAt(m, at)
		if !ok {
			return 0, false
		}
		if c.shim(l, &f) {
			return f.Previous, true
		}
		c.frames = append(c.frames, f)
		if f.Entry {
			return f.Previous, true
		}
		at = f.Previous
	}
	return 0, at == 0
}

// walkShims reads frames that end at a shim, an entry frame in the frame of their call (3.13 on).
func (c *chain) walkShims(l *object.Layout, m *view.View, at mem.Addr) {
	for n := 0; at != 0 && at != c.state.Base; n++ {
		f, ok := l.FrameAt(m, at)
		if !ok || n == 2*maxFrames || len(c.frames) == c.most {
			c.cut = true
			break
		}
		if c.shim(l, &f) {
			c.close(at)
		} else {
			c.frames = append(c.frames, f)
		}
		at = f.Previous
	}
	c.close(0)
}

// shim reports whether f is an entry frame. No other lies on the stack; one that is being made may not say yet whose
// it is.
func (c *chain) shim(l *object.Layout, f *object.Frame) bool {
	_, on := c.stack.Bytes(f.Addr, wordSize)
	return l.Shim(f) || on && l.Version.Minor >= 12
}
