package hang

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// A program of fibers hangs though each of its threads waits for work by right: if no fiber can go on. Who has a lock
// is not recorded, so that it is asked who could give it back: nobody, where no fiber runs, is in a call, or sleeps.

// stuckFibers are the fibers of the program that wait for others of it, if none of these can go on, and all that wait,
// those to look at first first; nil where one runs. timers says that some go on by timers that are set.
func stuckFibers(d *profile.Dump, timers bool) (stuck, all []*profile.Fiber) {
	outside := timers // somebody else than a fiber may end a wait
	for i := range d.Fibers {
		f := &d.Fibers[i]
		switch {
		case f.System, f.IsAsync():
			continue
		case isOfSignals(d, f): // it hands them to who receives
			outside = true
			continue
		case f.Wait == profile.FiberRuns, f.Wait == profile.FiberCall, f.Wait == profile.FiberTimer, f.TID != 0:
			return nil, nil
		}
		outside = outside || f.Wait == profile.FiberNet
		all = append(all, f)
	}
	sent := false // one waits for what only a fiber does, and timers do not
	for _, f := range all {
		sent = sent || f.Wait == profile.FiberSend || f.Wait == profile.FiberGroup || f.Wait == profile.FiberCond
	}
	net := slices.ContainsFunc(all, func(f *profile.Fiber) bool { return f.Wait == profile.FiberNet })
	for _, f := range all {
		switch {
		case f.Wait == profile.FiberLock,
			f.Wait != profile.FiberNet && !outside,
			!net && sent && f.Wait != profile.FiberReceive && f.Wait != profile.FiberSelect:
			stuck = append(stuck, f)
		}
	}
	for _, list := range [][]*profile.Fiber{stuck, all} {
		slices.SortStableFunc(list, func(a, b *profile.Fiber) int {
			return cmp.Compare(fiberOrder(d, a), fiberOrder(d, b))
		})
	}
	return stuck, all
}

// fiberOrder puts those that wait for what nobody does before those that wait for these to end.
func fiberOrder(d *profile.Dump, f *profile.Fiber) int {
	order := map[profile.FiberWait]int{profile.FiberLock: 0, profile.FiberSend: 1, profile.FiberCond: 2,
		profile.FiberReceive: 3, profile.FiberSelect: 3, profile.FiberGroup: 4}
	at, ok := order[f.Wait]
	if !ok {
		at = 3
	}
	if f.ID == 1 && f.Wait != profile.FiberLock { // main waits for the others mostly
		at += 10
	}
	if joins(d, f) {
		at += 20
	}
	return at
}

// isAlarm reports whether a timer that w waits for may be the one by which package testing ends a test that hangs: its
// -timeout, which is minutes mostly.
func isAlarm(d *profile.Dump, w *profile.Wait) bool {
	runs := func(f profile.Frame) bool { return f.Func == "testing.tRunner" }
	return d != nil && max(w.Left, w.Length) > time.Minute && slices.ContainsFunc(d.FiberStacks,
		func(s profile.FiberStack) bool { return slices.ContainsFunc(s.Stack.Frames, runs) })
}

// joiners are how functions begin by which a fiber waits for the end of others.
var joiners = []string{"testing.(*T).Run", "testing.(*B).Run", "golang.org/x/sync/errgroup.(*Group).Wait"}

// joins reports whether a fiber waits for the end of others by such a function.
func joins(d *profile.Dump, f *profile.Fiber) bool {
	return hasInner(d, f, func(frame *profile.Frame) bool {
		return slices.ContainsFunc(joiners, func(start string) bool { return strings.HasPrefix(frame.Func, start) })
	})
}

// isOfSignals reports whether a fiber is that by which Go hands out signals.
func isOfSignals(d *profile.Dump, f *profile.Fiber) bool {
	return hasInner(d, f, func(frame *profile.Frame) bool { return frame.Func == "os/signal.signal_recv" })
}

// hasInner reports whether a frame of f that is, from the innermost on, before the first of the user's own is such.
func hasInner(d *profile.Dump, f *profile.Fiber, such func(*profile.Frame) bool) bool {
	s := fiberStack(d, f)
	if s == nil {
		return false
	}
	for i := range s.Frames {
		if such(&s.Frames[i]) {
			return true
		}
		if isOwn(d, &s.Frames[i]) {
			return false
		}
	}
	return false
}

