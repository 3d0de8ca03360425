package hang

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// waitingNode is a case of a program whose one thread waits in an event loop, with async functions that wait: for a
// timer, for others, and two that nobody lets go on.
func waitingNode(listens bool) *Case {
	c := blockedOn(profile.Wait{Sort: profile.SortSet, Mode: profile.WaitOutside, Listens: listens,
		Text: "waits for events"})
	at := func(function, file string, line int) profile.FiberStack {
		return profile.FiberStack{Stack: profile.Stack{Complete: true, Frames: []profile.Frame{
			{Func: "inner", File: "node:internal/x", Line: 1, Kind: profile.JavaScript},
			{Func: function, File: file, Line: line, Kind: profile.JavaScript}}}}
	}
	for i := range c.Moments {
		d := c.Moments[i].Dumps[0]
		d.Threads[0].Loop = &profile.Loop{}
		d.Threads[0].Stack.Frames = nil
		d.FiberStacks = []profile.FiberStack{at("ticks", "/srv/a.js", 1), at("loads", "/srv/a.js", 2),
			at("handle", "/srv/a.js", 3), at("all", "/srv/a.js", 4)}
		d.Fibers = []profile.Fiber{
			{Kind: profile.AsyncCall, ID: 1, Stack: 0, Wait: profile.FiberTimer, State: "awaits a timer"},
			{Kind: profile.AsyncCall, ID: 2, Stack: 1, Wait: profile.FiberFuture, State: "awaits a promise"},
			{Kind: profile.AsyncCall, ID: 3, Stack: 2, Wait: profile.FiberNobody, State: "awaits nothing",
				AwaitedBy: []uint64{5}},
			{Kind: profile.AsyncCall, ID: 4, Stack: 2, Wait: profile.FiberNobody, State: "awaits nothing"},
			{Kind: profile.AsyncCall, ID: 5, Stack: 3, Wait: profile.FiberFuture, State: "awaits others"},
			{Kind: profile.AsyncCall, ID: 6, Stack: 2, Wait: profile.FiberNobody, State: "of node", System: true},
		}
	}
	return c
}

// TestAsyncCalls: what async functions of an event loop wait for is in the sentence, with the place of the first that
// nobody lets go on; a server does not hang for it.
func TestAsyncCalls(t *testing.T) {
	for _, listens := range []bool{false, true} {
		v := Judge(waitingNode(listens))
		const want = "2 async calls in handle (a.js:3) for all (a.js:4) [awaits nothing]"
		if !strings.Contains(v.Sentence, want) {
			t.Errorf("listens %t: %q, want %q in it", listens, v.Sentence, want)
		}
		if (v.Kind == Waiting) == listens {
			t.Errorf("listens %t: %v", listens, v.Kind)
		}
		if v.Culprit == nil || v.Culprit.Frame == nil || v.Culprit.Frame.Func != "handle" {
			t.Errorf("listens %t: culprit %+v", listens, v.Culprit)
		}
	}
}

// TestAsyncCallsElsewhere: where somebody else is to blame, what nobody lets go on is said below.
func TestAsyncCallsElsewhere(t *testing.T) {
	c := waitingNode(false)
	for i := range c.Moments {
		d := c.Moments[i].Dumps[0]
		d.Threads[0].Loop = nil // it waits for another machine
		d.Threads[0].Wait = &profile.Wait{Sort: profile.SortSocketData, Mode: profile.WaitOutside,
			Peer: "10.0.0.7:5432"}
	}
	v := Judge(c)
	if all := strings.Join(v.Because, "\n"); !strings.Contains(all, "2 async calls in handle (a.js:3)") {
		t.Errorf("%q, because %q", v.Sentence, all)
	}
}

