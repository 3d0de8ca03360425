package vm

import (
	"fmt"
	"slices"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/syscalls"
	"github.com/fpstack/fpstack/vm/libuv"
)

// LoopNamer is a runtime whose language puts handles into event loops of libuv.
type LoopNamer interface {
	// NameLoop says whose the handles of l are. All has one for each handle of l, in its order; what it returns takes
	// its place, and may have more for a handle that serves several of the language. It reads the image, after the
	// stop.
	NameLoop(l *libuv.Loop, all []profile.Handle) []profile.Handle
}

// Loops finds what the threads of one process wait for in event loops. It is for one goroutine at a time.
type Loops struct {
	process *Process
	finder  *libuv.Finder
	clock   func(time.Time) time.Duration // CLOCK_MONOTONIC of the process; nil if not known
}

// Loops returns what finds event loops of p.
func (p *Process) Loops() *Loops {
	return &Loops{process: p, finder: libuv.NewFinder(p.image.Memory, p.image.Budget)}
}

// Of returns the event loop that t, a thread of s, waits in; nil if it waits in none that is known. It reads the
// memory of the process as it is now, and says so where that went on.
func (l *Loops) Of(s *snapshot.Snapshot, t *snapshot.Thread) *profile.Loop {
	at, ok := l.finder.Find(t, s.Maps)
	if !ok {
		return nil
	}
	const tries = 3 // the stop itself ends the call that it waits in, and it begins another
	var out *profile.Loop
	for range tries {
		loop, err := libuv.Read(at, l.process.image.Memory, l.process.image.Budget)
		if err != nil {
			return nil
		}
		if s.Clock == 0 {
			s.Clock = l.now(s.Time)
		}
		out = l.named(loop)
		if loop.Err == nil {
			loop.Err = libuv.AtRest(loop, l.process.image.Memory)
		}
		fromNow(out, max(loop.Now, s.Clock))
		if out.Problem == "" && loop.Err == nil {
			break
		}
		if loop.Err != nil {
			out.Problem = loop.Err.Error()
		}
	}
	return out
}

// named is loop with what the runtimes of the process know of its handles. They follow a thousand pointers for it, most
// of which lead to the same few objects.
func (l *Loops) named(loop *libuv.Loop) *profile.Loop {
	defer l.process.blocks.Hold()()
	out := &profile.Loop{Requests: loop.Requests}
	for i := range loop.Handles {
		out.Handles = append(out.Handles, shownHandle(&loop.Handles[i]))
	}
	for _, r := range l.process.All() {
		namer, ok := r.(LoopNamer)
		if !ok {
			continue
		}
		err := module.Guard(r.String(), func() error {
			out.Handles = namer.NameLoop(loop, out.Handles)
			return nil
		})
		if err != nil {
			out.Problem = err.Error()
		}
	}
	return out
}

// fromNow leaves out what the loop does not wait for, and counts times from now on, by the clock of the loop.
func fromNow(l *profile.Loop, now time.Duration) {
	l.Handles = slices.DeleteFunc(l.Handles, func(h profile.Handle) bool { return h.Kind == "" })
	for i := range l.Handles {
		if h := &l.Handles[i]; h.HasIn {
			h.In -= now
		}
	}
}

// now is a moment by the clock of the process, 0 if that is not known.
func (l *Loops) now(t time.Time) time.Duration {
	if l.clock == nil {
		l.clock = func(time.Time) time.Duration { return 0 }
		if l.process.image.Live != nil {
			if live, err := l.process.image.Live(); err == nil {
				l.clock = live.Monotonic
			}
		}
	}
	return l.clock(t)
}

// shownHandle is h as a person sees it: Kind is "" for one that the loop does not wait for, In by the clock of the
// loop.
func shownHandle(h *libuv.Handle) profile.Handle {
	out := profile.Handle{Kind: h.Kind, Keeps: h.Keeps, Internal: h.Internal, FD: h.FD, Detail: h.Path, Every: h.Every,
		In: h.Due, HasIn: h.Kind == libuv.Timer}
	switch h.Kind {
	case libuv.Signal:
		out.Detail = syscalls.SignalName(uint64(h.Number))
	case libuv.Process:
		out.Detail = fmt.Sprint(h.Number)
	}
	if !h.Active {
		out.Kind = ""
	}
	return out
}
