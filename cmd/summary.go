package cmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/sampler"
	"github.com/fpstack/fpstack/text"
)

// progressText is the line shown while a recording goes on; whole is 0 if it has no end.
func progressText(s *sampler.Stats, whole time.Duration) string {
	line := fmt.Sprintf("recording %.1f s", s.Elapsed.Seconds())
	if whole > 0 {
		line += " of " + text.Duration(whole)
	}
	return line + fmt.Sprintf("  %s  %s  %s  overhead %s  lost %s", text.Count(s.Samples, "sample"),
		text.Count(s.Stacks, "stack"), text.Count(s.Threads, "thread"),
		text.Percent(s.Overhead, 1, 1), text.Thousands(s.Lost))
}

// summarize says what was recorded: how much, at what cost, what is missing, and where the
// time went.
func (r *recording) summarize(p *profile.Profile, s *sampler.Stats) {
	w, dress, width := r.stderr, dresser(r.o.colour.style(r.stderr)), terminalWidth(r.stderr)
	processes := map[int]bool{}
	for _, t := range p.Tasks {
		processes[t.PID] = true
	}
	heading := fmt.Sprintf("recorded %s at %.1f Hz: %s of %s in %s", text.Duration(s.Elapsed), s.Rate,
		text.Count(s.Samples, "sample"), text.Count(len(p.Tasks), "thread"), text.Count(len(processes), "process"))
	fmt.Fprintln(w, dress(report.Heading, text.Wrap(heading, width, 2)))
	fmt.Fprintln(w, text.Wrap("  "+costText(s), width, 4))
	r.writeRemarks(s)
	if r.o.verbose && s.Short > 0 {
		fmt.Fprintln(w, dress(report.Cut, text.Wrap("  ! "+text.Message(shortText(s)), width, 4)))
	}
	switch {
	case len(p.Samples) == 0 && r.child != nil:
		fmt.Fprintln(w, "  ! no samples: the command ended before the first one")
	case len(p.Samples) == 0:
		fmt.Fprintln(w, "  ! no samples: nothing ran")
	}
	if line := waitingText(p); line != "" {
		fmt.Fprintln(w, text.Wrap("  "+line, width, 4))
	}
	shown, note := summarized(p, &r.o.viewOptions)
	if note != "" {
		fmt.Fprintln(w, text.Wrap("  "+note, width, 4))
	}
	of := wholeText(shown, p.Default)
	if len(shown.Samples) < len(p.Samples) && shown.Totals()[p.Default] < p.Totals()[p.Default] {
		of += " without waiting"
	}
	writeHottest(w, dress, shown, p.Default, 10, width, of)
}

// summarized is what of p the table of a summary is of, as a page of it opens: without what waits, and, where most is
// a language's, with native code as that of the function that called it; note says so of the last.
func summarized(p *profile.Profile, o *viewOptions) (shown *profile.Profile, note string) {
	shown = p
	if p.Types[p.Default] == profile.WallTime && !o.waits {
		if ran := p.WithoutWaits(); len(ran.Samples) > 0 && ran.Totals()[p.Default] > 0 {
			shown = ran
		}
	}
	if o.fold.word != "none" && (o.fold.word == "native" || shown.MostlyLanguage()) {
		shown, note = shown.FoldNative(), "native code counts as the function that called it; --fold none shows it"
	}
	return shown, note
}

// costText says what the recording cost the target and this machine.
func costText(s *sampler.Stats) string {
	line := text.Count(s.Stops, "stop")
	if s.Stops > 0 {
		line += fmt.Sprintf(", pause p50 %s, p90 %s, p99 %s, max %s",
			text.Duration(s.PauseP50), text.Duration(s.PauseP90), text.Duration(s.PauseP99), text.Duration(s.PauseMax))
	}
	if costsMore(s) { // a remark says it
		return line
	}
	return line + fmt.Sprintf("; fpstack used %s of one CPU", text.Percent(s.Overhead, 1, 1))
}

// costsMore reports whether the recording took more than it may, and no note of it says so.
func costsMore(s *sampler.Stats) bool {
	return s.MaxOverhead > 0 && s.Overhead > s.MaxOverhead && s.BackedOff == 0
}

// waitingText says how much of the thread time was waiting and how to leave that out; "" where nothing
// waited, or where times are not what is shown.
func waitingText(p *profile.Profile) string {
	waiting, whole := p.Waiting()[p.Default], p.Totals()[p.Default]
	if p.Types[p.Default] != profile.WallTime || waiting == 0 || whole == 0 {
		return ""
	}
	digits := 0
	if share := float64(waiting) / float64(whole); share < 0.01 || share > 0.99 && waiting < whole {
		digits = 2 // not "100 %" of what is a little less
	}
	return text.Percent(float64(waiting), float64(whole), digits) + " of thread time was waiting" + waitedIn(p)
}

