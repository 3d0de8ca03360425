package hang

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// Tasks and async functions wait for each other without a thread: those that wait for no other one are leaves. They are
// why a thread does not go on that waits in its event loop, or for a task.

// leaves are the tasks and async functions of a program that wait for no other of them and for no time: those that
// nothing lets go on first, then those that have what most wait for, then those that wait for no lock, then those that
// others wait for; nil if a task runs. timed says that one waits for a time: then what waits for work may be given
// some, and what waits for a lock may get it. sleepers are those that wait for nothing else.
func leaves(d *profile.Dump) (all, sleepers []*profile.Fiber, timed bool) {
	awaits, keeps := map[uint64]bool{}, map[uint64]int{}
	for i := range d.Fibers {
		for _, id := range d.Fibers[i].AwaitedBy {
			awaits[id] = true
		}
		if len(d.Fibers[i].HeldBy) > 0 && !slices.Contains(d.Fibers[i].HeldBy, d.Fibers[i].ID) {
			awaits[d.Fibers[i].ID] = true // who has it is to go on first
			for _, id := range d.Fibers[i].HeldBy {
				keeps[id]--
			}
		}
	}
	for i := range d.Fibers {
		f := &d.Fibers[i]
		timed = timed || f.Timed
		switch {
		case f.System || f.Wait == profile.FiberRuns:
			continue
		case f.TID != 0:
			return nil, nil, false
		case f.Wait == profile.FiberTimer || sleeps(d, f):
			timed, sleepers = true, append(sleepers, f)
		case !awaits[f.ID]:
			all = append(all, f)
		}
	}
	if timed {
		all = slices.DeleteFunc(all, func(f *profile.Fiber) bool { return isWorker(d, f) || waitsForLock(d, f) })
	}
	slices.SortStableFunc(all, func(a, b *profile.Fiber) int {
		return cmp.Or(cmp.Compare(lost(a), lost(b)), cmp.Compare(keeps[a.ID], keeps[b.ID]),
			cmp.Compare(locked(d, a), locked(d, b)), cmp.Compare(min(1, len(b.AwaitedBy)), min(1, len(a.AwaitedBy))))
	})
	return all, sleepers, timed
}

// sleeps reports whether a task of asyncio waits for a time.
func sleeps(d *profile.Dump, f *profile.Fiber) bool {
	return hasInner(d, f, func(frame *profile.Frame) bool {
		return frame.Func == "sleep" && strings.HasSuffix(frame.File, "/asyncio/tasks.py")
	})
}

// sleepersOf are the tasks that sleep in the loop of a thread, which waits for w until a timer ends that.
func (j *judging) sleepersOf(pid, tid int, w *profile.Wait) (all []*profile.Fiber) {
	if w == nil || !w.Timed || max(w.Left, w.Length) <= 0 {
		return nil
	}
	for _, f := range j.of(pid).sleepers {
		if f.LoopTID == tid {
			all = append(all, f)
		}
	}
	return all
}

// tasksSleep says of the tasks in the loop of a thread that they sleep, and when the first timer of that is due; "" if
// none of these is in the user's own code.
func (j *judging) tasksSleep(pid, tid int, w *profile.Wait) string {
	all := j.sleepersOf(pid, tid, w)
	f, frame := culpritFiber(j.of(pid).dump, all)
	if frame == nil {
		return ""
	}
	verb := "sleeps"
	if len(all) > 1 {
		verb = "sleep"
	}
	due := asleepFor(w.Left)
	if w.Left <= 0 {
		due = "at most " + asleepFor(w.Length)
	}
	return fmt.Sprintf("has %s that %s, with the next timer due in %s: %s in %s", text.Count(len(all), f.Kind), verb,
		due, fiberName(f), place(frame))
}

// isWorker reports whether a task waits for the next item of a queue.
func isWorker(d *profile.Dump, f *profile.Fiber) bool {
	return hasInner(d, f, func(frame *profile.Frame) bool { return isMethod(frame, "get", "/asyncio/queues.py") })
}

