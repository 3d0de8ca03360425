package tokio

import (
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
)

// awaited is what an async function waits for.
type awaited int

const (
	awaitedUnknown awaited = iota
	awaitedSocket
	awaitedTimer
	awaitedNotify
	awaitedOneshot
	awaitedReceive
	awaitedSend
	awaitedWatch
	awaitedBroadcast
	awaitedSemaphore
	awaitedMutex
	awaitedRWLock
	awaitedBarrier
	awaitedSignal
	awaitedProcess
	awaitedConnection
	awaitedTask
	awaitedOthers
)

// modules are those of tokio by which what is awaited is known. Where a function goes through several, as that of a
// Mutex does through a semaphore, the one whose value above is the greatest is what the program has asked for.
var modules = []struct {
	prefix string
	is     awaited
}{
	{"sync/mutex", awaitedMutex}, {"sync/rwlock", awaitedRWLock}, {"sync/semaphore", awaitedSemaphore},
	{"sync/oneshot", awaitedOneshot}, {"sync/notify", awaitedNotify}, {"sync/watch", awaitedWatch},
	{"sync/broadcast", awaitedBroadcast}, {"sync/barrier", awaitedBarrier}, {"sync/mpsc/", awaitedReceive},
	{"time/", awaitedTimer}, {"runtime/task/join", awaitedTask},
	{"task/join_set", awaitedTask}, {"net/tcp/listener", awaitedConnection},
	{"net/unix/listener", awaitedConnection}, {"net/", awaitedSocket}, {"runtime/io/", awaitedSocket},
	{"signal/", awaitedSignal}, {"process/", awaitedProcess},
}

// kindOf is what a function of that module of tokio waits for.
func kindOf(module string) awaited {
	for _, m := range modules {
		if module != "" && strings.HasPrefix(module, m.prefix) {
			return m.is
		}
	}
	return awaitedUnknown
}

// awaits is what functions of libraries wait for, outermost first, and whether one takes or gives permits.
func awaits(inner []profile.Frame) (a awaited, permits bool) {
	for i := range inner {
		at := modulePath(&inner[i])
		permits = permits || strings.HasPrefix(at, "sync/batch_semaphore")
		a = max(a, kindOf(at))
	}
	return a, permits
}

// limit is the module of what gives up a future after a time.
const limit = "time/timeout"

// support are modules of tokio that poll futures of others, or look whether a task may go on.
var support = []string{limit, "task/coop", "runtime/coop", "coop", "macros/", "future/"}

// futureIn is how many of those functions, outermost first, lead to the future that they poll, and whether it is known
// what that waits for; 0 for none.
func futureIn(inner []profile.Frame) (depth int, known bool) {
	limited := false
	for i := range inner {
		module, f := modulePath(&inner[i]), &inner[i]
		supports := slices.ContainsFunc(support, func(s string) bool { return strings.HasPrefix(module, s) })
		limited = limited || module == limit
		switch kind := kindOf(module); {
		case supports:
		case kind == awaitedTimer && limited:
			return 0, false
		case kind != awaitedUnknown:
			return i + 1, true
		case !isOfRust(f) && strings.HasPrefix(lastName(f.Func), "poll"):
			depth = i + 1
		}
	}
	return depth, false
}

// add adds what functions of libraries wait for.
func (a *awaited) add(in *library) {
	*a = max(*a, in.awaits)
	if in.permits && *a == awaitedReceive { // who receives needs no permit
		*a = awaitedSend
	}
}

// isLock reports whether those that have what is awaited are few, so that the state of who waits says who they are.
func (a awaited) isLock() bool {
	return a == awaitedMutex || a == awaitedRWLock || a == awaitedSemaphore
}

func (a awaited) text() string {
	switch a {
	case awaitedSocket:
		return "awaits a socket"
	case awaitedTimer:
		return "awaits a timer"
	case awaitedNotify:
		return "awaits a Notify"
	case awaitedOneshot:
		return "awaits a sender of a oneshot channel"
	case awaitedReceive:
		return "awaits a sender of a channel"
	case awaitedSend:
		return "awaits room in a channel"
	case awaitedWatch:
		return "awaits a watch channel"
	case awaitedBroadcast:
		return "awaits a broadcast channel"
	case awaitedSemaphore:
		return "awaits a Semaphore"
	case awaitedMutex:
		return "awaits a Mutex"
	case awaitedRWLock:
		return "awaits a RwLock"
	case awaitedBarrier:
		return "awaits a Barrier"
	case awaitedSignal:
		return "awaits a signal"
	case awaitedProcess:
		return "awaits a process"
	case awaitedConnection:
		return "awaits a connection"
	case awaitedTask:
		return "awaits a task"
	case awaitedOthers:
		return "awaits several"
	}
	return "what it awaits is not known"
}

func (a awaited) wait() snapshot.FiberWait {
	switch a {
	case awaitedUnknown:
		return ""
	case awaitedSocket, awaitedConnection:
		return snapshot.FiberNet
	case awaitedTimer:
		return snapshot.FiberTimer
	case awaitedReceive, awaitedWatch, awaitedBroadcast:
		return snapshot.FiberReceive
	case awaitedSend:
		return snapshot.FiberSend
	case awaitedMutex, awaitedRWLock:
		return snapshot.FiberLock
	case awaitedNotify, awaitedSemaphore, awaitedBarrier:
		return snapshot.FiberCond
	}
	return snapshot.FiberFuture
}
