package node

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/vm/libuv"
	"github.com/fpstack/fpstack/vm/v8/heap"
)

const (
	// maxLoopReads bounds what is read to name the handles of one loop, in the steps of [heap.Heap].
	maxLoopReads = 256 << 20
	// maxTimers bounds the timers of one Environment, and its requests.
	maxTimers = 1 << 14
	// maxCalls bounds the functions that are shown of one handle.
	maxCalls = 8
)

// NameLoop names the handles of l, which are shown as all: handles of Node.js have an object of JavaScript, and that
// functions that are called; one handle of libuv serves all timers. h is the heap as it is now; a program that is not
// Node.js has all as they are. Where not all could be read loop.Err says so.
func (l *Layout) NameLoop(h heap.Heap, p Program, loop *libuv.Loop, all []profile.Handle) []profile.Handle {
	if l.persistent == 0 {
		return all
	}
	h.Within(maxLoopReads)
	n := &reading{Heap: h, Layout: *l, program: p}
	for i := range loop.Handles {
		uv, shown := &loop.Handles[i], &all[i]
		object, ok := n.objectOf(uv.Data)
		if ok {
			n.sure(func() { n.describeHandle(object, shown) })
			continue
		}
		shown.Internal = true
		if uv.Kind != libuv.Timer {
			continue
		}
		var env mem.Addr
		if n.sure(func() { env, ok = n.environmentOf(uv.Addr) }); ok {
			timers, whole := n.timers(env, uv)
			if !whole && uv.Active && n.err == nil {
				n.err = errTimers
			}
			slices.SortStableFunc(timers, func(a, b profile.Handle) int { return cmp.Compare(a.In, b.In) })
			if all = append(all, timers...); whole {
				all[i].Kind = ""
			}
			n.sure(func() { all = append(all, n.pending(env)...) })
		}
	}
	if n.err != nil && loop.Err == nil {
		loop.Err = fmt.Errorf("not all could be read of what its handles belong to: %w", n.err)
	}
	return all
}

var (
	errTimers = errors.New("the timers of Node.js are not found")
	errMany   = fmt.Errorf("there are more than %d timers or requests", maxTimers)
)

// many says that timers or requests are left out.
func (n *reading) many() {
	if n.err == nil {
		n.err = errMany
	}
}

// describeHandle says whose handle the object is: the object that a program has of it refers to it and is referred to.
func (n *reading) describeHandle(object mem.Addr, to *profile.Handle) {
	owner := object
	_ = n.Properties(object, func(k heap.Key, v heap.Tagged) bool {
		if a, ok := n.IsReceiver(v); ok && k.Symbol && strings.HasPrefix(k.Name, "owner_symbol") {
			owner = a
			return false
		}
		return true
	})
	to.Object, _ = n.ClassOf(owner)
	to.Calls = n.listeners(owner, "")
	if len(to.Calls) == 0 && to.Kind == libuv.Signal {
		to.Calls = n.signalListeners(object, to.Detail)
	}
	if len(to.Calls) == 0 {
		to.Calls = n.callbacks(object)
	}
}

// signalListeners are those of a signal: its handle emits an event of that name on the process object.
// Source: startListeningIfSignal in lib/internal/process/signal.js of Node.js.
func (n *reading) signalListeners(object mem.Addr, signal string) []profile.Call {
	emit, _ := n.PropertyOf(object, "onsignal")
	_, on, _ := n.BoundTo(emit)
	if emitter, ok := n.IsReceiver(on); ok {
		return n.listeners(emitter, signal)
	}
	return nil
}

// listeners are the functions of the program that an EventEmitter calls, those of one event or, for "", of all.
func (n *reading) listeners(emitter mem.Addr, event string) []profile.Call {
	events, ok := n.PropertyOf(emitter, "_events")
	at, ok2 := n.IsReceiver(events)
	if !ok || !ok2 {
		return nil
	}
	var calls []profile.Call
	_ = n.Properties(at, func(k heap.Key, v heap.Tagged) bool {
		if event != "" && k.Name != event {
			return true
		}
		several, err := n.Elements(v, maxCalls)
		if err != nil {
			several = []heap.Tagged{v}
		}
		for _, f := range several {
			if c, ok := n.call(k.Name, f); ok && !strings.HasPrefix(c.File, "node:") {
				calls = append(calls, c)
			}
		}
		return len(calls) < maxCalls
	})
	return calls
}

// callbacks are the functions that Node.js calls of the object of a handle or a request: properties such as onchange
// and oncomplete.
func (n *reading) callbacks(object mem.Addr) []profile.Call {
	var calls []profile.Call
	_ = n.Properties(object, func(k heap.Key, v heap.Tagged) bool {
		if strings.HasPrefix(k.Name, "on") || k.Name == "callback" {
			if c, ok := n.call(k.Name, v); ok {
				calls = append(calls, c)
			}
		}
		return len(calls) < maxCalls
	})
	return calls
}

// call describes the function that t refers to: of one that wraps a listener (once) the listener, of a bound one what
// it calls.
func (n *reading) call(event string, t heap.Tagged) (profile.Call, bool) {
	const wrappers = 4
	for range wrappers {
		a, ok := n.IsReceiver(t)
		if !ok {
			return profile.Call{}, false
		}
		if inner, ok := n.PropertyOf(a, "listener"); ok {
			t = inner
			continue
		}
		if target, _, ok := n.BoundTo(t); ok {
			t = target
			continue
		}
		return n.function(event, a)
	}
	return profile.Call{}, false
}

// function describes the closure at a.
func (n *reading) function(event string, a mem.Addr) (profile.Call, bool) {
	shared, err := n.FunctionAt(a)
	if err != nil {
		return profile.Call{}, false
	}
	f, err := n.program.Function(shared, n.View)
	if err != nil {
		n.err = cmp.Or(n.err, err)
		return profile.Call{}, false
	}
	c := profile.Call{Event: event, Func: f.Shown}
	start := f.Start
	if name, at, ok := n.Uncompiled(shared); ok {
		if start = at; f.Name == "" && name != "" {
			c.Func = name
		}
	}
	if f.Place != nil {
		f.Place(start, &c)
	}
	return c, true
}

// pending are the requests of the Environment at a that the kernel or another thread works on.
func (n *reading) pending(env mem.Addr) (out []profile.Handle) {
	queue, ok := n.offset(n.requests)
	place, ok2 := n.offset(n.request)
	next, ok3 := n.offset(n.next)
	if !ok || !ok2 || !ok3 {
		return nil
	}
	head := env + queue
	for at := head; ; {
		w, err := n.Word(at, int32(next))
		if at = mem.Addr(w); err != nil || at == head || at == 0 {
			break
		}
		if len(out) == maxTimers {
			n.many()
			break
		}
		object, ok := n.objectOf(at - place)
		if !ok {
			break
		}
		h := profile.Handle{Kind: "request", FD: -1, Keeps: true, Calls: n.callbacks(object)}
		h.Object, _ = n.ClassOf(object)
		h.Detail = n.requested(object)
		out = append(out, h)
	}
	return out
}

// requested is what a request is about, as far as its object says.
func (n *reading) requested(object mem.Addr) string {
	var address, port string
	_ = n.Properties(object, func(k heap.Key, v heap.Tagged) bool {
		switch k.Name {
		case "address", "hostname":
			address, _ = n.Text(v, heap.MaxName)
		case "port":
			if p, ok := n.Number(v); ok {
				port = fmt.Sprintf(":%.0f", p)
			}
		}
		return true
	})
	return address + port
}
