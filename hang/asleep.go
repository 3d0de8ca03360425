package hang

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// longSleep is from when on a sleep that ends by itself is called a hang.
const longSleep = 10 * time.Minute

// once is how many voluntary switches a thread has that only begins a wait, or begins it again after a stop: it may
// wait for a lock on the way.
const once = 2

// sleepKind says whether a sleep is a hang: one that ends soon may be what the program is to do, and a thread that did
// something between the moments has not slept so long.
func (j *judging) sleepKind(tid int, w *profile.Wait) Kind {
	if max(w.Left, w.Length) >= longSleep && (j.classOf(tid) != Waking || j.c.did(tid).voluntary <= once) {
		return Waiting
	}
	return Unknown
}

// hasTimer reports whether w, for events, ends by itself before long: a program sets a timer of its own so.
func hasTimer(w *profile.Wait) bool {
	return w != nil && w.Timed && (w.Sort == profile.SortSet || len(w.Set) > 0 || w.Sort == profile.SortTimers) &&
		max(w.Left, w.Length) < longSleep
}

// asleep says how long a thread sleeps still, and where.
func (j *judging) asleep(n *node, w *profile.Wait) string {
	words := briefly(w)
	switch {
	case w.Left > 0:
		words = "is asleep for " + asleepFor(w.Left) + " more"
	case w.Length > 0:
		words = "is asleep, for " + asleepFor(w.Length) + " at most"
	}
	return words + j.where(n)
}

// keepsAlive reports whether a thread sleeps in the function that it began with, as a main does that keeps its program
// alive. What sleeps in a function below that may have what others wait for.
func (j *judging) keepsAlive(n *node) bool {
	t, own := j.sampled[n.tid], 0
	if t == nil {
		return false
	}
	for i := range t.Stack.Frames {
		if f := &t.Stack.Frames[i]; f.Kind.Made() == made(&t.Stack) && isOwn(j.of(n.pid).dump, f) {
			own++
		}
	}
	return own == 1
}

// asleepFor is how long a sleep lasts: hours, as a person says them, where it is some, else seconds.
func asleepFor(d time.Duration) string {
	if d >= 2*time.Hour {
		return fmt.Sprintf("%.1f h", d.Hours())
	}
	return text.Duration(d)
}

// where is the user's own function that a thread is in: ", in f (file.c:4)"; "" for none.
func (j *judging) where(n *node) string {
	d, t := j.of(n.pid).dump, j.sampled[n.tid]
	if t == nil {
		return ""
	}
	frame := ownFrame(d, &t.Stack)
	if frame == nil {
		frame = entryFrame(d, &t.Stack)
	}
	if frame == nil {
		return ""
	}
	return ", in " + place(frame)
}

// loop says what an event loop waits for: a connection that is open keeps it, and a timer ends its wait.
func (j *judging) loop(n *node, l *profile.Loop) (rank, Kind, string) {
	w := j.waiting[n.tid]
	calls, _, _ := j.awaiting(j.of(n.pid).dump, j.of(n.pid).leaves)
	if calls != "" {
		calls = "; " + calls
	}
	if w.Listens {
		return rankWork, Unknown, "waits for connections" + calls
	}
	var open []string
	for i := range l.Handles {
		h := &l.Handles[i]
		switch {
		case !h.Keeps || h.Internal:
			continue
		case h.HasIn:
			return rankLoop, Unknown, fmt.Sprintf("waits for events; a %s is due in %s", text.Escape(h.Kind),
				text.Duration(max(0, h.In))) + calls
		}
		open = append(open, handleName(h, w))
	}
	words := "waits for events; nothing due"
	if l.Requests > 0 {
		words += "; " + text.Count(l.Requests, "request") + " under way"
	}
	words += calls
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

// isKept reports whether something keeps an event loop but that other threads of its process may wake it.
func isKept(l *profile.Loop) bool {
	return l.Requests > 0 || slices.ContainsFunc(l.Handles, func(h profile.Handle) bool {
		return h.Keeps && !h.Internal && h.Kind != profile.HandleAsync
	})
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
	says := w.Sort == profile.SortPool || w.Sort == profile.SortUnbegun // more than the function that waits for it
	if t := j.sampled[n.tid]; t != nil && made(&t.Stack) && !says {
		if by := libraryCall(j.of(n.pid).dump, &t.Stack); by != "" {
			return "waits in " + by + j.where(n)
		}
	}
	return briefly(w) + j.where(n)
}