// waitedIn names what most of that was in: ", in futex (69 %) and epoll_wait (26 %)".
func waitedIn(p *profile.Profile) string {
	whole := float64(p.Totals()[p.Default])
	var in []string
	for _, f := range profile.Hottest(p, p.Default) {
		if share := float64(f.Self) / whole; p.Frames[f.Frame].Waits() && share >= 0.05 && len(in) < 3 {
			in = append(in, fmt.Sprintf("%s (%s)", text.Escape(f.Name), text.Percent(share, 1, 0)))
		}
	}
	if len(in) == 0 {
		return ""
	}
	return ", in " + strings.Join(in, ", ")
}

// remarks are what a person should know of a recording: what came late, what is missing.
func remarks(s *sampler.Stats) []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if s.LateTicks > 0 {
		were, their := "were", "their"
		if s.LateTicks == 1 {
			were, their = "was", "its"
		}
		add("%s of %s %s late; %s time is counted in the next", text.Thousands(s.LateTicks),
			text.Count(s.Ticks+s.LateTicks, "sample"), were, their)
	}
	if n := s.Lost - s.Behind; n > 0 {
		add("%s lost: a thread could not be stopped in time", were(n, "sample"))
	}
	if s.Behind > 0 {
		add("%s lost: stacks came faster than they could be unwound", were(s.Behind, "sample"))
	}
	if costsMore(s) {
		add("fpstack used %s of one CPU, more than --max-overhead %.3g %%: sampling less often does not "+
			"lower what it takes to start, to follow many threads and to read symbols",
			text.Percent(s.Overhead, 1, 1), 100*s.MaxOverhead)
	}
	stacks := were(s.Stops+s.Peeks, "stack")
	if s.Cut > 0 {
		add("%s of %s cut: the outermost frame was not reached", text.Thousands(s.Cut), stacks)
	}
	if s.Late > 0 {
		add("%s of %s read in part after the stop: the outer frames may be of a later moment", text.Thousands(s.Late),
			stacks)
	}
	if s.Unsure > 0 {
		add("%s frames whose names are not sure: what names them was read after the stop, and may have moved; a frame "+
			"%q stands outside of them", have(s.Unsure, "sample"), profile.UnsureMark)
	}
	if s.Missing > 0 {
		add("%s frames missing that a runtime has, at %q", have(s.Missing, "sample"), profile.GapMark)
	}
	if line := callEnds(s); line != "" {
		add("%s", line)
	}
	if line := unseen(s); line != "" {
		add("%s", line)
	}
	return append(all, s.Notes...)
}

// shortText says of how many samples runtimes did not get what they asked for.
func shortText(s *sampler.Stats) string {
	return fmt.Sprintf("of %s a runtime did not get all that it asked for, the last: %s",
		text.Count(s.Short, "sample"), s.Shortfall)
}

// were counts what something was done to: "1 stack was", "12 stacks were".
func were(n uint64, noun string) string {
	if n == 1 {
		return text.Count(n, noun) + " was"
	}
	return text.Count(n, noun) + " were"
}

// have counts what has something: "1 sample has", "12 samples have".
func have(n uint64, noun string) string {
	if n == 1 {
		return text.Count(n, noun) + " has"
	}
	return text.Count(n, noun) + " have"
}

// callEnds says that system calls may be shown with more than they take, "" if that hardly matters.
func callEnds(s *sampler.Stats) string {
	if s.CallEnds < 10 || s.CallEnds*50 < s.Stops {
		return ""
	}
	return were(s.CallEnds, "sample") + " taken at the end of a system call, which may have begun while the thread " +
		"was being stopped: such calls took less than is shown"
}

// unseen says what ended between two samples, "" for nothing.
func unseen(s *sampler.Stats) string {
	var line string
	if s.Heard && s.UnmetProcesses+s.UnmetThreads > 0 {
		var kinds []string
		if n := s.UnmetProcesses; n > 0 {
			kinds = append(kinds, text.Count(n, "command"))
		}
		if n := s.UnmetThreads; n > 0 {
			kinds = append(kinds, text.Count(n, "thread"))
		}
		line = strings.Join(kinds, " and ") + " started and ended between two samples"
		if !s.AllHeard {
			line = "at least " + line
		}
	}
	if s.Unseen < time.Millisecond {
		return line
	}
	if line != "" {
		line += "; "
	}
	return line + fmt.Sprintf("threads and processes that ended between two samples used %s of CPU time: "+
		"this time counts for others like them as far as samples prove it, else as %q", text.Duration(s.Unseen),
		"(ended unseen)")
}

// writeRemarks writes them.
func (r *recording) writeRemarks(s *sampler.Stats) {
	dress, width := dresser(r.o.colour.style(r.stderr)), terminalWidth(r.stderr)
	for _, remark := range remarks(s) {
		fmt.Fprintln(r.stderr, dress(report.Cut, text.Wrap("  ! "+text.Message(remark), width, 4)))
	}
}