// waitsForLock reports whether a task waits for a lock or a semaphore of asyncio: which of the others has it is not
// known.
func waitsForLock(d *profile.Dump, f *profile.Fiber) bool {
	return hasInner(d, f, func(frame *profile.Frame) bool { return isMethod(frame, "acquire", "/asyncio/locks.py") })
}

// isMethod reports whether a frame of Python is in a method of any class in a file; before 3.11 its name has no class.
func isMethod(f *profile.Frame, method, file string) bool {
	return strings.HasSuffix(f.File, file) && f.Func[strings.LastIndexByte(f.Func, '.')+1:] == method
}

// locked is 1 for a task that waits for a lock: it is behind what may have that.
func locked(d *profile.Dump, f *profile.Fiber) int {
	if waitsForLock(d, f) {
		return 1
	}
	return 0
}

// awaitsShutdown reports whether an async method waits until somebody ends the program: of a host of .NET.
func awaitsShutdown(d *profile.Dump, f *profile.Fiber) bool {
	const waits = "Microsoft.Extensions.Hosting.HostingAbstractionsHostExtensions.WaitForShutdownAsync"
	return hasInner(d, f, func(frame *profile.Frame) bool { return strings.HasPrefix(frame.Func, waits) })
}

// requests are those of calls that a server waits for, to answer a request: of Kestrel.
func requests(d *profile.Dump, calls []*profile.Fiber) (out []*profile.Fiber) {
	const answers = "Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http.HttpProtocol.ProcessRequests"
	answering := map[int]bool{} // stacks
	for i := range d.FiberStacks {
		if slices.ContainsFunc(d.FiberStacks[i].Stack.Frames, func(f profile.Frame) bool {
			return strings.HasPrefix(f.Func, answers)
		}) {
			answering[i] = true
		}
	}
	if len(answering) == 0 {
		return nil
	}
	all := byID(d)
	for _, f := range calls {
		outer := f
		for n := 0; n < maxOutwards && outer != nil && !answering[outer.Stack]; n++ {
			if len(outer.AwaitedBy) == 0 {
				outer = nil
			} else {
				outer = all.at[outer.AwaitedBy[0]]
			}
		}
		if outer != nil && answering[outer.Stack] {
			out = append(out, f)
		}
	}
	return out
}

// lost is 0 for what nobody lets go on.
func lost(f *profile.Fiber) int {
	if f.Wait == profile.FiberNobody {
		return 0
	}
	return 1
}

// blamed are the fibers because of which a thread of process pid does not go on.
func (j *judging) blamed(pid, tid int) []*profile.Fiber {
	of, w := j.of(pid), j.waiting[tid]
	switch {
	case len(of.fibers) > 0:
		return of.fibers
	case of.hosts && len(of.requests) > 0 && w != nil && w.Sort == profile.SortTask:
		return of.requests
	case len(of.leaves) > 0 && !of.leaves[0].IsAsync(), w != nil && w.Sort == profile.SortTask,
		j.drives(pid, tid) && !of.serves:
		return of.leaves
	}
	return nil
}

// task says what s does, which waits for a task: by the async functions that wait.
func (j *judging) task(s *sink, w *profile.Wait) {
	of := j.of(s.pid)
	words, _, _ := j.awaiting(of.dump, of.leaves)
	switch {
	case of.hosts:
		s.rank, s.kind, s.does = rankWork, Unknown, "waits for a signal that ends it"+j.requested(s.pid)
	case words != "":
		s.rank, s.kind, s.does = rankFibers, Waiting, "waits for "+words
	case of.timed:
		s.rank, s.kind, s.does = rankLoop, Unknown, "waits for async functions, and these for a time"+j.where(s.node)
	default:
		s.rank, s.kind, s.does = rankBlocked, j.blockedKind(s.node), j.blocked(s.node, w)
	}
}

// requested says what requests wait for that process pid is to answer: "; 2 async calls in…"; "" for none.
func (j *judging) requested(pid int) string {
	if words, _, _ := j.awaiting(j.of(pid).dump, j.of(pid).requests); words != "" {
		return "; " + words
	}
	return ""
}

// maxOutwards bounds the chains that are followed to the functions that wait for something in the end.
const maxOutwards = 256

