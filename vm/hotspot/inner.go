package hotspot

import (
	"bytes"
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

// idleRoles says what threads wait for that have one of the JVM's own roles.
var idleRoles = map[part]string{
	collects: "waits for work (garbage collector of Java)", compiles: "waits for work (compiler of Java)",
	operates: "waits for work (VM thread of Java)", serves: "waits for work (service thread of Java)",
}

// Names of variables.
const (
	stateSymbol    = "_ZN20SafepointSynchronize6_stateE"
	vmThreadSymbol = "_ZN8VMThread10_vm_threadE"
)

// parts are the functions by what the names of their symbols begin with, of JDK 8 to 28. Where one stands in a class
// with others the longer name decides.
var parts = map[string]part{
	"_ZN7Monitor": pauses, "_ZNK7Monitor": pauses, "_ZN5Mutex": pauses, "_ZN13MonitorLocker": pauses,
	"_ZN15PlatformMonitor": pauses, "_ZN2os15PlatformMonitor": pauses, "_ZN2os13PlatformEvent": pauses,
	"_ZN13PlatformEvent": pauses, "_ZN14PosixSemaphore": pauses, "_ZN9Semaphore": pauses, "_ZN9ParkEvent": pauses,
	"_ZN2os5sleep": pauses, "_ZN2os11naked_short": pauses, "_ZN13ZConditionVar": pauses, "_ZN10ZMetronome": pauses,
	"_ZN14ZMessagePort": pauses, "_ZN11ZDriverPort": pauses,

	"_ZN20SafepointSynchronize5blockE":  blocked,
	"_ZN8VMThread7executeE":             asking,
	"_ZN22VM_HandshakeAllThreads4doitE": shaking, "_ZN9Handshake7executeE": shaking,
	"_ZN13InstanceKlass15initialize_implE": initialising,

	"_ZN12WorkerThread3runE": collects, "_ZN10GangWorker": collects, "_ZN12AbstractGang": collects,
	"_ZN20WorkerTaskDispatcher": collects, "_ZN23SemaphoreGangTaskDisp": collects, "_ZN19MutexGangTaskDispat": collects,
	"_ZN13GCTaskManager8get_taskE": collects, "_ZN12GCTaskThread3runE": collects,
	"_ZN22G1ConcurrentMarkThread11run_serviceE": collects, "_ZN22G1ConcurrentMarkThread19wait_for_next": collects,
	"_ZN20ConcurrentMarkThread": collects, "_ZN25ConcurrentG1RefineThread": collects,
	"_ZN24G1ConcurrentRefineThread": collects, "_ZN31G1PrimaryConcurrentRefineThread": collects,
	"_ZN33G1SecondaryConcurrentRefineThread": collects, "_ZN15G1ServiceThread": collects,
	"_ZN15G1YoungRemSetSa": collects, "_ZN30G1YoungRemSetSamplingThread": collects,
	"_ZN9ZDirector": collects, "_ZN12ZDriverMinor10run_threadE": collects, "_ZN12ZDriverMajor10run_threadE": collects,
	"_ZN7ZDriver11run_serviceE": collects, "_ZN5ZStat10run_threadE": collects, "_ZN5ZStat11run_serviceE": collects,
	"_ZN12ZUncommitter": collects, "_ZNK12ZUncommitter": collects, "_ZN9ZUnmapper": collects,
	"_ZN23ShenandoahControlThread11run_serviceE":  collects,
	"_ZN25ShenandoahUncommitThread11run_serviceE": collects,
	"_ZN25ShenandoahRegulatorThread":              collects,
	"_ZN17StringDedupThread":                      collects,
	"_ZN11StringDedup":                            collects,
	"_ZN12CompileQueue3getE":                      compiles,
	"_ZN8VMThread18wait_for_operationE":           operates,
	"_ZN8VMThread4loopE":                          operates,
	"_ZN13WatcherThread":                          serves,
	"_ZNK13WatcherThread":                         serves,
	"_ZN13ServiceThread":                          serves,
	"_ZN22MonitorDeflationThread":                 serves,
	"_ZN14NMethodSweeper12sweeper_loopE":          serves,
	"_ZN14NMethodSweeper13possibly_sweepE":        serves,
	"_ZN18NotificationThread":                     serves,
	"_ZN2os11signal_waitE":                        serves,
	"_ZN2os17signal_wait":                         serves,
	"_ZL19signal_thread_entryP":                   serves,
	"_ZL20check_pending_signal":                   serves,
	"_ZN13AttachListener7dequeueE":                serves,
	"_ZN18LinuxAttachListener7dequeueE":           serves,
	"_ZN19PosixAttachListener7dequeueE":           serves,
	"_ZN14AsyncLogWriter":                         serves,
}

// maxFunctions bounds the functions that are kept.
const maxFunctions = 1 << 12

// readInner finds out where they are in m. It reads all symbols.
func readInner(m *module.Module) *inner {
	in := &inner{}
	if m == nil {
		return in
	}
	first := map[byte][]string{} // names by a letter that tells many apart
	const letter = 5
	for name := range parts {
		first[name[letter]] = append(first[name[letter]], name)
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
			longest := ""
			for _, p := range first[name[letter]] {
				if len(p) > len(longest) && bytes.HasPrefix(name, []byte(p)) {
					longest = p
				}
			}
			if a := m.Addr(at); longest != "" && a+mem.Addr(size) > a {
				in.functions = append(in.functions, function{mem.Span[mem.Addr]{Start: a, End: a + mem.Addr(size)},
					parts[longest]})
			}
		}
		return len(in.functions) < maxFunctions
	})
	slices.SortFunc(in.functions, func(a, b function) int { return int(int64(a.Start) - int64(b.Start)) })
	return in
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