// TestRequests: what requests wait for that a server is to answer is said with it, also of a branch of one, and what
// others wait for below. What nobody asked for is not.
func TestRequests(t *testing.T) {
	const kestrel = "Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http.HttpProtocol.ProcessRequestsAsync<T>"
	stack := func(functions ...string) (s profile.FiberStack) {
		for _, name := range functions {
			s.Stack.Frames = append(s.Stack.Frames, profile.Frame{Func: name, Kind: profile.DotNet})
		}
		return s
	}
	c := blockedOn(profile.Wait{Sort: profile.SortSet, Mode: profile.WaitOutside, Listens: true,
		Text: "waits for connections"})
	for i := range c.Moments {
		d := c.Moments[i].Dumps[0]
		d.FiberStacks = []profile.FiberStack{stack("Shop.Works"), stack("Shop.Row"),
			stack("Shop.Both", kestrel), stack("Shop.Row", "Shop.Both", kestrel), stack("Shop.Row", "Shop.Both",
				"System.Between", kestrel), stack("Shop.Row", "Shop.Other", kestrel)}
		d.Fibers = []profile.Fiber{
			{Kind: profile.AsyncCall, ID: 1, Stack: 0, Wait: profile.FiberFuture, State: "awaits a result"},
			{Kind: profile.AsyncCall, ID: 2, Stack: 1, Wait: profile.FiberFuture, State: "awaits a result",
				AwaitedBy: []uint64{3}},
			{Kind: profile.AsyncCall, ID: 3, Stack: 2, Wait: profile.FiberFuture, State: "awaits all"},
		}
	}
	const branch = "waits for connections; 1 async call in Shop.Row for Shop.Both [awaits a result]"
	v := Judge(c)
	if all := strings.Join(v.Because, "\n"); !strings.Contains(v.Sentence, branch) || v.Kind != Unknown ||
		strings.Contains(v.Sentence+all, "Shop.Works") || strings.Contains(all, "async call in") {
		t.Errorf("%s: %q, %q", v.Kind, v.Sentence, all)
	}
	if v.Culprit == nil || v.Culprit.Frame == nil || v.Culprit.Frame.Func != "Shop.Row" {
		t.Errorf("culprit %+v", v.Culprit)
	}
	for i := range c.Moments {
		d := c.Moments[i].Dumps[0]
		for k := range 3 { // two of the same way, and another
			d.Fibers[k] = profile.Fiber{Kind: profile.AsyncCall, ID: uint64(k), Stack: 3 + k,
				Wait: profile.FiberFuture, State: "awaits a result"}
		}
	}
	const two = "2 async calls in Shop.Row for Shop.Both [awaits a result]"
	const other = "1 async call in Shop.Row for Shop.Other [awaits a result]"
	v = Judge(c)
	if all := strings.Join(v.Because, "\n"); !strings.Contains(v.Sentence, two) || !strings.Contains(all, other) {
		t.Errorf("%q, %q, want %q and %q", v.Sentence, all, two, other)
	}
}

