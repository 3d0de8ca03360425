package waits

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fpstack/fpstack/text"
)

// Brief is Words for the line of a thread: a set of descriptors is counted, and who could end the wait besides is left
// out.
func (g *Graph) Brief(w *Wait) string {
	var b strings.Builder
	if words := g.briefly(w); words != "" {
		b.WriteString(words)
	} else {
		b.WriteString(g.head(w))
	}
	b.WriteString(w.times())
	if w.Below != nil {
		b.WriteString("; below a signal handler: " + g.Brief(w.Below))
	}
	return b.String()
}

// Words says what w is, for a person: `waits for mutex 0x7f… held by 813 "worker-2"`. It has names of the target,
// quoted and escaped.
func (g *Graph) Words(w *Wait) string {
	var b strings.Builder
	b.WriteString(g.head(w))
	b.WriteString(w.times())
	if w.Unlisted != "" {
		b.WriteString("; " + w.Unlisted)
	}
	if w.Below != nil {
		b.WriteString("; below a signal handler: " + g.Words(w.Below))
	}
	return b.String()
}

// head says what w is for, and who is known to end it.
func (g *Graph) head(w *Wait) string {
	var b strings.Builder
	switch {
	case w.Mode == Idle:
		return "idle: " + text.Escape(w.Object.Name)
	case w.Object.Kind == Parked:
		return w.Note
	case w.Mode == Time && w.Object.Kind == kindTime && w.Object.Name != "":
		b.WriteString(w.Object.Name)
	case w.Object.Key.Class == Child && w.Mode == One && len(w.Wakers) == 1:
		fmt.Fprintf(&b, "waits for thread %s to end", g.who(w.Wakers[0], w.TID))
	case w.Object.Kind == kindChildEnd && len(w.Wakers) == 1:
		b.WriteString("waits for child " + g.process(w.Wakers[0].PID))
	case w.Object.Kind == kindChildEnd && w.Object.Name == anyChild && len(w.Wakers) > 1:
		b.WriteString(fmt.Sprintf("waits for any of %d children", len(w.Wakers)))
		b.WriteString(g.of(w.Wakers, w.TID, ": "))
	default:
		b.WriteString("waits for " + w.Object.Words())
		if w.Mode == One && len(w.Wakers) == 1 {
			before, after := w.Object.Kind.owned()
			b.WriteString(before + g.who(w.Wakers[0], w.TID) + after)
		}
	}
	if w.With != 0 {
		fmt.Fprintf(&b, " (with mutex %#x)", uint64(w.With))
	}
	b.WriteString(g.enders(w))
	if w.Note != "" {
		b.WriteString(", " + text.Escape(w.Note))
	}
	return b.String()
}

// times says when w ends by itself, with a comma before it; "" if it does not.
func (w *Wait) times() string {
	switch {
	case w.Mode == Idle || w.Object.Kind == Parked:
	case w.Mode == Time && w.HasLeft:
		return ", " + ahead(w.Left) + " left"
	case w.Mode == Time:
	case w.Timed && w.HasLeft:
		return ", gives up in " + ahead(w.Left)
	case w.Timed && w.Length > 0:
		return ", timeout " + ahead(w.Length)
	case w.Timed:
		return ", with a time limit"
	}
	return ""
}

// ahead is a time as a person says it: in hours or in whole seconds where it has many.
func ahead(d time.Duration) string {
	switch {
	case d >= 2*time.Hour:
		return strconv.FormatFloat(d.Hours(), 'f', 1, 64) + " h"
	case d >= 10*time.Second:
		return strconv.FormatInt(int64(d.Round(time.Second)/time.Second), 10) + " s"
	}
	return text.Duration(d.Round(time.Millisecond))
}

// maxEnders bounds the processes that are named as those that could end one wait.
const maxEnders = 3

