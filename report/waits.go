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
// together that wait for the same. Of opt it heeds Style, All, Verbose, Group and Width.
func WaitsText(to io.Writer, w *profile.Waits, opt Options) error {
	p := &printer{w: bufio.NewWriter(to), dump: &profile.Dump{}, opt: opt}
	var all []uint64
	var idle []*profile.Thread
	for i := range w.Threads {
		t := &w.Threads[i].Thread
		if t.Wait != nil {
			all = append(all, addressesOfWait(t.Wait)...)
		}
		if p.isFolded(t) {
			idle = append(idle, t)
		}
	}
	p.addresses = newAddresses(all, &opt)
	p.cycles(w, idle)
	p.roots(rootsAsked(w))
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

// isFolded reports whether t is counted at the end, among those that are idle.
func (p *printer) isFolded(t *profile.Thread) bool {
	return p.opt.Group && p.opt.folds() && t.IdleKind() != ""
}

// cycles writes the cycles of w; of threads that are idle, which are counted at the end, only how many there are.
func (p *printer) cycles(w *profile.Waits, idle []*profile.Thread) {
	away := map[int]bool{}
	for _, t := range idle {
		away[t.TID] = true
	}
	for i := range w.Cycles {
		p.cycle(&w.Cycles[i], away)
	}
}

func (p *printer) roots(roots []profile.WaitRoot) {
	for i := range roots {
		p.line(text.Wrap(p.addresses.short(text.Message(roots[i].Text)), p.width(), 4))
		p.evidence("  ", []string{"certainty: " + roots[i].Certainty})
	}
}

// rootsAsked are those of w that threads which were asked for wait for, or are.
func rootsAsked(w *profile.Waits) (roots []profile.WaitRoot) {
	asked := map[int]bool{}
	for i := range w.Threads {
		asked[w.Threads[i].TID], asked[w.Threads[i].PID] = true, true
	}
	for _, r := range w.Roots {
		if asked[r.TID] || asked[r.PID] || slices.ContainsFunc(r.Behind, func(tid int) bool { return asked[tid] }) {
			roots = append(roots, r)
		}
	}
	return roots
}

// rootsOf are those that several threads wait for, one of d among them, and for nothing else: a server's workers that
// would see their parent end do not wait for it.
func rootsOf(d *profile.Dump) (roots []profile.WaitRoot) {
	alone := map[int]bool{}
	for i := range d.Threads {
		t := &d.Threads[i]
		alone[t.TID] = t.Wait != nil && t.Wait.Mode != profile.WaitAny
	}
	for _, r := range d.Waits.Roots {
		if len(r.Behind) > 1 && slices.ContainsFunc(r.Behind, func(tid int) bool { return alone[tid] }) {
			roots = append(roots, r)
		}
	}
	return roots
}

func (p *printer) cycle(c *profile.WaitCycle, idle map[int]bool) {
	part := Cut
	if c.Kind != profile.CycleDeadlock {
		part = Thread
	}
	p.line(p.style(part, text.Wrap(text.Message(c.Text), p.width(), 4)))
	lines, left := c.Telling(func(tid int) bool { return idle[tid] })
	for _, line := range lines {
		p.line("  ", text.Wrap("  "+p.addresses.short(text.Message(line)), p.width(), 4)[2:])
	}
	if n := len(c.Threads) - len(c.Lines); n > 0 {
		p.line("  and ", counted(n, "thread"), " more")
	}
	if left > 0 {
		p.line("  and ", counted(left, "idle thread"))
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

// waitingProcess writes the threads of one process that were asked for, as a dump does: those that are idle are
// counted at the end.
func (p *printer) waitingProcess(w *profile.Waits, process *profile.Process) {
	var all, busy, idle []*profile.Thread
	for i := range w.Threads {
		t := &w.Threads[i]
		if t.PID != process.PID {
			continue
		}
		all = append(all, &t.Thread)
		if p.isFolded(&t.Thread) {
			idle = append(idle, &t.Thread)
		} else {
			busy = append(busy, &t.Thread)
		}
	}
	if len(all) == 0 {
		return
	}
	head := fmt.Sprintf("process %d %s", process.PID, text.Escape(process.Comm))
	p.wrapped(Heading, head, "  "+counted(len(all), "thread"), "")
	for _, part := range split(busy, p.waitKey) {
		who, words := p.ids(part.threads), p.waitLine(part.threads[0])
		if n := len(part.threads); n > 1 {
			who = fmt.Sprintf("%d threads %s", n, who)
			if !p.opt.Verbose {
				words = "each: " + words
			}
		}
		p.wrapped(Thread, who, " "+p.names(part.threads), words)
		p.waitEvidence("  ", part.threads[0].Wait)
	}
	p.idle(idle)
}

// waitKey is equal for threads that are shown as one.
func (p *printer) waitKey(t *profile.Thread) string {
	if !p.opt.Group {
		return fmt.Sprint(t.TID)
	}
	return p.waitLine(t)
}

// waitLine is what t does or waits for, as in a dump; with Verbose its state, and all that is known of the wait.
func (p *printer) waitLine(t *profile.Thread) string {
	if !p.opt.Verbose {
		return p.doing(t)
	}
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
	has := func(kinds ...profile.CycleKind) bool {
		return slices.ContainsFunc(w.Cycles, func(c profile.WaitCycle) bool { return slices.Contains(kinds, c.Kind) })
	}
	switch {
	case has(profile.CycleDeadlock, profile.CycleStuck):
	case has(profile.CycleSupposed):
		known = "no deadlock is proven; " + known
	default:
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
			who = "  " + threadsNamed(len(part.threads), p.ids(part.threads)) + "  "
		}
		p.line(text.Wrap(who+text.Message(wait.Text), p.width(), 4))
		p.waitEvidence("    ", wait)
	}
}