// TestTaskOfAThread: a thread that waits for a task goes on when the async functions do that wait for no other: these
// are named, with whom they keep. Where they wait for a time, where a timer may set what they wait for, and where a
// host waits to be ended, it does not hang. What the runtime has for itself is no matter.
func TestTaskOfAThread(t *testing.T) {
	call := func(wait profile.FiberWait, state string, functions ...string) (profile.Fiber, profile.FiberStack) {
		s := profile.FiberStack{}
		for i, name := range functions {
			s.Stack.Frames = append(s.Stack.Frames, profile.Frame{Func: name, File: "/srv/a.cs", Line: i + 1,
				Kind: profile.DotNet})
		}
		return profile.Fiber{Kind: profile.AsyncCall, Wait: wait, State: state}, s
	}
	source := []string{"Shop.FetchRow", "Shop.Load", "Shop.Checkout"}
	const kestrel = "Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http.HttpProtocol.ProcessRequestsAsync<T>"
	for _, row := range []struct {
		name   string
		wait   profile.FiberWait
		stack  []string
		timer  bool
		kind   Kind
		want   string
		shared bool // another one waits for a time
		by     []string
	}{
		{"nobody sets it", profile.FiberFuture, source, false, Waiting,
			"waits for 1 async call in Shop.FetchRow (a.cs:1) for Shop.Checkout (a.cs:3) [awaits a result]", false,
			nil},
		{"a branch of several", profile.FiberFuture, source[:1], false, Waiting,
			"waits for 1 async call in Shop.FetchRow (a.cs:1) for Shop.Checkout (a.cs:2) [awaits a result]", false,
			[]string{"Shop.Both", "Shop.Checkout"}},
		{"beside a heartbeat", profile.FiberFuture, source, true, Waiting, "[awaits a result]", true, nil},
		{"a timer may set it", profile.FiberFuture, source, true, Unknown, "which a timer of its own may end", false,
			nil},
		{"it sleeps", profile.FiberTimer, source, true, Unknown, "waits for async functions, and these for a time",
			false, nil},
		{"a host", profile.FiberFuture, []string{
			"Microsoft.Extensions.Hosting.HostingAbstractionsHostExtensions.WaitForShutdownAsync (async)", "Shop.Main"},
			false, Unknown, "waits for a signal that ends it", false, nil},
		{"a host with a request", profile.FiberFuture, append(source, kestrel), false, Unknown,
			"waits for a signal that ends it; 1 async call in Shop.FetchRow (a.cs:1) for Shop.Checkout (a.cs:3) " +
				"[awaits a result]", false, []string{
				"Microsoft.Extensions.Hosting.HostingAbstractionsHostExtensions.WaitForShutdownAsync (async)"}},
	} {
		c := blockedOn(profile.Wait{Sort: profile.SortTask, Kind: "a task", Mode: profile.WaitAny,
			Text: "waits for a task"})
		for i := range c.Moments {
			m := &c.Moments[i]
			d := m.Dumps[0]
			f, s := call(row.wait, "awaits a result", row.stack...)
			f.ID = 1
			d.Fibers, d.FiberStacks = []profile.Fiber{f}, []profile.FiberStack{s}
			if row.by != nil {
				by, s := call(profile.FiberFuture, "awaits all of several tasks", row.by...)
				by.ID, by.Stack, d.Fibers[0].AwaitedBy = 5, 1, []uint64{5}
				d.Fibers, d.FiberStacks = append(d.Fibers, by), append(d.FiberStacks, s)
			}
			if row.shared {
				f, s := call(profile.FiberTimer, "awaits a timer", "Shop.Beat")
				f.ID, f.Stack = 2, 1
				d.Fibers, d.FiberStacks = append(d.Fibers, f), append(d.FiberStacks, s)
			}
			own := []profile.Thread{
				{TID: 8, Name: ".NET EventPipe", Wait: &profile.Wait{Sort: profile.SortWork, Mode: profile.WaitIdle,
					Listens: true}},
				{TID: 9, Name: ".NET DebugPipe", Wait: &profile.Wait{Sort: profile.SortOpen,
					Mode: profile.WaitOutside, Text: "waits for somebody to open the other end of a FIFO"}}}
			if row.timer {
				own = append(own, profile.Thread{TID: 10, Name: ".NET Timer", Wait: &profile.Wait{
					Sort: profile.SortTimers, Mode: profile.WaitIdle, Timed: true, Left: time.Second}})
			}
			for k := range own {
				own[k].State = "S"
				m.Counters[own[k].TID] = m.Counters[7]
			}
			d.Threads = append(d.Threads, own...)
		}
		v := Judge(c)
		if v.Kind != row.kind || !strings.Contains(v.Sentence, row.want) {
			t.Errorf("%s: %s: %q, want %s: %q", row.name, v.Kind, v.Sentence, row.kind, row.want)
		}
		if v.Kind == Waiting && (v.Culprit.TID != 7 || v.Culprit.Frame == nil ||
			v.Culprit.Frame.Func != "Shop.FetchRow") {
			t.Errorf("%s: culprit %+v", row.name, v.Culprit)
		}
	}
}

// TestTasksWaitForALock: of tasks of asyncio that wait for a lock none is blamed while another may have it, and none
// waits for ever while another sleeps; alone, the sentence says that nobody is known to have it.
func TestTasksWaitForALock(t *testing.T) {
	for i, row := range []struct{ other, want string }{
		{"inner", `task "last" [waits for a future] in refill`},
		{"sleep", "(7), which waits for events"},
		{"", `: task "first" [waits for a lock of asyncio, and who has it is not known] in checkout`},
	} {
		acquire := []string{"Lock.acquire", "Semaphore.acquire", "acquire"}[i] // before 3.11 without the class
		c := waitingNode(false)
		for i := range c.Moments {
			d := c.Moments[i].Dumps[0]
			d.Threads[0].Loop = nil
			at := func(inner, file, own string) profile.FiberStack {
				return profile.FiberStack{Stack: profile.Stack{Complete: true, Frames: []profile.Frame{
					{Func: inner, File: "/usr/lib/python3.13/asyncio/" + file, Kind: profile.Python},
					{Func: own, File: "/srv/a.py", Kind: profile.Python}}}}
			}
			d.FiberStacks = []profile.FiberStack{at(acquire, "locks.py", "checkout"),
				at(row.other, "tasks.py", "refill")}
			task := func(id uint64, name string, stack int) profile.Fiber {
				return profile.Fiber{Kind: "task", ID: id, Name: name, Stack: stack, State: "waits for a future"}
			}
			d.Fibers = []profile.Fiber{task(1, "first", 0), task(2, "second", 0)}
			if row.other != "" {
				d.Fibers = append(d.Fibers, task(3, "last", 1))
			}
		}
		if v := Judge(c); !strings.Contains(v.Sentence, row.want) {
			t.Errorf("beside %q: got %q, want %q in it", row.other, v.Sentence, row.want)
		}
	}
}

