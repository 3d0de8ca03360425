package tokio

import (
	"slices"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
)

// What a task waits for is an object in the memory of the process, which the code of tokio that polls it works on:
// where that is, its atomic operations tell. Who has such an object what drops a task tells: there it is given back.
// Both are known by the functions of tokio that do it, as it has them since 1.28; under other names nothing is known.

// atomics is where the standard library has atomic operations.
const atomics = "/sync/atomic.rs"

// atomic is a step that is an atomic operation, or takes the result of a task.
type atomic struct {
	step int
	in   *library
}

func isTimed(f profile.Frame) bool { return strings.HasPrefix(modulePath(&f), "time/") }

// doer is the innermost function of tokio in frames of libraries, outermost first, but of what it has for those of the
// standard library: its module and its name.
func doer(inner []profile.Frame) (module, function string) {
	for _, f := range slices.Backward(inner) {
		if at := modulePath(&f); at != "" && !strings.HasPrefix(at, "loom/") {
			return at, lastName(f.Func)
		}
	}
	return "", ""
}

// lastName is the name of a function without what it is in, and without its generic arguments.
func lastName(s string) string {
	if strings.HasSuffix(s, ">") {
		depth := 0
		for i := len(s) - 1; i >= 0; i-- {
			switch {
			case s[i] == '>' && (i == 0 || s[i-1] != '-'): // of a function's type
				depth++
			case s[i] == '<':
				depth--
			}
			if depth == 0 {
				s = s[:i]
				break
			}
		}
	}
	return s[strings.LastIndex(s, ":")+1:]
}

func isIn(inner []profile.Frame, module string) bool {
	return slices.ContainsFunc(inner, func(f profile.Frame) bool { return strings.HasPrefix(modulePath(&f), module) })
}

// isAtomic reports whether the innermost function is an atomic operation.
func isAtomic(inner []profile.Frame) bool {
	return len(inner) > 0 && strings.HasSuffix(inner[len(inner)-1].File, atomics)
}

// isOutlined reports whether f is what compilers for arm64 call for an atomic operation: it looks which instructions
// the processor has. It counts as the function that calls it. Source: libgcc/config/aarch64/lse.S of GCC.
func isOutlined(f *profile.Frame) bool { return strings.HasPrefix(f.Func, "__aarch64_") }

// isAbout reports whether a step in those functions works on what is awaited, by the first of which that is known.
func (a awaited) isAbout(inner []profile.Frame) bool {
	module, function := doer(inner)
	switch a {
	case awaitedMutex, awaitedRWLock, awaitedSemaphore, awaitedSend:
		return module == "sync/batch_semaphore" && function == "poll_acquire"
	case awaitedOneshot:
		return module == "sync/oneshot"
	case awaitedReceive:
		return module == "sync/task/atomic_waker" && isIn(inner, "sync/mpsc/")
	case awaitedNotify, awaitedWatch:
		return module == "sync/notify"
	case awaitedBroadcast:
		return module == "sync/broadcast"
	case awaitedSocket, awaitedConnection:
		return module == "runtime/io/scheduled_io"
	case awaitedTask:
		return true
	}
	return false
}

// works reports whether steps are known that work on what is awaited.
func (a awaited) works() bool {
	switch a {
	case awaitedUnknown, awaitedTimer, awaitedBarrier, awaitedSignal, awaitedProcess:
		return false
	}
	return true
}

// needsAtomic reports whether what is awaited is known by an operation that reads and writes it as one.
func (a awaited) needsAtomic() bool { return a != awaitedOneshot }

// guarded is the generic argument of a function of that module in inner, "" for none.
func guarded(inner []profile.Frame, module string) string {
	for _, f := range inner {
		if !strings.HasPrefix(modulePath(&f), module) || strings.HasPrefix(f.Func, "<") ||
			!strings.HasSuffix(f.Func, ">") || len(f.Func) > maxName {
			continue
		}
		if _, of, ok := strings.Cut(f.Func, "<"); ok {
			return firstArgument(of)
		}
	}
	return ""
}

// objects are where that lies which a chain waits for: the first of its operations is on the lock of it, or on its
// state. There are several where the same operation was on several things, as in a select! of two channels. Of tasks
// they are those whose results were asked for.
func (w *waiting) objects(touched []touch) (out []mem.Addr) {
	var first *library
	for _, t := range touched {
		i := slices.IndexFunc(w.works, func(a atomic) bool { return a.step == t.step })
		switch {
		case i < 0 || slices.Contains(out, t.at):
		case w.awaits == awaitedTask && t.takes,
			w.awaits != awaitedTask && (t.atomic || !w.awaits.needsAtomic()) &&
				(first == nil || first == w.works[i].in):
			first, out = w.works[i].in, append(out, t.at)
		}
	}
	return out
}

// given is a step by which something is given back that others wait for.
type given struct {
	step   int
	atomic bool
	task   bool // it is a task that is ended with the set that has it
}

// gives are the steps of t, which drops a task, that give back what others wait for.
func (b *book) gives(t *trace) (out []given) {
	callers := b.callers(t)
	for _, number := range t.gives {
		if !b.spend(placeCost) {
			return nil
		}
		s := t.steps[number]
		in := b.library(b.enter(callers[s.call], s.pc).inner)
		if !in.atomic {
			continue
		}
		switch module, function := doer(in.frames); {
		case module == "sync/batch_semaphore" && (slices.Contains(releases, function) || dropsGuard(in.frames)),
			module == "sync/task/atomic_waker" && slices.ContainsFunc(in.frames, wakesReceiver):
			out = append(out, given{number, true, false})
		case module == "sync/oneshot" && function == "set_complete":
			out = append(out, given{number, false, false})
		case module == "sync/batch_semaphore" && function == "close" && isIn(in.frames, "sync/mpsc/"):
			out = append(out, given{number, true, false})
		case module == "runtime/task/state" && isIn(in.frames, "task/join_set"):
			out = append(out, given{number, true, true})
		}
	}
	return out
}

// releases are the names that the function may have which gives permits back: the compiler makes one function of
// several that have the same code.
var releases = []string{"release", "add_permits"}

// dropsGuard reports whether the function of the semaphore in inner is called where the guard of a lock is dropped.
func dropsGuard(inner []profile.Frame) bool {
	for i := len(inner) - 1; i > 0; i-- {
		f, outer := &inner[i], &inner[i-1]
		if modulePath(f) == "sync/batch_semaphore" && modulePath(outer) != "sync/batch_semaphore" {
			return isIn([]profile.Frame{*outer}, "sync/") && lastName(outer.Func) == "drop"
		}
	}
	return false
}

// wakesReceiver reports whether f is the function by which the last sender of a channel lets its receiver go on.
func wakesReceiver(f profile.Frame) bool {
	return strings.HasPrefix(modulePath(&f), "sync/mpsc/") && lastName(f.Func) == "wake_rx"
}

// held are the objects that those steps gave back, and the tasks that they ended.
func held(gives []given, touched []touch) (objects, tasks []mem.Addr) {
	for _, t := range touched {
		i := slices.IndexFunc(gives, func(g given) bool { return g.step == t.step && (t.atomic || !g.atomic) })
		switch {
		case i < 0:
		case gives[i].task && !slices.Contains(tasks, t.at):
			tasks = append(tasks, t.at)
		case !gives[i].task && !slices.Contains(objects, t.at):
			objects = append(objects, t.at)
		}
	}
	return objects, tasks
}
