package hotspot

import (
	"slices"
	"sort"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/unwind"
)

// inner is where functions and variables of the JVM's own are, which no table describes: by its symbols, where it has
// any.
type inner struct {
	state     mem.Addr // SafepointSynchronize::_state
	vmThread  mem.Addr // VMThread::_vm_thread
	functions []function
	// initialisers are those of the functions in which a thread initialises a class, or waits for who does.
	initialisers []mem.Span[mem.Addr]
	initialise   mem.Span[mem.Addr] // from the first of them to the last
}

// function is a function of the JVM in which threads wait.
type function struct {
	mem.Span[mem.Addr]
	part part
}

// part is what a thread does in a function of the JVM.
type part int

const (
	elsewhere    part = iota
	pauses            // it waits, for what its caller says
	blocked           // it waits for the end of a safepoint
	asking            // it waits for the VM thread
	shaking           // it waits for threads to answer a handshake
	initialising      // it initialises a class, or waits for who does
	collects          // as the rest, it waits for work: of a garbage collector,
	compiles          // of a compiler,
	operates          // of the VM thread,
	serves            // of what the JVM does now and then
)

// idleRoles says what threads are called that have one of the JVM's own roles and wait for work.
var idleRoles = map[part]string{
	collects: "GC", compiles: "JIT compilers", operates: "JVM", serves: "JVM",
}

// Names of variables.
const (
	stateSymbol    = "_ZN20SafepointSynchronize6_stateE"
	vmThreadSymbol = "_ZN8VMThread10_vm_threadE"
)

// parts are the functions by what the names of their symbols begin with, of JDK 11 to 28. Where one stands in a class
// with others the longer name decides.
var parts = map[part][]string{
	pauses: {"_ZN7Monitor", "_ZNK7Monitor", "_ZN5Mutex", "_ZN15PlatformMonitor", "_ZN2os15PlatformMonitor",
		"_ZN2os13PlatformEvent", "_ZN13PlatformEvent", "_ZN14PosixSemaphore", "_ZN9Semaphore", "_ZN9ParkEvent",
		"_ZN2os5sleep", "_ZN2os17naked_short", "_ZN10ZMetronome", "_ZN11ZDriverPort"},
	blocked:      {"_ZN20SafepointSynchronize5blockE"},
	asking:       {"_ZN8VMThread7executeE"},
	shaking:      {"_ZN22VM_HandshakeAllThreads4doitE", "_ZN9Handshake7executeE"},
	initialising: {"_ZN13InstanceKlass15initialize_implE"},
	collects: {"_ZN12WorkerThread3runE", "_ZN10GangWorker", "_ZN20WorkerTaskDispatcher",
		"_ZN27SemaphoreGangTaskDispatcher", "_ZN23MutexGangTaskDispatcher", "_ZN13GCTaskManager8get_taskE",
		"_ZN12GCTaskThread3runE", "_ZN22G1ConcurrentMarkThread11run_serviceE",
		"_ZN22G1ConcurrentMarkThread19wait_for_next", "_ZN24G1ConcurrentRefineThread",
		"_ZN31G1PrimaryConcurrentRefineThread", "_ZN33G1SecondaryConcurrentRefineThread",
		"_ZN15G1ServiceThread", "_ZN27G1YoungRemSetSamplingThread", "_ZN9ZDirector",
		"_ZN12ZDriverMinor10run_threadE", "_ZN12ZDriverMajor10run_threadE", "_ZN7ZDriver11run_serviceE",
		"_ZN5ZStat10run_threadE", "_ZN5ZStat11run_serviceE", "_ZN12ZUncommitter", "_ZNK12ZUncommitter",
		"_ZN9ZUnmapper", "_ZN23ShenandoahControlThread11run_serviceE",
		"_ZN24ShenandoahUncommitThread11run_serviceE", "_ZN25ShenandoahRegulatorThread",
		"_ZN17StringDedupThread", "_ZN11StringDedup"},
	compiles: {"_ZN12CompileQueue3getE"},
	operates: {"_ZN8VMThread18wait_for_operationE", "_ZN8VMThread4loopE"},
	serves: {"_ZN13WatcherThread", "_ZNK13WatcherThread", "_ZN13ServiceThread", "_ZN22MonitorDeflationThread",
		"_ZN14NMethodSweeper12sweeper_loopE", "_ZN18NotificationThread", "_ZN2os11signal_waitE",
		"_ZL19signal_thread_entryP", "_ZN14AttachListener7dequeueE", "_ZN19LinuxAttachListener7dequeueE",
		"_ZN19PosixAttachListener7dequeueE", "_ZN14AsyncLogWriter", "_ZN7Threads10destroy_vmE"},
}

