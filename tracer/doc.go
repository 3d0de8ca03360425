// Package tracer stops the threads of a running Linux process for a moment, copies what
// a stack walk needs, and lets them go.
//
// [Open] checks that a process can be inspected and keeps its files under /proc open, so
// that a reused process id is never taken for it. [Process.Snapshot] makes one stop:
// PTRACE_SEIZE, PTRACE_INTERRUPT, waitid, PTRACE_GETREGSET, a copy of the used part of
// each stack and of what each Copier asks for, PTRACE_DETACH. Memory that was not
// copied, mapped files and descriptors are read afterwards, while the process runs.
// [Process.Batches] does so for processes whose stacks are more than is to be held at once.
//
// A [Sampler] samples single threads again and again, for a sampler: [Sampler.Stop] makes the
// same stop of one thread without reading mappings or lists, and [Watch] keeps the files open
// that show without a stop whether a thread ran ([Watch.Counters]) and what a sleeper's stack
// holds ([Watch.Peek]). What decides when to sample, and whom, is the caller's.
//
// The caller provides a context that ends with SIGINT and SIGTERM: a cancelled context
// releases every thread within milliseconds. It must not reap children of its own by
// wait4(-1), and must not ignore SIGCHLD.
//
// It guarantees that a thread stopped by job control stays stopped, that a signal which
// arrives meanwhile is delivered once, also if this process is killed, and that no wait is
// without a bound. A thread that cannot be stopped is given up by the end of the OS thread
// that traces it; what /proc shows of it is reported instead of registers. A panic on one of
// its threads becomes an [osthread.FaultError]: it costs what was under way, and everything is let go.
//
// All ptrace requests are made by one OS thread that is never the main one, because the
// end of the main thread does not detach. That thread is placed by itself, wherever the Go scheduler begins it.
// While a stop lasts the garbage collector is held off, SIGCHLD has SA_NOCLDSTOP, and
// real-time signal 63 is used to end system calls, also PTRACE_SEIZE (see package breakable). A timer sends it; where
// none can be made a goroutine sends signal 16. Both are unblocked on the OS thread that traces, whatever mask this
// program inherited.
//
// Where to begin to read: engine.go and tracee.go stop a thread and let it go, for all. Files named target_ are the
// process as /proc shows it, and its memory and files: a [Process] is for several goroutines, and what they are not
// for says so. Files named dump_ are the one stop of a snapshot: they belong to the goroutine that asked, which waits
// while the OS thread of the Process works. Files named sampler_ and watch_ are a recording: a [Sampler] and its
// Watches belong to the goroutine that calls it. Below this package, ptrace has the requests, osthread the thread that
// makes them, breakable system calls that a signal ends, connector the kernel's news of births and ends.
//
// It is not for reading ELF, walking stacks or naming anything.
//
// Sources: ptrace(2), waitid(2), process_vm_readv(2), proc(5), linux/kernel/ptrace.c,
// linux/kernel/signal.c.
package tracer
