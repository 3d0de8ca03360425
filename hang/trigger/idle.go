package trigger

import (
	"fmt"
	"time"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/text"
)

// entry is a moment that a window may begin at.
type entry struct {
	at       time.Time
	usage    map[procfs.Identity]Used
	evidence Evidence
}

// window watches for a time in which nothing happens.
type window struct {
	length  time.Duration
	cpu     float64
	entries []entry   // the oldest first
	last    entry     // the check before, without evidence
	moving  time.Time // when a new command was seen
	command string    // it
	seen    map[string]bool
	repeats map[procfs.Identity]bool // further runs of what had been seen
	excuses int                      // windows in a row that were excused by new commands alone
}

// steps is how many places of a window another one may begin at.
const steps = 60

// maxSeen bounds the command lines that are remembered.
const maxSeen = 1 << 16

// maxExcuses is how often in a row a quiet window is not idle for new commands alone.
const maxExcuses = 3

// reset begins again: nothing that was read counts.
func (w *window) reset() { w.entries, w.last = nil, entry{} }

// check reads s, and reports whether everything was idle for the length of the window. say gets what moved, if all was
// quiet and was not idle.
func (w *window) check(now time.Time, s Source, say func(string)) bool {
	u := s.Usage()
	w.commands(now, &u)
	before := w.last
	w.last = entry{at: now, usage: u.Of}
	due := len(w.entries) == 0 || now.Sub(w.entries[len(w.entries)-1].at) >= w.length/steps
	if due && (before.at.IsZero() || w.quiet(&before, &w.last)) { // a window that begins busy is none
		e := w.last
		e.evidence = s.Evidence()
		w.entries = append(w.entries, e)
	}
	return w.judge(now, s, say)
}

// judge judges the newest window that is long enough.
func (w *window) judge(now time.Time, s Source, say func(string)) bool {
	i := -1
	for j := range w.entries {
		if now.Sub(w.entries[j].at) >= w.length {
			i = j
		}
	}
	if i < 0 {
		return false
	}
	begin := w.entries[i]
	w.entries = w.entries[i:] // older ones are judged no more
	if !w.quiet(&begin, &w.last) {
		w.entries = w.entries[1:]
		return false
	}
	what, bytes := w.moved(&begin, s.Evidence())
	switch {
	case bytes:
		w.excuses = 0
	case what != "" && w.excuses < maxExcuses:
		w.excuses++
	default:
		return true
	}
	say(fmt.Sprintf("quiet for %s, but %s", text.Duration(now.Sub(begin.at)), what))
	w.entries = nil
	return false
}

// quiet reports whether between two moments every process used less than it may in the mean, and all together too.
// Processes that are there at the end alone count with all they used, and who waited for a child not with what that had
// used before.
func (w *window) quiet(from, to *entry) bool {
	most := time.Duration(w.cpu * float64(to.at.Sub(from.at)))
	all, quiet := time.Duration(0), true
	grew(from.usage, to.usage, func(u Used) int { return u.Parent }, func(u Used) time.Duration { return u.CPU },
		func(_ procfs.Identity, by time.Duration) {
			all += by
			quiet = quiet && by <= most
		})
	return quiet && all <= together*most
}

// moved words what moved since a moment, "" for nothing. bytes says that it can be counted, other than a new command.
func (w *window) moved(since *entry, now Evidence) (what string, bytes bool) {
	if n := received(since.evidence.Network, now.Network); n > mostNetwork {
		return fmt.Sprintf("%s went over the network", text.Quantity(float64(n), "bytes")), true
	}
	before := since.evidence.IO
	if n := now.IO.Read(before, w.repeats) + now.IO.Written(before, false); n > mostIO {
		return fmt.Sprintf("%s were read and written", text.Quantity(float64(n), "bytes")), true
	}
	if now.Output.since(&since.evidence.Output) {
		return "something was written to its output", true
	}
	if w.moving.After(since.at) {
		return "it started a command: " + w.command, false
	}
	return "", false
}

// commands remembers command lines, and when there was one that had not been there.
func (w *window) commands(now time.Time, u *Usage) {
	for id := range w.repeats {
		if _, lives := u.Of[id]; !lives {
			delete(w.repeats, id)
		}
	}
	for id, line := range u.Commands {
		switch {
		case w.seen[line]:
			w.repeats[id] = true
		case len(w.seen) < maxSeen:
			w.seen[line] = true
			w.moving, w.command = now, line
		}
	}
}
