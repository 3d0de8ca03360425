package hang

import (
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// executor is a case of a program whose one thread waits in an executor for those tasks, of which task n is in a
// function of its own at line n.
func executor(tasks ...profile.Fiber) *Case {
	c := blockedOn(profile.Wait{Sort: profile.SortLock, Kind: "Rust Condvar", Mode: profile.WaitAny,
		Text: "waits for Rust Condvar 0x10"})
	for i := range c.Moments {
		d := c.Moments[i].Dumps[0]
		d.Threads[0].Stack.Frames = []profile.Frame{{Func: "tokio::runtime::park::Inner::park", File: "/x/park.rs"},
			{Func: "shop::main", File: "/srv/main.rs", Line: 1}}
		d.Fibers = append([]profile.Fiber{}, tasks...)
		for k := range d.Fibers {
			f := &d.Fibers[k]
			f.Kind, f.Stack = profile.AsyncTask, k
			d.FiberStacks = append(d.FiberStacks, profile.FiberStack{Stack: profile.Stack{Complete: true,
				Frames: []profile.Frame{{Func: "shop::task", File: "/srv/main.rs", Line: int(f.ID)}}}})
		}
	}
	return c
}

// lock is a task that waits for a lock that others have.
func lock(id, object uint64, by ...uint64) profile.Fiber {
	return profile.Fiber{ID: id, Wait: profile.FiberLock, Object: object, HeldBy: by,
		State: "awaits a Mutex, held by 9"}
}

// TestTaskDeadlock: tasks that wait for what each other has are a deadlock, and nothing less is: neither where a timer
// lets one go on, nor where another may have what is waited for too, nor where it was another thing before.
func TestTaskDeadlock(t *testing.T) {
	of := func(f profile.Fiber, wait profile.FiberWait) profile.Fiber { f.Wait = wait; return f }
	timed := lock(5, 0x20, 4)
	timed.Timed = true
	joined := lock(7, 0x30, 6)
	joined.AwaitedBy = []uint64{6}
	joins := profile.Fiber{ID: 6, Wait: profile.FiberFuture, Object: 0x700, State: "awaits a task"}
	joinsOneOf := joins
	joinsOneOf.Object = 0
	for _, row := range []struct {
		name  string
		tasks []profile.Fiber
		want  string // "" for no deadlock
		moved bool   // it waited for another thing at the first moment
	}{
		{"two", []profile.Fiber{lock(4, 0x10, 5), lock(5, 0x20, 4)},
			"deadlock: 2 async tasks wait for each other, in shop::task (main.rs:4) and shop::task (main.rs:5)", false},
		{"itself", []profile.Fiber{lock(4, 0x10, 4)}, "deadlock: async task 4 waits for itself", false},
		{"channels",
			[]profile.Fiber{of(lock(4, 0x10, 5), profile.FiberSend), of(lock(5, 0x20, 4), profile.FiberFuture)},
			"deadlock: 2 async tasks", false},
		{"the end of one", []profile.Fiber{joins, joined}, "deadlock: 2 async tasks", false},
		{"one of several", []profile.Fiber{joinsOneOf, joined}, "", false},
		{"behind others", []profile.Fiber{lock(3, 0x10, 5), lock(4, 0x10, 5), lock(5, 0x20, 4)},
			"deadlock: 2 async tasks wait for each other, in shop::task (main.rs:5) and shop::task (main.rs:4)", false},
		{"a time", []profile.Fiber{lock(4, 0x10, 5), timed}, "", false},
		{"permits", []profile.Fiber{of(lock(4, 0x10, 5), profile.FiberCond), lock(5, 0x20, 4)}, "", false},
		{"senders", []profile.Fiber{of(lock(4, 0x10, 4), profile.FiberReceive)}, "", false},
		{"no owner", []profile.Fiber{lock(4, 0x10), lock(5, 0x20, 4)}, "", false},
		{"another before", []profile.Fiber{lock(4, 0x10, 5), lock(5, 0x20, 4)}, "", true},
	} {
		c := executor(row.tasks...)
		if row.moved {
			c.Moments[0].Dumps[0].Fibers[0].Object = 0x90
		}
		v := Judge(c)
		if (v.Kind == Deadlock) != (row.want != "") || !strings.Contains(v.Sentence, row.want) {
			t.Errorf("%s: %s: %q, want %q", row.name, v.Kind, v.Sentence, row.want)
		}
		if row.want != "" && (v.Culprit == nil || v.Culprit.Frame == nil || v.Culprit.Frame.Func != "shop::task") {
			t.Errorf("%s: culprit %+v", row.name, v.Culprit)
		}
	}
}

// TestHolder: who waits for what a task has is named with that task; a program that serves does not hang for it, and
// one whose tasks wait for a time goes on.
func TestHolder(t *testing.T) {
	holder := profile.Fiber{ID: 9, Wait: profile.FiberReceive, Object: 0x50, State: "awaits a sender of a channel"}
	waiting := []profile.Fiber{lock(2, 0x10, 9), lock(3, 0x10, 9), lock(4, 0x40, 9), holder}
	v := Judge(executor(waiting...))
	const want = "waits for 2 async tasks in shop::task [awaits a Mutex, held by 9], which is in " +
		"shop::task (main.rs:9) [awaits a sender of a channel]"
	if v.Kind != Waiting || !strings.Contains(v.Sentence, want) || v.Culprit.Frame.Line != 9 {
		t.Errorf("%s: %q, culprit %+v, want %q", v.Kind, v.Sentence, v.Culprit, want)
	}

	c := executor(waiting...)
	for i := range c.Moments {
		m := &c.Moments[i]
		d := m.Dumps[0]
		d.Threads = append(d.Threads, profile.Thread{TID: 8, State: "S", Wait: &profile.Wait{Sort: profile.SortSet,
			Mode: profile.WaitOutside, Listens: true}})
		m.Counters[8] = m.Counters[7]
	}
	v = Judge(c)
	if all := strings.Join(v.Because, "\n"); v.Kind != Unknown ||
		!strings.Contains(v.Sentence, "waits for connections") ||
		!strings.Contains(all, "2 async tasks in shop::task [awaits a Mutex, held by 9], which is in shop::task (") {
		t.Errorf("a server: %s: %q, because %q", v.Kind, v.Sentence, v.Because)
	}

	sleeps := profile.Fiber{ID: 9, Wait: profile.FiberTimer, State: "awaits a timer", Waits: time.Second}
	v = Judge(executor(lock(2, 0x10, 9), sleeps))
	if v.Kind != Unknown || !strings.Contains(v.Sentence, "waits for async functions, and these for a time") {
		t.Errorf("the holder sleeps: %s: %q", v.Kind, v.Sentence)
	}
}

// TestExecutors: a thread in an executor of C++ waits for the coroutines that it runs, in none of the user's functions.
func TestExecutors(t *testing.T) {
	for _, name := range executors {
		c := executor(profile.Fiber{ID: 9, Wait: profile.FiberNet, State: "awaits a socket"})
		for i := range c.Moments {
			d := c.Moments[i].Dumps[0]
			d.Threads[0].Stack.Frames[0].Func = name + "scheduler::run"
			d.Fibers[0].Kind = profile.AsyncCall
		}
		v := Judge(c)
		if !strings.Contains(v.Sentence, "shop::task (main.rs:9) [awaits a socket]") || v.Culprit.Frame.Line != 9 {
			t.Errorf("%s: %s: %q, culprit %+v", name, v.Kind, v.Sentence, v.Culprit)
		}
	}
}