func fiberStack(d *profile.Dump, f *profile.Fiber) *profile.Stack {
	if f.TID != 0 {
		if i := slices.IndexFunc(d.Threads, func(t profile.Thread) bool { return t.TID == f.TID }); i >= 0 {
			return &d.Threads[i].Stack
		}
	}
	if f.Missing != "" || f.Stack < 0 || f.Stack >= len(d.FiberStacks) {
		return nil
	}
	return &d.FiberStacks[f.Stack].Stack
}

// fibers says what those of process pid wait for, by the first that runs the user's own code.
func (j *judging) fibers(pid int, all []*profile.Fiber) string {
	if all[0].Wait == profile.FiberLock {
		return j.waitingFibers(pid, all, " for "+locksOf(all)+", and none that could unlock "+itOrThem(len(all)))
	}
	return j.waitingFibers(pid, all, ", and none that could wake "+itOrThem(len(all)))
}

// locksOf says for how many locks fibers wait: one, where it is not known of all.
func locksOf(all []*profile.Fiber) string {
	locks := map[uint64]bool{}
	for _, f := range all {
		if f.Object == 0 {
			return "a lock"
		}
		locks[f.Object] = true
	}
	if len(locks) == 1 {
		return "a lock"
	}
	return text.Count(len(locks), "lock")
}

// besideLocks says which fibers of process pid wait for locks while others of it may go on; "" for none. Who has a lock
// may be one of these.
func (j *judging) besideLocks(pid int) string {
	d := j.of(pid).dump
	if d == nil {
		return ""
	}
	var all []*profile.Fiber
	for i := range d.Fibers {
		if f := &d.Fibers[i]; f.Wait == profile.FiberLock && !f.System && !f.IsAsync() {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return ", and " + j.waitingFibers(pid, all, " for "+locksOf(all))
}

// waitingFibers says of fibers of process pid that they wait, more of that, and where the first is in its own code.
func (j *judging) waitingFibers(pid int, all []*profile.Fiber, more string) string {
	words := fmt.Sprintf("has %s that %s%s", text.Count(len(all), all[0].Kind), waitsOrWait(len(all)), more)
	f, frame := culpritFiber(j.of(pid).dump, all)
	if frame == nil {
		return words
	}
	state := text.Escape(f.State)
	if waitsForLock(j.of(pid).dump, f) && f.HeldBy == nil {
		state = "waits for a lock of asyncio, and who has it is not known"
	}
	if kept := awaitingHeld(j.of(pid).dump, f); kept != nil {
		state += fmt.Sprintf(", and has a Lock for which %s %s", text.Count(len(kept), kept[0].Kind),
			waitsOrWait(len(kept)))
	}
	if f.Waits >= time.Minute {
		state += ", " + text.Duration(f.Waits)
	}
	return words + fmt.Sprintf(": %s [%s] in %s", fiberName(f), state, place(frame))
}

// fiberName is "goroutine 6", or its own name where it has one: `task "Task-1"`.
func fiberName(f *profile.Fiber) string {
	if f.Name != "" {
		return fmt.Sprintf("%s %s", f.Kind, text.Quote(f.Name))
	}
	return fmt.Sprintf("%s %d", f.Kind, f.ID)
}

func waitsOrWait(n int) string {
	if n == 1 {
		return "waits"
	}
	return "wait"
}

func itOrThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// readyStacks are the stacks of fibers of the program that would run and that no thread runs.
func readyStacks(d *profile.Dump) (stacks []*profile.Stack) {
	for i := range d.Fibers {
		if f := &d.Fibers[i]; f.Wait == profile.FiberRuns && f.TID == 0 && !f.System {
			if s := fiberStack(d, f); s != nil {
				stacks = append(stacks, s)
			}
		}
	}
	return stacks
}

// culpritFiber is the first of those fibers that runs the user's own code, and where.
func culpritFiber(d *profile.Dump, all []*profile.Fiber) (*profile.Fiber, *profile.Frame) {
	for _, f := range all {
		if s := fiberStack(d, f); s != nil {
			if frame := ownFrame(d, s); frame != nil {
				return f, frame
			}
		}
	}
	return nil, nil
}