// TestTaskHasLock: of tasks of asyncio the one that has a Lock is named, with how many wait for it; those of which each
// has what the next wants are a deadlock, unless a time ends a wait of theirs; one that sleeps is named as that, and
// where.
func TestTaskHasLock(t *testing.T) {
	at := func(inner, file, own string) profile.FiberStack {
		return profile.FiberStack{Stack: profile.Stack{Complete: true, Frames: []profile.Frame{
			{Func: inner, File: "/usr/lib/python3.13/asyncio/" + file, Kind: profile.Python},
			{Func: own, File: "/srv/a.py", Line: 4, Kind: profile.Python}}}}
	}
	wants := func(id, object, holder uint64) profile.Fiber {
		return profile.Fiber{Kind: profile.LoopTask, ID: id, Name: fmt.Sprintf("T%d", id), Wait: profile.FiberLock,
			Object: object, HeldBy: []uint64{holder}, State: "waits for a Lock", LoopTID: 7}
	}
	other := func(stack int) profile.Fiber {
		return profile.Fiber{Kind: profile.LoopTask, ID: 9, Name: "T9", Stack: stack, State: "waits for a future",
			LoopTID: 7}
	}
	timed := wants(2, 0x10, 1)
	timed.Timed = true
	for _, row := range []struct {
		name   string
		fibers []profile.Fiber
		kind   Kind
		want   string
		fiber  uint64
	}{
		{"holder", []profile.Fiber{wants(1, 0x10, 9), wants(2, 0x10, 9), other(1)}, Waiting,
			`has 1 task that waits, and none that could wake it: task "T9" [waits for a future, and has a Lock for ` +
				`which 2 tasks wait] in refill (a.py:4)`, 9},
		{"cycle", []profile.Fiber{wants(1, 0x20, 2), wants(2, 0x10, 1)}, Deadlock,
			`deadlock: 2 tasks wait for each other, in checkout (a.py:4) and checkout (a.py:4)`, 1},
		{"itself", []profile.Fiber{wants(1, 0x20, 1)}, Deadlock, `deadlock: task "T1" waits for itself`, 1},
		{"cycle with a limit", []profile.Fiber{wants(1, 0x20, 2), timed}, Unknown, "waits for events", 0},
		{"holder in a server", []profile.Fiber{wants(1, 0x10, 9), wants(2, 0x10, 9), other(1)}, Unknown,
			`waits for connections, and has 2 tasks that wait for a lock: task "T1" [waits for a Lock] in checkout`, 9},
		{"holder sleeps", []profile.Fiber{wants(1, 0x10, 9), other(2)}, Unknown,
			`has 1 task that sleeps, with the next timer due in at most 40.0 s: task "T9" in refill (a.py:4)`, 9},
	} {
		serves := row.name == "holder in a server"
		c := waitingNode(serves)
		for i := range c.Moments {
			d := c.Moments[i].Dumps[0]
			d.Threads[0].Loop = nil
			w := *d.Threads[0].Wait
			w.Mode, w.Set = profile.WaitAny, []profile.WaitPart{{Own: true}}
			w.Timed, w.Length = row.kind == Unknown && !serves, 40*time.Second
			d.Threads[0].Wait = &w
			d.FiberStacks = []profile.FiberStack{at("Lock.acquire", "locks.py", "checkout"),
				at("inner", "tasks.py", "refill"), at("sleep", "tasks.py", "refill")}
			d.Fibers = row.fibers
		}
		v := Judge(c)
		if v.Kind != row.kind || !strings.Contains(v.Sentence, row.want) {
			t.Errorf("%s: got %s: %q, want %s: %q in it", row.name, v.Kind, v.Sentence, row.kind, row.want)
		}
		if f := v.Culprit.Fiber; row.fiber != 0 && (f == nil || f.ID != row.fiber) {
			t.Errorf("%s: the culprit is %+v, want %d", row.name, v.Culprit.Fiber, row.fiber)
		}
	}
}