// outwards are the functions of f, innermost first, and behind them those that wait for it: of several that do, or of
// one that waits for several, the first.
func outwards(d *profile.Dump, f *profile.Fiber) (frames []profile.Frame) {
	seen := map[uint64]bool{}
	for f != nil && !seen[f.ID] && len(seen) < maxOutwards {
		seen[f.ID] = true
		if s := fiberStack(d, f); s != nil {
			frames = append(frames, s.Frames...)
		}
		next := -1
		if len(f.AwaitedBy) > 0 {
			by := f.AwaitedBy[0]
			next = slices.IndexFunc(d.Fibers, func(f profile.Fiber) bool { return f.ID == by && f.IsAsync() })
		}
		if f = nil; next >= 0 {
			f = &d.Fibers[next]
		}
	}
	return frames
}

// awaiting says what calls, async functions of a process, wait for, by the first that is the user's own, and which of
// its own functions waits for that in the end; "" for nothing. others are those that it says nothing of.
func (j *judging) awaiting(d *profile.Dump, calls []*profile.Fiber) (words string, at *profile.Frame,
	others []*profile.Fiber) {
	f, frame := culpritFiber(d, calls)
	if frame == nil || !f.IsAsync() {
		return "", nil, nil
	}
	kept := awaitingHeld(d, f)
	n, others := alike(d, f, calls)
	words = text.Count(n, f.Kind) + " in " + place(frame)
	for _, outer := range slices.Backward(outwards(d, f)) {
		if isOwn(d, &outer) {
			if outer.Func != frame.Func {
				words += " for " + place(&outer)
			}
			break
		}
	}
	words += fmt.Sprintf(" [%s]", text.Escape(f.State))
	if kept == nil {
		return words, frame, others
	}
	who := text.Count(len(kept), kept[0].Kind)
	if _, inner := culpritFiber(d, kept); inner != nil {
		who += " in " + text.Escape(shortName(inner.Func))
	}
	return fmt.Sprintf("%s [%s], which is in %s [%s]", who, text.Escape(kept[0].State), place(frame),
		text.Escape(f.State)), frame, others
}

// alike is how many of calls wait for the same as f by the same way, f among them; and the others.
func alike(d *profile.Dump, f *profile.Fiber, calls []*profile.Fiber) (n int, others []*profile.Fiber) {
	same := map[int]bool{f.Stack: true} // by stack
	for _, other := range calls {
		is, known := same[other.Stack]
		if !known {
			is = len(f.AwaitedBy) == 0 && len(other.AwaitedBy) == 0 && isSameWay(d, f, other)
			same[other.Stack] = is
		}
		if is && other.State == f.State {
			n++
		} else {
			others = append(others, other)
		}
	}
	return n, others
}

// isSameWay reports whether the first and the last of the user's own functions of two are the same: what is between
// those and behind them is no matter.
func isSameWay(d *profile.Dump, a, b *profile.Fiber) bool {
	var ends [2][2]profile.Frame
	for i, f := range []*profile.Fiber{a, b} {
		s := fiberStack(d, f)
		if s == nil || ownFrame(d, s) == nil {
			return false
		}
		ends[i][0] = *ownFrame(d, s)
		for k := range s.Frames {
			if isOwn(d, &s.Frames[k]) {
				ends[i][1] = s.Frames[k]
			}
		}
	}
	same := func(a, b profile.Frame) bool { return a.Func == b.Func && a.File == b.File && a.Line == b.Line }
	return same(ends[0][0], ends[1][0]) && same(ends[0][1], ends[1][1])
}

// awaitingHeld are those that wait for what f has, of the wait of which there are most; nil for none.
func awaitingHeld(d *profile.Dump, f *profile.Fiber) (most []*profile.Fiber) {
	byObject := map[uint64][]*profile.Fiber{}
	for i := range d.Fibers {
		other := &d.Fibers[i]
		if other.ID != f.ID && slices.Contains(other.HeldBy, f.ID) {
			all := append(byObject[other.Object], other)
			if byObject[other.Object] = all; len(all) > len(most) {
				most = all
			}
		}
	}
	return most
}