// enders names the processes that could end w, where several threads of one or several processes could and the object
// does not say it.
func (g *Graph) enders(w *Wait) string {
	if w.Mode != Any && w.Mode != All || w.Object.Key.Class == Child || w.Object.Key.Class == Private ||
		w.Object.Kind == kindChildEnd && w.Object.Name == anyChild {
		return ""
	}
	t := g.Facts.Thread(w.TID)
	var names []string
	for _, to := range w.Wakers {
		if to.TID == 0 && (t == nil || to.PID != t.Process.PID || len(w.Wakers) > 1) {
			names = append(names, g.who(to, w.TID))
		}
	}
	if len(names) == 0 {
		return ""
	}
	if n := len(names) - maxEnders; n > 0 {
		names = append(names[:maxEnders], fmt.Sprintf("%d more", n))
	}
	if w.Mode == All {
		return ", held by " + strings.Join(names, " and ")
	}
	return ", from " + strings.Join(names, " or ")
}

// Words says which object it is: "mutex 0x7f…".
func (o *Object) Words() string {
	words := o.Kind.Noun
	if o.Key.Class == Runtime {
		words = text.Escape(o.Name)
	}
	if o.Addr != 0 {
		words += " " + hex(uint64(o.Addr))
	}
	if o.Name != "" && o.Key.Class != Runtime {
		words += " (" + text.Escape(o.Name) + ")"
	}
	return words
}

// hex writes a number as 0x7f.
func hex(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

// who names a thread or a process, as thread from calls it: with its process if that is another.
func (g *Graph) who(to Waker, from int) string {
	if g.Facts.Reader != 0 && to.PID == g.Facts.Reader {
		return "this fpstack"
	}
	p := g.Facts.Process(to.PID)
	if to.TID == 0 {
		if p == nil {
			return fmt.Sprintf("process %d", to.PID)
		}
		return fmt.Sprintf("process %d %s", to.PID, text.Quote(p.Comm))
	}
	if to.TID == from {
		return "itself"
	}
	words := strconv.Itoa(to.TID)
	t, waiter := g.Facts.Thread(to.TID), g.Facts.Thread(from)
	other := p != nil && (waiter == nil || waiter.Process.PID != to.PID)
	if other && to.TID == p.PID && (t == nil || t.name() == "" || t.name() == p.Comm) { // its id and name say it all
		return fmt.Sprintf("process %d %s", to.PID, text.Quote(p.Comm))
	}
	if t != nil && t.name() != "" {
		words += " " + text.Quote(t.name())
	}
	if other {
		words += fmt.Sprintf(" of process %d %s", p.PID, text.Quote(p.Comm))
	}
	return words
}

// process names a process in short: `813 (redis-server)`.
func (g *Graph) process(pid int) string {
	if p := g.Facts.Process(pid); p != nil && p.Comm != "" {
		return fmt.Sprintf("%d (%s)", pid, text.Escape(p.Comm))
	}
	return strconv.Itoa(pid)
}

// thread names a thread: `thread 813 "worker-2"`, with its process if several were asked for; one that is all of its
// process is called by that.
func (g *Graph) thread(tid int) string {
	t := g.Facts.Thread(tid)
	if t == nil {
		return fmt.Sprintf("thread %d", tid)
	}
	several := len(g.Facts.Processes) > 1
	whole := several && tid == t.Process.PID && len(t.Process.Threads) == 1
	words := fmt.Sprintf("thread %d", tid)
	if whole {
		words = fmt.Sprintf("process %d", tid)
	}
	if t.name() != "" {
		words += " " + text.Quote(t.name())
	}
	if several && !whole {
		words += fmt.Sprintf(" of process %d", t.Process.PID)
	}
	return words
}

// name is what t is called: by its language, where that has a name for it.
func (t *Thread) name() string { return cmp.Or(t.Name, t.Comm) }

// does says what a thread does that others wait for.
func (g *Graph) does(tid int) string {
	t := g.Facts.Thread(tid)
	if t == nil {
		return ""
	}
	words := map[byte]string{'R': "runs", 'T': "is stopped", 't': "is stopped by a tracer", 'Z': "has ended",
		'D': "is in an uninterruptible sleep"}[t.State]
	w := g.Of(tid)
	switch {
	case words != "" && (t.State == 'T' || t.State == 't' || t.State == 'Z' || w == nil):
	case w != nil && w.Mode == Idle:
		words = "is " + g.Brief(w)
	case w != nil:
		words = g.Brief(w)
	case t.First.Refused:
		words = "may not be inspected"
	default:
		words = "runs"
	}
	return words
}
