package v8

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

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

// NameLoop implements vm.LoopNamer: handles of Node.js have an object of JavaScript, and that functions that are
// called; one handle of libuv serves all timers. It reads objects as they are now, which a thread that waits in its
// loop does not move; each is what it is taken for by its type and by what refers to it.
func (r *Runtime) NameLoop(l *libuv.Loop, all []profile.Handle) []profile.Handle {
	if r.live == nil || r.node.persistent == 0 {
		return all
	}
	v := r.late()
	v.Within(maxLoopReads)
	n := &inNode{r.heap(v), r, r.node}
	for i := range l.Handles {
		uv, shown := &l.Handles[i], &all[i]
		if object, ok := n.objectOf(uv.Data); ok {
			n.describeHandle(object, shown)
			continue
		}
		shown.Internal = true
		if uv.Kind != libuv.Timer {
			continue
		}
		if env, ok := n.environmentOf(uv.Addr); ok {
			timers, whole := n.timers(env, uv)
			slices.SortStableFunc(timers, func(a, b profile.Handle) int { return cmp.Compare(a.In, b.In) })
			if all = append(all, timers...); whole {
				all[i].Kind = ""
			}
			all = append(all, n.pending(env)...)
		}
	}
	return all
}

// describeHandle says whose handle the object is: the object that a program has of it refers to it and is referred to.
func (n *inNode) describeHandle(object mem.Addr, to *profile.Handle) {
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
func (n *inNode) signalListeners(object mem.Addr, signal string) []profile.Call {
	emit, _ := n.PropertyOf(object, "onsignal")
	_, on, _ := n.BoundTo(emit)
	if emitter, ok := n.IsReceiver(on); ok {
		return n.listeners(emitter, signal)
	}
	return nil
}

// listeners are the functions of the program that an EventEmitter calls, those of one event or, for "", of all.
func (n *inNode) listeners(emitter mem.Addr, event string) []profile.Call {
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
func (n *inNode) callbacks(object mem.Addr) []profile.Call {
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
func (n *inNode) call(event string, t heap.Tagged) (profile.Call, bool) {
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
func (n *inNode) function(event string, a mem.Addr) (profile.Call, bool) {
	shared, err := n.FunctionAt(a)
	if err != nil {
		return profile.Call{}, false
	}
	f, err := n.describe(shared, n.View)
	if err != nil {
		return profile.Call{}, false
	}
	c := profile.Call{Event: event, Func: f.shown()}
	start := f.start
	if name, at, ok := n.Uncompiled(shared); ok {
		if start = at; f.name == "" && name != "" {
			c.Func = name
		}
	}
	if f.script != nil {
		at := n.where(f.script, start, n.View)
		c.File, c.Line = at.file, at.line
	}
	return c, true
}

// timers are those of the Environment at a, which the handle uv serves: lists of those that take equally long, in a
// queue by when they end. It is whole if there is nothing else that the handle could be for.
func (n *inNode) timers(env mem.Addr, uv *libuv.Handle) (timers []profile.Handle, whole bool) {
	process, ok := n.processTimers(env)
	if !ok {
		return nil, false
	}
	lists, ok := n.timerLists(process)
	if !ok {
		return nil, false
	}
	base, known := n.timerBase(env, uv, lists)
	for _, l := range lists {
		expiry, ok := n.numberOf(l, "expiry")
		due := base + duration(expiry)
		for _, t := range n.listed(l) {
			if len(timers) == maxTimers {
				return timers, false
			}
			timer := n.timer(t)
			timer.In, timer.HasIn = due, known && ok
			timers = append(timers, timer)
		}
	}
	return timers, true
}

// timerLists are the TimersLists of the queue that closures of the file of timers share.
func (n *inNode) timerLists(process mem.Addr) ([]mem.Addr, bool) {
	const depth = 4
	contexts, _ := n.Context(process, depth)
	for _, words := range contexts {
		for _, w := range words {
			queue, ok := n.IsReceiver(w)
			if !ok {
				continue
			}
			if class, _ := n.ClassOf(queue); class != "PriorityQueue" {
				continue
			}
			return n.queued(queue), true
		}
	}
	return nil, false
}

// queued are the elements of a PriorityQueue: a heap in an array, of which the first is not used.
// Source: lib/internal/priority_queue.js of Node.js.
func (n *inNode) queued(queue mem.Addr) (lists []mem.Addr) {
	_ = n.Properties(queue, func(k heap.Key, v heap.Tagged) bool {
		all, err := n.Elements(v, 1<<20)
		if err != nil {
			return true
		}
		for _, w := range all {
			if a, ok := n.IsReceiver(w); ok && len(lists) < maxTimers {
				lists = append(lists, a)
			}
		}
		return false
	})
	return lists
}

// listed are the Timeouts of a TimersList, whose next and previous ones they are.
// Source: lib/internal/linkedlist.js of Node.js.
func (n *inNode) listed(list mem.Addr) (timers []mem.Addr) {
	const next = "_idleNext"
	for at := list; len(timers) < maxTimers; {
		w, ok := n.PropertyOf(at, next)
		a, ok2 := n.IsReceiver(w)
		if !ok || !ok2 || a == list {
			break
		}
		timers = append(timers, a)
		at = a
	}
	return timers
}

func (n *inNode) numberOf(object mem.Addr, name string) (float64, bool) {
	w, ok := n.PropertyOf(object, name)
	if !ok {
		return 0, false
	}
	return n.Number(w)
}

// duration is a time of Node.js, ms.
func duration(ms float64) time.Duration {
	const most = float64(math.MaxInt64 / int64(time.Millisecond) / 4)
	if ms != ms || ms > most || ms < -most {
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// timer describes the Timeout at a.
func (n *inNode) timer(a mem.Addr) profile.Handle {
	t := profile.Handle{Kind: libuv.Timer, FD: -1, Keeps: true}
	t.Object, _ = n.ClassOf(a)
	_ = n.Properties(a, func(k heap.Key, v heap.Tagged) bool {
		switch {
		case k.Name == "_onTimeout":
			t.Calls = n.whenDue(v)
		case k.Name == "_repeat":
			if ms, ok := n.Number(v); ok {
				t.Every = duration(ms)
			}
		case k.Symbol && k.Name == "refed":
			if keeps, ok := n.Bool(v); ok {
				t.Keeps = keeps
			}
		}
		return true
	})
	return t
}

// whenDue is the function that t refers to, or, if that settles a promise, the async functions that go on then.
func (n *inNode) whenDue(t heap.Tagged) []profile.Call {
	a, ok := n.IsReceiver(t)
	if !ok {
		return nil
	}
	generators, _ := n.AwaitingCall(a)
	var calls []profile.Call
	for _, g := range generators[:min(len(generators), maxCalls)] {
		call, err := n.Suspended(g)
		if err != nil {
			break
		}
		f, err := n.describe(call.Shared, n.View)
		if err != nil {
			break
		}
		c := profile.Call{Func: f.shown(), Async: true}
		if f.script != nil {
			at := n.where(f.script, call.Offset, n.View)
			c.File, c.Line = at.file, at.line
		}
		calls = append(calls, c)
	}
	if len(calls) > 0 {
		return calls
	}
	if c, ok := n.call("", t); ok {
		return []profile.Call{c}
	}
	return nil
}

// timerBase is when the clock that timers count by was 0, by the clock of the loop: a word of the Environment. It is
// known where the handle is set to the first timer of the queue, as it is but for timers that were taken back.
func (n *inNode) timerBase(env mem.Addr, uv *libuv.Handle, lists []mem.Addr) (time.Duration, bool) {
	words := n.block(env, environmentSpan)
	for _, l := range lists {
		expiry, ok := n.numberOf(l, "expiry")
		base := uv.Due - duration(expiry)
		if !ok || base <= 0 {
			continue
		}
		for _, w := range words {
			if w == uint64(base/time.Millisecond) {
				return base, true
			}
		}
	}
	return 0, false
}

// pending are the requests of the Environment at a that the kernel or another thread works on.
func (n *inNode) pending(env mem.Addr) (out []profile.Handle) {
	queue, ok := n.offset(n.requests)
	place, ok2 := n.offset(n.request)
	next, ok3 := n.offset(n.next)
	if !ok || !ok2 || !ok3 {
		return nil
	}
	head := env + queue
	for at := head; len(out) < maxTimers; {
		w, err := n.Word(at, int32(next))
		if at = mem.Addr(w); err != nil || at == head || at == 0 {
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
func (n *inNode) requested(object mem.Addr) string {
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
