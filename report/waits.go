package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// WaitsText writes w for a person: cycles and roots first, then each process with what its threads wait for, those
// together that wait for the same. Of opt it heeds Style, Verbose, Group and Width.
func WaitsText(to io.Writer, w *profile.Waits, opt Options) error {
	p := &printer{w: bufio.NewWriter(to), dump: &profile.Dump{}, opt: opt}
	p.verdict(w, 1)
	for i := range w.Processes {
		p.waitingProcess(w, &w.Processes[i])
	}
	p.waitsEnd(w)
	for _, problem := range w.Problems {
		p.cutLine(text.Message(problem))
	}
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("write waits: %w", err)
	}
	return nil
}

// verdict writes cycles, and roots that at least so many threads wait for.
func (p *printer) verdict(w *profile.Waits, least int) {
	for i := range w.Cycles {
		p.cycle(&w.Cycles[i])
	}
	for i := range w.Roots {
		if r := &w.Roots[i]; len(r.Behind) >= least {
			p.line(text.Wrap(text.Message(r.Text), p.width(), 4))
			p.evidence("  ", []string{"certainty: " + r.Certainty})
		}
	}
}

func (p *printer) cycle(c *profile.WaitCycle) {
	part := Cut
	if c.Kind != profile.CycleDeadlock {
		part = Thread
	}
	p.line(p.style(part, text.Wrap(text.Message(c.Text), p.width(), 4)))
	for _, line := range c.Lines {
		p.line("  ", text.Wrap("  "+text.Message(line), p.width(), 4)[2:])
	}
	if n := len(c.Behind); n > 0 {
		p.line(fmt.Sprintf("  %s behind: %s", counted(n, "thread"), p.ranges(numbers(c.Behind))))
	}
	if c.Stood > 0 {
		p.line("  none of them ran in the ", text.Duration(c.Stood), " between two readings")
	}
}

func numbers(ids []int) []uint64 {
	out := make([]uint64, len(ids))
	for i, id := range ids {
		out[i] = uint64(id)
	}
	return out
}

// waitingProcess writes the threads of one process that were asked for.
func (p *printer) waitingProcess(w *profile.Waits, process *profile.Process) {
	var threads []*profile.Thread
	for i := range w.Threads {
		if t := &w.Threads[i]; t.PID == process.PID {
			threads = append(threads, &t.Thread)
		}
	}
	if len(threads) == 0 {
		return
	}
	head := fmt.Sprintf("process %d %s", process.PID, text.Escape(process.Comm))
	p.wrapped(Heading, head, "  "+counted(len(threads), "thread"), "")
	for _, part := range split(threads, p.waitKey) {
		who := "thread " + p.ids(part.threads)
		if len(part.threads) > 1 {
			who = fmt.Sprintf("%d threads %s", len(part.threads), p.ids(part.threads))
		}
		p.wrapped(Thread, who, " "+p.names(part.threads), waitText(part.threads[0]))
		p.waitEvidence("  ", part.threads[0].Wait)
	}
}

// waitKey is equal for threads that are shown as one.
func (p *printer) waitKey(t *profile.Thread) string {
	if !p.opt.Group {
		return fmt.Sprint(t.TID)
	}
	return waitText(t)
}

// waitText is the state of a thread and what it waits for.
func waitText(t *profile.Thread) string {
	state := text.Escape(t.State)
	if t.Wait == nil {
		return state
	}
	return state + "  " + text.Message(t.Wait.Text)
}

// evidence writes what a wait was seen by, if Verbose.
func (p *printer) evidence(indent string, list []string) {
	if !p.opt.Verbose {
		return
	}
	for _, e := range list {
		p.line(indent, text.Message(e))
	}
}

// waitEvidence writes how sure it is whom a thread waits for, and by what, if Verbose.
func (p *printer) waitEvidence(indent string, w *profile.Wait) {
	if w == nil {
		return
	}
	if w.Certainty != "" {
		p.evidence(indent, []string{"certainty: " + w.Certainty})
	}
	p.evidence(indent, w.Evidence)
}

// waitsEnd says how much is known.
func (p *printer) waitsEnd(w *profile.Waits) {
	if w.Waiting == 0 {
		p.line("no thread waits for another")
		return
	}
	known := fmt.Sprintf("%d of %s with a known owner", w.Owned, counted(w.Waiting, "wait"))
	if !slices.ContainsFunc(w.Cycles, func(c profile.WaitCycle) bool {
		return c.Kind == profile.CycleDeadlock || c.Kind == profile.CycleStuck
	}) {
		known = "no deadlock found; " + known
	}
	p.line(text.Wrap(known, p.width(), 4))
}

// entryWaits writes what the threads of an entry wait for and how that was seen, a line for each difference.
func (p *printer) entryWaits(threads []*profile.Thread) {
	says := func(t *profile.Thread) bool { return t.Wait != nil }
	parts := split(threads, func(t *profile.Thread) string {
		if !says(t) {
			return ""
		}
		return t.Wait.Text
	})
	for _, part := range parts {
		wait := part.threads[0].Wait
		if !says(part.threads[0]) {
			continue
		}
		who := "  "
		if len(parts) > 1 {
			who = "  " + counted(len(part.threads), "thread") + " " + p.ids(part.threads) + "  "
		}
		p.line(text.Wrap(who+text.Message(wait.Text), p.width(), 4))
		p.waitEvidence("    ", wait)
	}
}