// maxFunctions bounds the functions that are kept.
const maxFunctions = 1 << 12

// begin is how names of functions begin.
type begin struct {
	name string
	part part
}

// readInner finds out where they are in m. It reads all symbols.
func readInner(m *module.Module) *inner {
	in := &inner{}
	if m == nil {
		return in
	}
	const letter = 5 // of a name, that tells many apart
	var known [1 << 8][]begin
	for p, names := range parts {
		for _, name := range names {
			known[name[letter]] = append(known[name[letter]], begin{name, p})
		}
	}
	// What cannot be read is not known.
	_ = symbol.Each(m, ".symtab", func(name []byte, at module.Vaddr, size uint64) bool {
		switch {
		case len(name) <= letter:
		case string(name) == stateSymbol:
			in.state = m.Addr(at)
		case string(name) == vmThreadSymbol:
			in.vmThread = m.Addr(at)
		default:
			longest, does := 0, elsewhere
			for _, b := range known[name[letter]] {
				if n := len(b.name); n > longest && n <= len(name) && string(name[:n]) == b.name {
					longest, does = n, b.part
				}
			}
			if a := m.Addr(at); longest > 0 && a+mem.Addr(size) > a {
				at := mem.Span[mem.Addr]{Start: a, End: a + mem.Addr(size)}
				in.functions = append(in.functions, function{at, does})
				if does == initialising {
					in.addInitialiser(at)
				}
			}
		}
		return len(in.functions) < maxFunctions
	})
	slices.SortFunc(in.functions, func(a, b function) int { return int(int64(a.Start) - int64(b.Start)) })
	return in
}

func (in *inner) addInitialiser(at mem.Span[mem.Addr]) {
	if len(in.initialisers) == 0 {
		in.initialise = at
	}
	in.initialisers = append(in.initialisers, at)
	in.initialise.Start, in.initialise.End = min(in.initialise.Start, at.Start), max(in.initialise.End, at.End)
}

// part is what a thread does that is in a function of the JVM, or that such a function has called.
func (in *inner) part(pc mem.Addr) part {
	i := sort.Search(len(in.functions), func(i int) bool { return in.functions[i].End > pc })
	if i == len(in.functions) || pc < in.functions[i].Start {
		return elsewhere
	}
	return in.functions[i].part
}

// of is what the thread of a stack does, by its innermost functions of the JVM; methods of Java end them.
func (r *Runtime) partOf(s *unwind.Stack) part {
	if s == nil || r.m == nil {
		return elsewhere
	}
	in := r.innerParts()
	for i := range s.Frames {
		f := &s.Frames[i]
		if f.Runtime == unwind.Runtime(r) {
			break
		}
		if f.Module != r.m {
			continue
		}
		switch p := in.part(f.LookupPC()); p {
		case pauses:
		case elsewhere:
			if i > deepestInner {
				return elsewhere
			}
		default:
			return p
		}
	}
	return elsewhere
}

// idlePart is what the thread of a stack does that waits in one of the JVM's own functions, and in nothing that this
// has called for its work.
func (r *Runtime) idlePart(s *unwind.Stack) part {
	in := r.innerParts()
	for i := range s.Frames {
		f := &s.Frames[i]
		if f.Module != r.m {
			if f.Module == nil || f.Runtime != nil {
				return elsewhere
			}
			continue // of libc
		}
		if p := in.part(f.LookupPC()); p != pauses {
			return p
		}
	}
	return elsewhere
}

// deepestInner is how many of the innermost frames are looked at for what a thread waits in.
const deepestInner = 16

// innerParts is read when it is first asked for.
func (r *Runtime) innerParts() *inner {
	if in := r.inner.Load(); in != nil {
		return in
	}
	in := readInner(r.m)
	r.inner.Store(in)
	return in
}
