package report

import (
	"fmt"
	"strconv"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// Indices in the modules of redis().
const (
	server = 0
	libc   = 1
)

// native returns a frame of a named function; file may be "".
func native(index int, addr uint64, name string, offset uint64, file string, line, module int) profile.Frame {
	return profile.Frame{Index: index, Addr: addr, Func: name, Offset: offset, File: file, Line: line,
		Module: module, ModuleAddr: addr & 0xffffff, Origin: "cfi"}
}

func inlined(index int, name, file string, line int) profile.Frame {
	return profile.Frame{Index: index, Inlined: true, Func: name, File: file, Line: line, Module: server, Origin: "cfi"}
}

func complete(frames ...profile.Frame) profile.Stack {
	return profile.Stack{Frames: frames, Stop: "root", Complete: true}
}

// args returns arguments as shown; those that read as numbers have that value.
func args(texts ...string) []profile.Arg {
	list := make([]profile.Arg, len(texts))
	for i, s := range texts {
		list[i].Text = s
		if v, err := strconv.ParseUint(s, 0, 64); err == nil {
			list[i].Value = v
		}
	}
	return list
}

// one returns the dump of a process with a single thread in state S.
func one(stack profile.Stack) *profile.Dump {
	d := redis()
	d.Threads = d.Threads[:1]
	d.Threads[0].Stack = stack
	return d
}

// redis returns the dump of a server: an event loop with an inlined frame, and three workers
// with the same stack that wait for two futexes.
func redis() *profile.Dump {
	loop := complete(
		native(0, 0x7f3a1b2f0e26, "epoll_wait", 0x56, "", 0, libc),
		inlined(1, "aeApiPoll", "src/ae_epoll.c", 97),
		native(1, 0x55d0c1a2b3c4, "aeProcessEvents", 0x184, "src/ae.c", 347, server),
		native(2, 0x55d0c1a2b9cd, "aeMain", 0x1d, "src/ae.c", 490, server),
		native(3, 0x55d0c1a1f0aa, "main", 0x40a, "src/server.c", 7192, server),
	)
	loop.Frames[0].Interrupted, loop.Frames[0].Origin = true, "context"
	d := &profile.Dump{
		Process: profile.Process{PID: 4121, Comm: "redis-server",
			Cmdline: []string{"/usr/bin/redis-server *:6379", "", ""},
			Exe:     "/usr/bin/redis-check-rdb", Arch: "amd64"},
		Time:    time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC),
		Stopped: 210 * time.Microsecond,
		Modules: []profile.Module{
			{Path: "/usr/bin/redis-server", BuildID: "8f7c3e0d5b9a41c28f7c3e0d5b9a41c2aabbccdd", Base: 0x55d0c1a00000},
			{Path: "/usr/lib/x86_64-linux-gnu/libc.so.6", BuildID: "51657f818beb1ae70372216a99b7412b8a100a20",
				Base: 0x7f3a1b200000, Symbols: []string{".dynsym"}},
		},
		Threads: []profile.Thread{{TID: 4121, Name: "redis-server", State: "S", Stopped: 180 * time.Microsecond,
			Stack: loop,
			Syscall: &profile.Syscall{Number: 232, Name: "epoll_wait",
				Args: args("5", "0x55d0c2a01000", "10128", "100")}}},
	}
	for i, futex := range []string{"0x55d0c1d51028", "0x55d0c1d51058", "0x55d0c1d51058"} {
		d.Threads = append(d.Threads, worker(4122+i, "bio_close_file", futex))
	}
	return d
}

