package node

import (
	"cmp"
	"math"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/vm/libuv"
	"github.com/fpstack/fpstack/vm/v8/heap"
)

// timers are those of the Environment at a, which the handle uv serves: lists of those that take equally long, in a
// queue by when they end. It is whole if there is nothing else that the handle could be for.
func (n *reading) timers(env mem.Addr, uv *libuv.Handle) (timers []profile.Handle, whole bool) {
	process, ok := n.processTimers(env)
	if !ok {
		return nil, false
	}
	lists, ok := n.timerLists(process)
	if !ok {
		return nil, false
	}
	base, known := n.timerBase(env, uv, lists)
	n.sure(func() {
		for _, l := range lists {
			expiry, ok := n.numberOf(l, "expiry")
			due := base + duration(expiry)
			for _, t := range n.listed(l) {
				if len(timers) == maxTimers {
					n.many()
					return
				}
				timer := n.timer(t)
				timer.In, timer.HasIn = due, known && ok
				timers = append(timers, timer)
			}
		}
		whole = true
	})
	return timers, whole
}

// timerLists are the TimersLists of the queue that closures of the file of timers share.
func (n *reading) timerLists(process mem.Addr) ([]mem.Addr, bool) {
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
			var lists []mem.Addr
			n.sure(func() { lists = n.queued(queue) })
			return lists, true
		}
	}
	return nil, false
}

// queued are the elements of a PriorityQueue: a heap in an array, of which the first is not used.
// Source: lib/internal/priority_queue.js of Node.js.
func (n *reading) queued(queue mem.Addr) (lists []mem.Addr) {
	_ = n.Properties(queue, func(k heap.Key, v heap.Tagged) bool {
		all, err := n.Elements(v, 1<<20)
		if err != nil {
			return true
		}
		for _, w := range all {
			a, ok := n.IsReceiver(w)
			if ok && len(lists) == maxTimers {
				n.many()
				break
			}
			if ok {
				lists = append(lists, a)
			}
		}
		return false
	})
	return lists
}

// listed are the Timeouts of a TimersList, whose next and previous ones they are.
// Source: lib/internal/linkedlist.js of Node.js.
func (n *reading) listed(list mem.Addr) (timers []mem.Addr) {
	const next = "_idleNext"
	for at := list; ; {
		w, ok := n.PropertyOf(at, next)
		a, ok2 := n.IsReceiver(w)
		if !ok || !ok2 || a == list {
			break
		}
		if len(timers) == maxTimers {
			n.many()
			break
		}
		timers = append(timers, a)
		at = a
	}
	return timers
}

func (n *reading) numberOf(object mem.Addr, name string) (float64, bool) {
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
func (n *reading) timer(a mem.Addr) profile.Handle {
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
func (n *reading) whenDue(t heap.Tagged) []profile.Call {
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
		f, err := n.program.Function(call.Shared, n.View)
		if err != nil {
			n.err = cmp.Or(n.err, err)
			break
		}
		c := profile.Call{Func: f.Shown, Async: true}
		if f.Place != nil {
			f.Place(call.Offset, &c)
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
func (n *reading) timerBase(env mem.Addr, uv *libuv.Handle, lists []mem.Addr) (time.Duration, bool) {
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
