package v8

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/vm/libuv"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/v8/node"
	"github.com/fpstack/fpstack/vm/view"
)

// NameLoop implements vm.LoopNamer: what handles of Node.js belong to.
func (r *Runtime) NameLoop(l *libuv.Loop, all []profile.Handle) []profile.Handle {
	if r.live == nil {
		return all
	}
	return r.node.NameLoop(r.heap(r.late()), r, l, all)
}

// Function implements [node.Program].
func (r *Runtime) Function(s heap.Shared, v *view.View) (node.Function, error) {
	f, err := r.describe(s, v)
	if err != nil {
		return node.Function{}, err
	}
	out := node.Function{Name: f.name, Shown: f.shown(), Start: f.start}
	if f.script != nil {
		out.Place = func(offset int, c *profile.Call) {
			at := r.where(f.script, offset, v)
			c.File, c.Line, c.Generated = at.file, at.line, at.generated
		}
	}
	return out, nil
}

// node looks up the symbols of Node.js.
func (t *tables) node() node.Layout {
	return node.Find(func(name string) mem.Addr {
		if v, ok := t.at(name); ok {
			return t.m.Addr(v)
		}
		return 0
	})
}