// worker returns a thread that waits for work at a futex.
func worker(tid int, name, futex string) profile.Thread {
	return profile.Thread{TID: tid, Name: name, State: "S", Stopped: 150 * time.Microsecond,
		Syscall: &profile.Syscall{Number: 202, Name: "futex",
			Args: args(futex, "FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME", "0", "NULL", "NULL", "4294967295")},
		Stack: complete(
			native(0, 0x7f3a1b27ed36, "__futex_abstimed_wait_common", 0xc6, "", 0, libc),
			native(1, 0x7f3a1b281468, "pthread_cond_wait@@GLIBC_2.3.2", 0x208, "", 0, libc),
			native(2, 0x55d0c1b01a2f, "bioProcessBackgroundJobs", 0x1af, "src/bio.c", 246, server),
			native(3, 0x7f3a1b282134, "start_thread", 0x304, "", 0, libc),
		)}
}

// crashed returns the dump of a core: the thread that the process died by, and two that wait.
func crashed() *profile.Dump {
	d := redis()
	d.Core, d.Stopped, d.Time, d.Exited, d.Late = true, 0, time.Time{}, 0, 0
	for i := range d.Threads {
		t := &d.Threads[i]
		t.Name, t.State, t.Wchan, t.Stopped, t.KernelStack = "", "", "", 0, nil
	}
	d.Threads[0].Syscall = nil
	d.Threads[0].Signal = &profile.SignalInfo{Number: 11, Name: "SIGSEGV", Code: 1, HasCode: true,
		Cause: "address not mapped", Addr: 0x10, HasAddr: true}
	return d
}

// goroutines returns the dump of a Go program: one goroutine on a thread, three that wait alike, though for different
// times, one whose stack is cut, one without, one of the runtime itself; and threads that have nothing to run.
func goroutines() *profile.Dump {
	at := func(index int, name string, addr uint64, line int) profile.Frame {
		return native(index, addr, name, addr&0xff, "/src/main.go", line, 0)
	}
	created := []profile.Frame{at(0, "main.main", 0x512020, 33)}
	d := &profile.Dump{
		Process: profile.Process{PID: 77, Comm: "server", Cmdline: []string{"./server"}, Exe: "/src/server",
			Arch: "amd64"},
		Time: time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC), Stopped: 3 * time.Millisecond,
		Modules: []profile.Module{{Path: "/src/server", Base: 0x400000}},
		Problems: []string{
			"2 of 9 goroutines are left out: they were not copied within the time and the memory for it"},
		Threads: []profile.Thread{
			{TID: 77, Name: "server", State: "R", Fiber: &profile.FiberID{Kind: "goroutine", ID: 1},
				Stack: complete(at(0, "main.main", 0x512010, 30), at(1, "runtime.goexit", 0x488a21, 1))},
			{TID: 78, Name: "server", State: "S", Idle: "Go threads without a goroutine",
				Stack: complete(at(0, "runtime.futex", 0x48aa10, 1))},
			{TID: 79, Name: "server", State: "S", Idle: "Go threads without a goroutine",
				Stack: complete(at(0, "runtime.futex", 0x48aa10, 1))},
		},
		FiberStacks: []profile.FiberStack{
			{},
			{Stack: complete(at(0, "runtime.gopark", 0x4820ce, 1), at(1, "main.receive", 0x511f40, 28)),
				CreatedBy: created},
			{Stack: profile.Stack{Frames: []profile.Frame{at(0, "main.lost", 0x511fa0, 40)}, Stop: "bad CFA",
				Detail: "CFA 0x30 lies outside of the stack 0x10-0x20"}, CreatedBy: created},
			{CreatedBy: []profile.Frame{at(0, "main.\x1b[31mforged", 0x512040, 50)}},
		},
	}
	d.Fibers = []profile.Fiber{
		{Kind: "goroutine", ID: 1, State: "running", TID: 77, Locked: true},
		{Kind: "goroutine", ID: 2, State: "force gc (idle)", System: true, Stack: 1, Creator: 1},
		{Kind: "goroutine", ID: 34, State: "chan receive", Stack: 1, Creator: 1, Waits: 3 * time.Minute},
		{Kind: "goroutine", ID: 35, State: "chan receive", Stack: 1, Creator: 1, Waits: 5*time.Minute + 59*time.Second},
		{Kind: "goroutine", ID: 37, State: "chan receive", Stack: 1, Creator: 34},
		{Kind: "goroutine", ID: 38, State: "select", Stack: 2, Creator: 1, Waits: 59 * time.Second},
		{Kind: "goroutine", ID: 39, State: "???\x1b[31m", Stack: 3, Missing: "its stack was not copied"},
	}
	return d
}

