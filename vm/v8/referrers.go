package v8

import (
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/v8/heap"
)

// ends says who settles the leaves of t, unless something better is known.
func (g *reach) ends(t *target, s settler) {
	for _, i := range t.leaves {
		if b := &g.best[i]; b.kind == settledByUnknown || s.kind < b.kind {
			*b = s
		}
	}
}

// visit follows a word of h that refers to t.
func (g *reach) visit(t *target, h *holder) {
	switch {
	case h.state == unclear:
		g.failed = true
	case h.state == outside:
		if t.role != roleFields && g.isHandle(h.at) {
			for _, i := range t.leaves {
				g.native[i] = true
			}
		}
	case t.role == rolePromise:
		g.promise(t, h)
	case t.role == roleContext:
		if g.r.layout.IsFunctionType(h.typ) && h.offset == g.r.layout.Function.Context {
			g.add(heap.TagOf(h.at), roleSettler, t.leaves)
		}
	case t.role == roleFields:
		if h.typ == g.r.layout.Types.APIObject && h.offset == g.r.layout.ObjectProperties {
			g.ends(t, g.object(h))
		}
	default:
		g.settling(t, h)
	}
}

// promise follows what has a promise.
func (g *reach) promise(t *target, h *holder) {
	l := g.r.layout
	switch typ := h.typ; {
	case l.IsContextType(typ):
		if h.offset == l.ArrayData+2*wordSize { // of the functions that settle it: see [heap.Heap.Settles]
			g.add(heap.TagOf(h.at), roleContext, t.leaves)
		}
	case slices.Contains(l.Types.Jobs[:], typ):
		if !g.isThenable(h) {
			g.ends(t, settler{kind: settledByJob})
		}
	case typ == l.Types.PromiseReaction && h.offset == l.Reaction.Promise:
		g.ends(t, settler{kind: settledByHandler})
	case typ == l.Types.PropertyArray:
		g.add(heap.TagOf(h.at), roleFields, t.leaves)
	case typ == l.Types.APIObject:
		g.ends(t, g.object(h))
	case typ == l.Types.Module && typ != 0:
		g.ends(t, settler{kind: settledByModule})
	case typ == l.Types.AsyncRequest, l.IsSuspendable(typ) && h.offset >= heap.FrameResult: // of one that is not shown
		g.ends(t, settler{kind: settledByFunction})
	}
}

// isThenable reports whether a word of a job is the promise that it makes another one wait for, which it has in front:
// that settles the other one.
// Source: src/objects/microtask.tq and promise.tq of V8, PromiseResolveThenableJobTask.
func (g *reach) isThenable(h *holder) bool {
	if h.typ != g.r.layout.Types.Jobs[2] {
		return false
	}
	w, ok := g.Moment.Peek(h.at + mem.Addr(h.offset) - wordSize)
	if !ok || !heap.MayRefer(w) {
		return false
	}
	typ, err := g.heap.Type(mem.Addr(w - 1))
	return err == nil && typ == g.r.layout.Types.Promise
}

// settling follows what has a function that settles a promise, or leads to one.
func (g *reach) settling(t *target, h *holder) {
	l := g.r.layout
	switch typ := h.typ; {
	case l.IsFunctionType(typ):
		if h.offset == l.Function.Context {
			g.add(heap.TagOf(h.at), roleSettler, t.leaves)
		}
	case l.IsContextType(typ):
		g.passes(t, h, settler{kind: settledByVariable})
	case typ == l.Types.PromiseReaction:
		g.ends(t, settler{kind: settledByHandler})
	case slices.Contains(l.Types.Jobs[:], typ):
		g.ends(t, settler{kind: settledByJob})
	case g.isFrame(t, h), typ == l.Types.Promise:
	case typ == l.Types.MapObject:
		g.ends(t, settler{kind: settledByMap})
	case typ == l.Types.SetObject:
		g.ends(t, settler{kind: settledBySet})
	case typ == l.Types.Array:
		g.ends(t, settler{kind: settledByArray})
	case typ == l.Types.BoundFunction && typ != 0: // who calls that is looked for
		g.add(heap.TagOf(h.at), roleSettler, t.leaves)
	case typ >= l.Types.GlobalObject && l.Types.GlobalObject != 0:
		if s := g.object(h); s.class == plainObject { // whose it is says more
			g.passes(t, h, s)
		} else {
			g.ends(t, s)
		}
	default:
		g.add(heap.TagOf(h.at), roleSettler, t.leaves)
	}
}

// passes goes on with what refers to h, which is all that can be said if nothing more is found.
func (g *reach) passes(t *target, h *holder, s settler) {
	for _, i := range t.leaves {
		g.soft[i] = s
	}
	g.add(heap.TagOf(h.at), roleSettler, t.leaves)
}

// plainObject is the class of an object that no class was written for.
const plainObject = "Object"

// isFrame reports whether h is of a suspended function, or what is left of one. Where that does not wait for the leaf
// itself it may settle it, by a variable.
func (g *reach) isFrame(t *target, h *holder) bool {
	i, known := g.frames[h.at]
	if !known {
		return g.r.layout.IsSuspendable(h.typ)
	}
	for _, k := range t.leaves {
		if !g.waiting[g.leaves[k]][i] {
			one := *t
			one.leaves = []int{k}
			g.ends(&one, settler{kind: settledByVariable})
		}
	}
	return true
}

// object is the object h, by its class.
func (g *reach) object(h *holder) settler {
	class, _ := g.heap.ClassOf(h.at)
	switch {
	case class == "Timeout" || class == "Immediate":
		return settler{kind: settledByTimer}
	case h.typ == g.r.layout.Types.APIObject:
		return settler{kind: settledByRequest, class: class}
	}
	return settler{kind: settledByObject, class: class}
}
