package hang

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// A thread that waits for the end of others, or for what they come to, hangs because they do: it is named last.

// threadJoins are the functions of languages by which a thread waits so, as they end, by the file that has them.
var threadJoins = map[string][]string{
	"/threading.py":                {"_shutdown", "Thread.join", "Thread._wait_for_tstate_lock"},
	"/concurrent/futures/_base.py": {"Future.result", "Future.exception", "wait", "as_completed"},
	"/multiprocessing/pool.py":     {"ApplyResult.get", "ApplyResult.wait", "Pool.join", "IMapIterator.next"},
	"/multiprocessing/process.py":  {"BaseProcess.join"},
	"Thread.java":                  {"java.lang.Thread.join"},
	"FutureTask.java":              {"java.util.concurrent.FutureTask.get"},
}

// joinsThreads reports whether a thread is in such a function, before the first of the user's own.
func (j *judging) joinsThreads(n *node) bool {
	t := j.sampled[n.tid]
	if t == nil {
		return false
	}
	if t.Runtime != nil && t.Runtime.Name == "DestroyJavaVM" {
		return true
	}
	d := j.of(n.pid).dump
	for i := range t.Stack.Frames {
		f := &t.Stack.Frames[i]
		if !f.Kind.Made() {
			continue
		}
		if isOwn(d, f) {
			return false
		}
		for file, functions := range threadJoins {
			if strings.HasSuffix(f.File, file) && slices.Contains(functions, f.Func) {
				return true
			}
		}
	}
	return false
}

// compareSinks puts the most likely cause first: by rank, then who does not wait for somebody to connect, then who is
// in a function of the user's own and does not wait there for others to end; of threads of a language the first one
// last.
func (j *judging) compareSinks(a, b *sink) int {
	if byRank := cmp.Compare(a.rank, b.rank); byRank != 0 {
		return byRank
	}
	return cmp.Compare(j.doubts(a), j.doubts(b))
}

// doubts is how much speaks against a sink as the cause, of those of its rank. A thread with an event loop is where a
// server waits, whatever functions it has.
func (j *judging) doubts(s *sink) (n int) {
	w, t := j.waiting[s.tid], j.sampled[s.tid]
	if w != nil && w.Listens && !j.tree[s.pid] {
		n += 8
	}
	if s.rank == rankWork && j.of(s.pid).serves && (w == nil || !w.Listens) { // who listens says it best
		n += 8
	}
	if j.joinsThreads(s.node) {
		n += 2
	}
	if of := j.of(s.pid); of.locking[s.tid] == 0 && !of.computes[s.tid] {
		n++ // no other thread waits for it
	}
	if t == nil || t.Loop != nil && s.rank == rankWork || len(j.members[s.pid]) == 1 ||
		len(j.blamed(s.pid, s.tid)) > 0 {
		return n
	}
	switch d := j.of(s.pid).dump; {
	case ownFrame(d, &t.Stack) != nil:
	case entryFrame(d, &t.Stack) != nil:
		n += 2
	default:
		n += 4
	}
	if s.tid == s.pid && made(&t.Stack) {
		n++
	}
	return n
}

// joinsOnly reports whether n does nothing but wait for other threads of its process to end.
func (j *judging) joinsOnly(n *node, w *profile.Wait) bool {
	return len(j.members[n.pid]) > 1 && w.Mode != profile.WaitOne && j.joinsThreads(n) &&
		ownFrame(j.of(n.pid).dump, &j.sampled[n.tid].Stack) == nil
}