// tasks are those of a language that gives them names, of two loops.
func tasks() *profile.Dump {
	at := func(index int, name string, line int) profile.Frame {
		return profile.Frame{Index: index, Kind: profile.Python, Func: name, File: "/srv/app.py", Line: line,
			Module: -1, Origin: "runtime"}
	}
	d := one(complete(at(0, "blocked", 7)))
	d.Threads[0].Fiber = &profile.FiberID{Kind: "task", ID: 0x7f01, Name: "blocker"}
	d.FiberStacks = []profile.FiberStack{{}, {Stack: complete(at(0, "leaf", 3), at(1, "top", 9))}}
	tid := d.Threads[0].TID
	d.Fibers = []profile.Fiber{
		{Kind: "task", ID: 0x7f01, Name: "blocker", State: "running", TID: tid, LoopTID: tid},
		{Kind: "task", ID: 0x7f02, Name: "Task-1", State: "waits for a future", Stack: 1, LoopTID: tid,
			AwaitedBy: []uint64{0x7f01, 0x7fff}},
		{Kind: "task", ID: 0x7f03, Name: "\x1b[31m\"", State: "waits for task \"\x1b[31m\"", Stack: 1, LoopTID: tid},
	}
	for i := range 5 {
		d.Fibers = append(d.Fibers, profile.Fiber{Kind: "task", ID: 0x8000 + uint64(i), Name: fmt.Sprint("Task-", i+10),
			State: "waits for a future", Stack: 1, LoopTID: 99})
	}
	return d
}

// stopped returns one thread whose stack was cut for that reason.
func stopped(stop, detail string) *profile.Dump {
	d := one(profile.Stack{Stop: stop, Detail: detail, Frames: []profile.Frame{
		native(0, 0x7f3a1b2f0e26, "epoll_wait", 0x56, "", 0, libc),
		native(1, 0x55d0c1a2b3c4, "aeProcessEvents", 0x184, "src/ae.c", 347, server),
	}})
	return d
}

// hostile returns a dump with name in every field that a target or a file can fill.
func hostile(name string) *profile.Dump {
	d := redis()
	d.Process = profile.Process{PID: 4121, Comm: name, Cmdline: []string{name, "--" + name}, Exe: name, Arch: name}
	d.Modules[server] = profile.Module{Path: "/tmp/" + name, BuildID: name, Err: name}
	d.Problems = []string{name}
	for i := range d.Threads {
		t := &d.Threads[i]
		t.Name, t.State, t.Wchan, t.KernelStack = name, name, name, []string{name}
		t.Syscall.Name = name
		t.Syscall.Args[0] = profile.Arg{Name: name, Text: name, FD: name}
		t.Stack.Complete, t.Stack.Stop, t.Stack.Detail = false, name, name
		for j := range t.Stack.Frames {
			f := &t.Stack.Frames[j]
			f.Func, f.Linkage, f.File, f.Origin, f.Note = name, name, name, name, name
		}
	}
	d.Threads[3].NotStopped = name
	return d
}

// crowd returns n threads: every hundredth runs, the others wait for a futex of their own.
func crowd(n int) *profile.Dump {
	d := redis()
	d.Threads = nil
	for i := range n {
		t := worker(4121+i, fmt.Sprintf("worker-%d", i%5), fmt.Sprintf("%#x", 0x7f3a10000000+64*uint64(i)))
		if i%100 == 0 {
			t.State, t.Syscall, t.Stack.Frames = "R", nil, t.Stack.Frames[2:]
		}
		d.Threads = append(d.Threads, t)
	}
	return d
}
