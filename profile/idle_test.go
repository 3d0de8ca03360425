package profile

import "testing"

// TestIdleKind: a helper that waits for work is told from one that works, that waits for somebody, or of which it is
// not sure what it does.
func TestIdleKind(t *testing.T) {
	stack := func(names ...string) Stack {
		s := Stack{Complete: true}
		for _, name := range names {
			s.Frames = append(s.Frames, Frame{Func: name})
		}
		return s
	}
	pool := stack("futex_wait", "pthread_cond_wait", "uv_cond_wait", "worker")
	pool.Frames[3].File = "/deps/uv/src/threadpool.c"
	unsure := stack("pthread_cond_wait", "rayon_core::sleep::Sleep::sleep")
	unsure.Frames[0].Unsure = true
	own := stack("pthread_cond_wait", "uv_cond_wait", "worker")
	for _, c := range []struct {
		name   string
		thread Thread
		want   string
	}{
		{"a worker of V8", Thread{State: "S", Stack: stack("pthread_cond_wait",
			"node::(anonymous namespace)::PlatformWorkerThread")}, "V8 workers"},
		{"it computes", Thread{State: "R", Stack: stack("node::(anonymous namespace)::PlatformWorkerThread")}, ""},
		{"the pool of libuv", Thread{State: "S", Stack: pool}, "libuv pool"},
		{"a worker of the program", Thread{State: "S", Stack: own}, ""},
		{"it waits for a lock that somebody has", Thread{State: "S", Wait: &Wait{Mode: WaitOne, Sort: SortLock},
			Stack: stack("__lll_lock_wait", "rayon_core::sleep::Sleep::sleep")}, ""},
		{"a lock without an owner", Thread{State: "S", Wait: &Wait{Mode: WaitAny, Sort: SortLock},
			Stack: stack("__lll_lock_wait", "rayon_core::sleep::Sleep::sleep")}, ""},
		{"not sure", Thread{State: "S", Stack: unsure}, ""},
		{"its runtime says so", Thread{State: "S", Idle: "Java thread pool"}, "Java thread pool"},
		{"its wait says so", Thread{State: "S", Wait: &Wait{Mode: WaitIdle, Name: ".NET thread pool"}},
			".NET thread pool"},
		{"its name says so", Thread{State: "S", Name: "jemalloc_bg_thd", Wait: &Wait{Sort: SortCondition}}, "jemalloc"},
		{"its name, and it waits for a lock", Thread{State: "S", Name: "gmain",
			Wait: &Wait{Mode: WaitOne, Sort: SortLock}}, ""},
		{"it died", Thread{State: "S", Idle: "x", Signal: &SignalInfo{}}, ""},
		{"it was not stopped", Thread{State: "S", Idle: "x", NotStopped: "traced"}, ""},
		{"a loop with a handle", Thread{State: "S", Loop: &Loop{Handles: []Handle{{Kind: "tcp"}}},
			Stack: stack("node::WorkerThreadsTaskRunner::DelayedTaskScheduler::Start")}, ""},
		{"a loop of which not all is known", Thread{State: "S", Loop: &Loop{Problem: "cut"},
			Stack: stack("node::WorkerThreadsTaskRunner::DelayedTaskScheduler::Start")}, ""},
		{"a loop without work", Thread{State: "S", Loop: &Loop{Handles: []Handle{{Kind: "async", Internal: true}}},
			Stack: stack("node::WorkerThreadsTaskRunner::DelayedTaskScheduler::Start")}, "V8 workers"},
	} {
		if got := c.thread.IdleKind(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
