package waits

import (
	"slices"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

var (
	modeNames = [...]profile.WaitMode{profile.WaitUnknown, profile.WaitOne, profile.WaitAll, profile.WaitAny,
		profile.WaitTime, profile.WaitOutside, profile.WaitIdle}
	certaintyNames = [...]string{"possible", "inferred", "shown", "proven"}
	cycleNames     = [...]profile.CycleKind{profile.CycleDeadlock, profile.CyclePassing, profile.CycleSupposed,
		profile.CycleStuck}
)

// Show makes of g what a person is shown, with the threads of the processes that were asked for.
func (g *Graph) Show() *profile.Waits { return g.show(false) }

// ShowAll is Show with the threads of all processes, those too that the others wait for.
func (g *Graph) ShowAll() *profile.Waits { return g.show(true) }

func (g *Graph) show(all bool) *profile.Waits {
	out := &profile.Waits{Waiting: g.Waiting, Owned: g.Owned, Problems: slices.Clone(g.Facts.Problems)}
	if len(g.Facts.Processes) > 0 {
		out.Time = g.Facts.Processes[0].At
	}
	out.Threads = slices.Grow(out.Threads, g.Facts.Threads())
	for _, p := range g.Facts.Processes {
		out.Processes = append(out.Processes, profile.Process{PID: p.PID, Comm: p.Comm, Arch: p.Arch})
		if p.Err != nil {
			out.Problems = append(out.Problems, p.Err.Error())
		}
		if !p.Asked && !all {
			continue
		}
		for _, t := range p.Threads {
			shown := profile.WaitingThread{PID: p.PID,
				Thread: profile.Thread{TID: t.TID, Name: t.name(), Wait: g.Shown(t.TID)}}
			if t.State != 0 {
				shown.State = string(t.State)
			}
			out.Threads = append(out.Threads, shown)
		}
	}
	for i := range g.Cycles {
		out.Cycles = append(out.Cycles, g.showCycle(&g.Cycles[i]))
	}
	for i := range g.Roots {
		out.Roots = append(out.Roots, g.showRoot(&g.Roots[i]))
	}
	return out
}

// Shown is the wait of a thread as a person is shown it, nil if it is not blocked.
func (g *Graph) Shown(tid int) *profile.Wait {
	w := g.Of(tid)
	if w == nil {
		return nil
	}
	out := &profile.Wait{Text: g.Words(w), Brief: g.Brief(w), Sort: w.Object.Kind.Sort,
		Kind: w.Object.Kind.Noun, Name: w.Object.Name,
		Addr: profile.Address(w.Object.Addr), With: profile.Address(w.With), Mode: modeNames[w.Mode], Timed: w.Timed,
		Evidence: w.Evidence,
		Lost:     w.Lost, Forked: w.Forked, Listens: w.Listens, Peer: w.Peer, Made: w.Made, Length: w.Length,
		Children: w.Children, Handled: w.Handled, Alarm: w.Alarm}
	if w.HasLeft {
		out.Left = w.Left
	}
	for _, to := range w.Wakers {
		out.Wakers = append(out.Wakers, profile.Waker(to))
	}
	for i := range w.Set {
		part := &w.Set[i]
		shown := profile.WaitPart{FD: part.FD, Sort: part.Object.Kind.Sort, Name: part.Object.Name, Peer: part.Peer,
			Listens: part.Listens, Own: part.Own, Made: part.Made}
		for _, to := range part.Wakers {
			shown.Wakers = append(shown.Wakers, profile.Waker(to))
		}
		out.Set = append(out.Set, shown)
	}
	if len(w.Wakers) > 0 || w.Mode == One {
		out.Certainty = certaintyNames[w.Certainty]
	}
	return out
}

// maxLines is how many threads of a cycle have a line.
const maxLines = 64

func (g *Graph) showCycle(c *Cycle) profile.WaitCycle {
	out := profile.WaitCycle{Kind: cycleNames[c.Kind], Threads: c.Threads, Stood: c.Stood, Behind: c.Behind,
		Text: g.cycleWords(c)}
	for _, tid := range c.Threads[:min(maxLines, len(c.Threads))] {
		out.Lines = append(out.Lines, g.thread(tid)+" "+g.Words(g.Of(tid)))
	}
	return out
}

func (g *Graph) cycleWords(c *Cycle) string {
	n := text.Count(len(c.Threads), "thread")
	switch {
	case c.Kind == Stuck && len(c.Threads) == 1:
		return "cycle of waits: nobody else could end the wait of the one thread, but for a signal handler"
	case c.Kind == Stuck:
		return "cycle of waits: nobody but these " + n + " could end one of their waits, but for a signal handler"
	case c.Kind == Supposed && len(c.Threads) == 1:
		return "perhaps a deadlock: the thread seems to wait for itself, which is not proven"
	case c.Kind == Supposed:
		return "perhaps a deadlock: " + n + " seem to wait for each other, which is not proven"
	case c.Kind == Passing:
		return "no deadlock: " + n + " wait for each other, until one gives up"
	case len(c.Threads) == 1:
		return "deadlock: the thread waits for itself"
	}
	return "deadlock: " + n + " wait for each other"
}

func (g *Graph) showRoot(r *Root) profile.WaitRoot {
	out := profile.WaitRoot{Waker: profile.Waker(r.Waker), Behind: r.Behind, Certainty: certaintyNames[r.Certainty]}
	waiting := text.Count(len(r.Behind), "thread") + " wait for "
	if len(r.Behind) == 1 {
		waiting = g.thread(r.Behind[0]) + " waits for "
	}
	switch {
	case r.Why != "" && g.Of(r.TID).Object.Kind == Parked && len(r.Behind) == 1:
		out.Text = g.thread(r.TID) + " is " + r.Why
	case r.Why != "" && g.Of(r.TID).Object.Kind == Parked:
		out.Text = waiting + g.thread(r.TID) + ", " + r.Why
	case r.Why != "":
		object := &g.Of(r.TID).Object
		out.Text = waiting + object.Words() + ", " + r.Why
	case r.TID == 0:
		out.Text = waiting + g.who(r.Waker, 0)
	default:
		out.Text = waiting + g.thread(r.TID) + ", which " + g.does(r.TID)
	}
	return out
}
