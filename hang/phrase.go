package hang

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// maxSteps bounds the steps of a chain that are shown: the first ones and the last.
const maxSteps = 6

// chain says how the root of a case comes to wait for n: `make (77) waits for test_net (812)`. It ends with what n is.
func (j *judging) chain(n *node) string {
	var steps []*node
	for at := n; at != nil; at = at.from {
		steps = append(steps, at)
	}
	slices.Reverse(steps)
	var b strings.Builder
	if w := j.waiting[steps[0].tid]; len(steps) > 1 && w != nil && slices.Contains(w.Children, steps[1].pid) {
		b.WriteString(j.process(steps[0].pid)) // whatever thread that is
	} else {
		b.WriteString(j.root(steps[0]))
	}
	for i, at := range steps[1:] {
		if left := len(steps) - 1 - i; len(steps) > maxSteps && i == maxSteps/2 && left > 2 {
			fmt.Fprintf(&b, ", which waits, through %s more,", text.Count(left-1, "step"))
			b.WriteString(" for " + j.who(n, 0))
			return b.String()
		}
		if i > 0 {
			b.WriteString(", which")
		}
		b.WriteString(" " + j.link(at))
	}
	return b.String()
}

// mostSentence bounds a sentence, in characters.
const mostSentence = 199

// sentence says how the roots come to wait for n, and what that does: in fewer steps where that would be long.
func (j *judging) sentence(n *node, does string) string {
	say := func(chain string) string {
		switch {
		case does == "":
			return chain
		case n.from == nil:
			return chain + " " + does
		}
		return chain + ", which " + does
	}
	words := say(j.chain(n))
	if utf8.RuneCountInString(words) > mostSentence && n.from != nil {
		first, steps := n.root(), 0
		for at := n; at.from != nil; at = at.from {
			steps++
		}
		through := ""
		if steps > 1 {
			through = fmt.Sprintf(", through %s,", text.Count(steps-1, "step"))
		}
		words = say(j.root(first) + " waits" + through + " for " + j.who(n, 0))
	}
	return fit(words, "")
}

// fit is the sentence with more, or without it, or cut, whatever there is room for.
func fit(words, more string) string {
	switch n := utf8.RuneCountInString(words); {
	case n+utf8.RuneCountInString(more) <= mostSentence:
		return words + more
	case n <= mostSentence:
		return words
	}
	return cut(words, mostSentence)
}

// cut is words in at most that many characters.
func cut(words string, most int) string {
	if utf8.RuneCountInString(words) <= most {
		return words
	}
	return string([]rune(words)[:most-1]) + "…"
}

// root names the thread that a chain begins with: by its process alone where that is enough.
func (j *judging) root(n *node) string {
	w := j.waiting[n.tid]
	if n.tid == 0 || n.tid == n.pid || len(j.members[n.pid]) <= 1 || w != nil && (w.Mode == profile.WaitIdle ||
		isEnd(w)) {
		return j.process(n.pid)
	}
	return j.process(n.pid) + ": " + j.thread(n.tid, n.pid)
}

// link says how the one before n waits for it.
func (j *judging) link(n *node) string {
	w, from := n.by, n.from.pid
	who := j.who(n, from)
	switch {
	case j.lockOf(n):
		return "waits for a lock held, it seems, by " + who
	case w == nil, isEnd(w), slices.Contains(w.Children, n.pid):
		return "waits for " + who
	case w.Sort == profile.SortThread:
		return "waits for the end of " + who
	case w.Sort == profile.SortVfork:
		return "waits for its vfork child " + who
	case w.Sort == profile.SortAcceptance:
		return "waits for its connection to be accepted by " + who
	case w.Sort == profile.SortPipeData:
		return "reads a pipe; its write end is held by " + who
	case w.Sort == profile.SortPipeRoom:
		return "writes to a full pipe; its read end is held by " + who
	case w.Sort == profile.SortSocketData, w.Sort == profile.SortSocketRoom:
		return socketVerb(w) + socketName(w) + "; the other end is " + who
	case w.Sort == profile.SortFileLock:
		return "waits for lock " + text.Escape(w.Name) + ", held by " + who
	case len(w.Set) > 0:
		return j.linkOfSet(n, w, who)
	case w.Sort == profile.SortSet, w.Mode == profile.WaitIdle:
		return "waits for events, which " + who + " may bring"
	case w.Mode == profile.WaitOne:
		return "waits for " + object(w) + " held by " + who
	}
	return "waits at " + object(w) + " for " + who
}

// linkOfSet is link of a wait for one of several descriptors: by the one that n has the other end of.
func (j *judging) linkOfSet(n *node, w *profile.Wait, who string) string {
	for i := range w.Set {
		p := &w.Set[i]
		if !isSought(p) || j.isOfDeath(n.from.pid, p) || !slices.ContainsFunc(p.Wakers,
			func(to profile.Waker) bool { return to.PID == n.pid }) {
			continue
		}
		switch p.Sort {
		case profile.SortPipeData:
			return "reads a pipe; its write end is held by " + who
		case profile.SortPipeRoom:
			return "writes to a full pipe; its read end is held by " + who
		case profile.SortProcess, profile.SortChild:
			return "waits for " + who
		}
		return "waits for an answer of " + who
	}
	return "waits for " + who
}

// isEnd reports whether w is for the end of a process.
func isEnd(w *profile.Wait) bool {
	return w.Sort == profile.SortChild || w.Sort == profile.SortProcess
}

// socketVerb is what a thread does that waits at a socket.
func socketVerb(w *profile.Wait) string {
	if w.Sort == profile.SortSocketRoom {
		return "writes to "
	}
	return "reads from "
}

// socketName is what a socket is called: `tcp 127.0.0.1:5432` by its other end, else by all that is known.
func socketName(w *profile.Wait) string {
	if w.Peer != "" {
		return text.Escape(w.Peer)
	}
	if w.Name == "" {
		return "a socket"
	}
	return text.Escape(w.Name)
}

// briefly is what a thread does that waits for w, in few words.
func briefly(w *profile.Wait) string { return text.Message(cmp.Or(w.Brief, w.Text)) }

// object is what a wait is for: "mutex 0x7f…".
func object(w *profile.Wait) string {
	words := text.Escape(w.Kind)
	if w.Addr != 0 {
		words += fmt.Sprintf(" %#x", w.Addr)
	}
	return words
}

// who names n as the thread or process that somebody of process from waits for.
func (j *judging) who(n *node, from int) string {
	if n.pid == from && n.tid != 0 {
		return j.thread(n.tid, from)
	}
	words := j.process(n.pid)
	if w := n.by; w != nil && w.Mode == profile.WaitOne && n.tid != 0 && len(j.members[n.pid]) > 1 {
		words = j.thread(n.tid, 0) // that thread alone can end it
	}
	return words + j.about(n.pid, from)
}
