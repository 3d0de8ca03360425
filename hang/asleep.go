package hang

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// longSleep is from when on a sleep that ends by itself is called a hang.
const longSleep = 10 * time.Minute

// sleepKind says whether a sleep is a hang: one that ends soon may be what the program is to do. That somebody holds a
// pipe while it sleeps is no wait for its work.
func sleepKind(n *node, w *profile.Wait) Kind {
	if n.piped || max(w.Left, w.Length) >= longSleep {
		return Waiting
	}
	return Unknown
}

// loop says what an event loop waits for: a connection that is open keeps it, and a timer ends its wait.
func (j *judging) loop(n *node, l *profile.Loop) (rank, Kind, string) {
	w := j.waiting[n.tid]
	if w.Listens {
		return rankWork, Unknown, "waits for connections"
	}
	var open []string
	for i := range l.Handles {
		h := &l.Handles[i]
		switch {
		case !h.Keeps || h.Internal:
			continue
		case h.HasIn:
			return rankLoop, Unknown, fmt.Sprintf("waits for events; a %s is due in %s", text.Escape(h.Kind),
				text.Duration(max(0, h.In)))
		}
		open = append(open, handleName(h, w))
	}
	words := "waits for events; nothing due"
	if l.Requests > 0 {
		words += "; " + text.Count(l.Requests, "request") + " under way"
	}
	if len(open) > 0 {
		const most = 3
		more := ""
		if len(open) > most {
			more = fmt.Sprintf(" and %d more", len(open)-most)
		}
		words += "; open: " + strings.Join(open[:min(most, len(open))], ", ") + more
	}
	return rankLoop, Waiting, words
}

// handleName is what a person calls a handle: the address of the other end of a connection, else its kind and file.
func handleName(h *profile.Handle, w *profile.Wait) string {
	for i := range w.Set {
		if p := &w.Set[i]; p.FD == h.FD && p.Peer != "" {
			return text.Escape(p.Peer)
		}
	}
	words := h.Kind
	if h.Detail != "" {
		words += " " + h.Detail
	}
	if h.File != "" {
		words += " " + h.File
	}
	return text.Escape(words)
}

// waitingFibers are the fibers of a process that belong to the program, if all of them wait; nil otherwise.
func waitingFibers(d *profile.Dump) (all []*profile.Fiber) {
	for i := range d.Fibers {
		f := &d.Fibers[i]
		if f.System {
			continue
		}
		if f.TID != 0 || slices.Contains([]string{"running", "runnable", "syscall", "sleep"}, f.State) {
			return nil
		}
		all = append(all, f)
	}
	return all
}

// fibers says what goroutines wait for, by the one that runs the user's own code.
func (j *judging) fibers(pid int) string {
	d, all := j.of(pid).dump, j.of(pid).fibers
	words := fmt.Sprintf("has %s, and all of them wait", text.Count(len(all), all[0].Kind))
	if f, frame := culpritFiber(d, all); frame != nil {
		name := strconv.FormatUint(f.ID, 10)
		if f.Name != "" {
			name = text.Quote(f.Name)
		}
		words += fmt.Sprintf(": %s %s [%s] in %s", f.Kind, name, text.Escape(f.State), place(frame))
	}
	return words
}

// culpritFiber is the first of those fibers that runs the user's own code, and where: those that a test runner began
// come before its own.
func culpritFiber(d *profile.Dump, all []*profile.Fiber) (*profile.Fiber, *profile.Frame) {
	for _, f := range all {
		if f.Stack >= len(d.FiberStacks) || f.Missing != "" {
			continue
		}
		if frame := ownFrame(d, &d.FiberStacks[f.Stack].Stack); frame != nil {
			return f, frame
		}
	}
	return nil, nil
}

// blockedKind says whether a thread that waits for nobody that is known hangs: if no thread of its process ran but to
// wake and sleep again, nothing in it goes on.
func (j *judging) blockedKind(n *node) Kind {
	if j.of(n.pid).rests {
		return Waiting
	}
	return Unknown
}

// blocked says what a thread waits for that nobody is known to end.
func (j *judging) blocked(n *node, w *profile.Wait) string {
	words := text.Message(w.Text)
	if t := j.sampled[n.tid]; t != nil {
		if frame := ownFrame(j.of(n.pid).dump, &t.Stack); frame != nil {
			words += ", in " + place(frame)
		}
	}
	return words
}
