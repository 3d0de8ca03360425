package waits

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// briefly says what w is for where that takes fewer words than its head: descriptors and sets of them; "" for others.
func (g *Graph) briefly(w *Wait) string {
	switch sort := w.Object.Kind.Sort; {
	case w.Mode == Idle:
		return ""
	case w.Object.Kind == kindSomeCall:
		return "waits in " + text.Escape(w.Object.Name)
	case sort == profile.SortSet:
		return g.events(w)
	case sort == profile.SortConnection && w.Socket != nil:
		return "waits for a connection to " + text.Escape(w.Socket.Address)
	case sort == profile.SortSocketData && w.Socket != nil:
		return "reads " + w.Socket.peer() + g.of(w.Wakers, w.TID, " of ") + w.unseen()
	case sort == profile.SortSocketRoom && w.Socket != nil:
		return "writes to " + w.Socket.peer() + ", which is full" + g.of(w.Wakers, w.TID, ", read by ") + w.unseen()
	case sort == profile.SortPipeData && w.onlyBy(g.pid(w)):
		return "reads a pipe that only it can write to"
	case sort == profile.SortPipeData:
		return "reads a pipe" + g.of(w.Wakers, w.TID, " from ") + w.unseen()
	case sort == profile.SortPipeRoom:
		return "writes to a full pipe" + g.of(w.Wakers, w.TID, ", read by ") + w.unseen()
	case sort == profile.SortTerminalInput:
		return strings.TrimSpace("reads terminal " + text.Escape(w.Object.Name))
	}
	return ""
}

// unseen says why nobody is named who has the other end of a pipe or a socket, and what is odd about who has it, with a
// comma before it; "" where there is nothing to say.
func (w *Wait) unseen() string {
	switch {
	case w.Note != "":
		return ", " + text.Escape(w.Note)
	case w.Socket != nil && w.Socket.PeerErr != "":
		return ", " + text.Escape(w.Socket.PeerErr)
	case w.Socket == nil && len(w.Wakers) == 0 && w.Unlisted != "":
		return ", " + text.Escape(w.Unlisted)
	}
	return ""
}

// pid is the process of who waits, 0 if that is not known.
func (g *Graph) pid(w *Wait) int {
	if t := g.Facts.Thread(w.TID); t != nil {
		return t.Process.PID
	}
	return 0
}

// of names the processes of wakers behind a word, but for the one of the waiting thread; "" if there is none.
func (g *Graph) of(wakers []Waker, from int, word string) string {
	own := 0
	if t := g.Facts.Thread(from); t != nil {
		own = t.Process.PID
	}
	var names []string
	for _, to := range wakers {
		if to.PID != own && to.TID == 0 {
			names = append(names, strings.TrimPrefix(g.who(to, from), "process "))
		}
	}
	if len(names) == 0 {
		return ""
	}
	if n := len(names) - maxEnders; n > 0 {
		names = append(names[:maxEnders], fmt.Sprintf("%d more", n))
	}
	return word + strings.Join(names, " or ")
}

// families are how a person calls the tables that the kernel lists sockets in.
var families = map[string]string{"tcp": "TCP", "tcp6": "TCP", "udp": "UDP", "udp6": "UDP"}

// peer names the other end of e: "TCP 10.0.0.7:5432".
func (e *Endpoint) peer() string {
	name := families[e.Family]
	if name == "" {
		name = cmp.Or(text.Escape(e.Family), "a") + " socket"
	}
	if e.PeerAddress != "" {
		return name + " " + text.Escape(e.PeerAddress)
	}
	if e.Address != "" {
		return name + " " + text.Escape(e.Address)
	}
	return name
}

// nouns are what the parts of a set are counted as.
var nouns = map[profile.WaitSort]string{
	profile.SortSocketData: "socket", profile.SortSocketRoom: "socket", profile.SortAcceptance: "socket",
	profile.SortPipeData: "pipe", profile.SortPipeRoom: "pipe", profile.SortTerminalInput: "terminal",
	profile.SortTerminalRoom: "terminal", profile.SortProcess: "process", profile.SortSignal: "signalfd",
	profile.SortWatch: "inotify", profile.SortRing: "io_uring",
}

// maxListens bounds the addresses of listening sockets that are named.
const maxListens = 2

// events says what a set of descriptors waits for: "waits for events: 2 sockets, 1 pipe".
func (g *Graph) events(w *Wait) string {
	if len(w.Set) == 0 {
		return "waits for events (" + text.Escape(w.Object.Name) + ")"
	}
	if len(w.Set) == 1 {
		if only := g.onePart(w); only != "" {
			return "waits for events: " + only
		}
	}
	var words, order []string
	counts := map[string]int{}
	for i := range w.Set {
		p := &w.Set[i]
		if p.Listens && p.Socket != nil && len(words) < maxListens {
			words = append(words, "listens on "+text.Escape(p.Socket.Address))
			continue
		}
		noun := p.noun()
		if counts[noun]++; counts[noun] == 1 {
			order = append(order, noun)
		}
	}
	slices.Sort(order) // that of descriptors is another in each of many threads alike
	for _, noun := range order {
		words = append(words, text.Count(counts[noun], noun))
	}
	if len(w.Set) == maxParts {
		words = append(words, "perhaps more")
	}
	return "waits for events: " + strings.Join(words, ", ")
}

// onePart names the only descriptor of a set, "" where its kind says as much.
func (g *Graph) onePart(w *Wait) string {
	p := &w.Set[0]
	switch {
	case p.Socket != nil && !p.Listens:
		return p.Socket.peer() + g.of(p.Wakers, w.TID, " of ")
	case p.Object.Kind.Sort == profile.SortPipeData:
		return "a pipe" + g.of(p.Wakers, w.TID, " from ")
	case p.Object.Kind.Sort == profile.SortProcess && len(p.Wakers) == 1:
		return "end of" + g.of(p.Wakers, w.TID, " ")
	}
	return ""
}

func (p *Part) noun() string {
	if p.Listens {
		return "listening socket"
	}
	if noun := nouns[p.Object.Kind.Sort]; noun != "" {
		return noun
	}
	if p.Object.Kind.Sort == profile.SortEvent {
		return p.Object.Kind.Noun
	}
	return "descriptor"
}
