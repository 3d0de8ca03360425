package profile

import "strings"

// idleKind is a function that a thread is in while it is idle, and what a person calls such threads.
type idleKind struct {
	in   string // how the name of the function begins
	kind string
}

// idleKinds are functions in which threads of runtimes and libraries wait for work to come. A thread that has work is
// in functions further in than what waits.
// Source: node src/node_platform.cc, src/inspector_agent.cc; libuv src/threadpool.c; CoreCLR vm/finalizerthread.cpp,
// vm/tieredcompilation.cpp; jemalloc src/background_thread.c; GLib gthreadpool.c; libgomp team.c; OpenBLAS
// driver/others/blas_server.c; tokio runtime/scheduler/multi_thread/worker.rs.
var idleKinds = []idleKind{
	{"node::(anonymous namespace)::PlatformWorkerThread", "V8 workers"},
	{"node::WorkerThreadsTaskRunner::DelayedTaskScheduler", "V8 workers"},
	{"v8::platform::DefaultWorkerThreadsTaskRunner::WorkerThread::Run", "V8 workers"},
	{"node::inspector::(anonymous namespace)::StartIoThreadMain", "inspector"},
	{"uv__threadpool_worker", "libuv pool"},
	{"FinalizerThread::WaitForFinalizerEvent", ".NET runtime"},
	{"FinalizerThread::FinalizerThreadWorker", ".NET runtime"},
	{"TieredCompilation::BackgroundWorker", ".NET runtime"}, {"TieredCompilationBackgroundWorker", ".NET runtime"},
	{"ds_ipc_stream_factory_get_next_available_stream", ".NET runtime"}, {"SignalHandlerLoop", ".NET runtime"},
	{"CorUnix::CPalSynchronizationManager::WorkerThread", ".NET runtime"},
	{"background_thread_entry", "jemalloc"}, {"je_background_thread_entry", "jemalloc"},
	{"bioProcessBackgroundJobs", "bio"}, {"g_thread_pool_wait_for_new_task", "GLib pool"},
	{"gomp_thread_start", "OpenMP"}, {"__kmp_fork_barrier", "OpenMP"}, {"blas_thread_server", "OpenBLAS"},
	{"tokio::runtime::scheduler::multi_thread::worker::Context::park", "tokio workers"},
	{"tokio::runtime::blocking::pool::Inner::run", "tokio pool"}, {"rayon_core::sleep::Sleep::sleep", "rayon pool"},
}

// idleNames are names that libraries give to threads of theirs which wait for events or work. Source: jemalloc
// src/background_thread.c; GLib gio/gdbusprivate.c, glib/gmain.c, glib/gthreadpool.c.
var idleNames = map[string]string{"jemalloc_bg_thd": "jemalloc", "gmain": "GLib loop", "gdbus": "GLib loop",
	"pool-spawner": "GLib pool"}

// maxIdleDepth is how many of the innermost frames are looked at: those that wait are below the function of the pool.
const maxIdleDepth = 8

// IdleKind is what sort of idle thread t is, as a person counts them: "V8 workers". It is "" for one that does
// something for the process, is not asleep, or waits for somebody whom it is known to wait for.
func (t *Thread) IdleKind() string {
	switch {
	case t.Signal != nil || t.NotStopped != "" || t.Loop.serves():
		return ""
	case t.Idle != "":
		return t.Idle
	case t.State != "S" || t.Wait != nil && (t.Wait.Mode == WaitOne || t.Wait.Sort == SortLock):
		return ""
	}
	for i := range t.Stack.Frames[:min(len(t.Stack.Frames), maxIdleDepth)] {
		f := &t.Stack.Frames[i]
		if f.Kind.Made() || f.Unsure || f.Gap {
			return ""
		}
		if kind := idleIn(f); kind != "" {
			return kind
		}
	}
	switch {
	case t.Wait == nil:
		return ""
	case t.Wait.Mode == WaitIdle:
		return t.Wait.Name
	case t.Wait.Sort == SortCondition || t.Wait.Sort == SortSet:
		return idleNames[t.Name]
	}
	return ""
}

func idleIn(f *Frame) string {
	if f.Func == "worker" && strings.HasSuffix(f.File, "threadpool.c") { // of libuv: its name is that of many
		return "libuv pool"
	}
	for _, k := range idleKinds {
		if strings.HasPrefix(f.Func, k.in) {
			return k.kind
		}
	}
	return ""
}
