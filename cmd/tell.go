package cmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/sampler"
)

// progressText is the line shown while a recording goes on; whole is 0 if it has no end.
func progressText(s *sampler.Stats, whole time.Duration) string {
	text := fmt.Sprintf("recording %.1f s", s.Elapsed.Seconds())
	if whole > 0 {
		text += " of " + shortTime(whole)
	}
	return text + fmt.Sprintf("  %s  %s  overhead %.1f %%  lost %s",
		count(s.Samples, "sample"), count(uint64(s.Threads), "thread"), 100*s.Overhead, thousands(s.Lost))
}

// shortTime writes d without parts that say nothing: "0.5 s", "30 s", "5m", "1h30m".
func shortTime(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
	text := strings.TrimSuffix(d.Round(time.Second).String(), "m0s")
	if len(text) < len(d.Round(time.Second).String()) {
		text += "m"
	}
	if hours, ok := strings.CutSuffix(text, "h0m"); ok {
		return hours + "h"
	}
	return text
}

// summarize tells a person what was recorded: how much, at what cost, what is missing, and
// where the time went.
func (r *recording) summarize(p *profile.Profile, s *sampler.Stats) {
	w, dress := r.stderr, dresser(r.o.colour.style(r.stderr))
	processes := map[int]bool{}
	for _, t := range p.Tasks {
		processes[t.PID] = true
	}
	fmt.Fprintln(w, dress(report.Heading, fmt.Sprintf("recorded %.1f s: %s of %s in %s, %.1f looks a second", s.Elapsed.Seconds(),
		count(s.Samples, "sample"), count(uint64(len(p.Tasks)), "thread"), plural(len(processes), "process", "processes"), s.Rate)))
	stood := ""
	if s.Stops > 0 {
		stood = fmt.Sprintf(", each for %v at the median, 90 of 100 within %v, 99 within %v, %v at most",
			short(s.PauseP50), short(s.PauseP90), short(s.PauseP99), short(s.PauseMax))
	}
	fmt.Fprintf(w, "  %s%s; fpstack took %.1f %% of one CPU\n", count(s.Stops, "stop"), stood, 100*s.Overhead)
	r.tellRemarks(s)
	switch {
	case len(p.Samples) == 0 && r.child != nil:
		fmt.Fprintln(w, "  ! no samples: the command ended before the first look")
	case len(p.Samples) == 0:
		fmt.Fprintln(w, "  ! no samples: nothing ran")
	}
	writeHottest(w, dress, p, p.Default, 10)
}

// remarks are what a person should know of a recording: what came late, what is missing.
func remarks(s *sampler.Stats) []string {
	var all []string
	if s.LateTicks > 0 {
		all = append(all, fmt.Sprintf("%s left out of %s due: what the next one saw weighs the more", count(s.LateTicks, "look"), thousands(s.Ticks+s.LateTicks)))
	}
	if n := s.Lost - s.Behind; n > 0 {
		all = append(all, fmt.Sprintf("%s gave nothing: a thread did not stop in time", count(n, "look")))
	}
	if s.Behind > 0 {
		all = append(all, fmt.Sprintf("%s gave nothing: what was copied before had not been walked yet", count(s.Behind, "look")))
	}
	if s.MaxOverhead > 0 && s.Overhead > s.MaxOverhead {
		all = append(all, fmt.Sprintf("fpstack took %.1f %% of one CPU, more than the %.3g %% it may: looking less often does not help against what it takes to begin, to follow many threads and to read symbols",
			100*s.Overhead, 100*s.MaxOverhead))
	}
	if s.Cut > 0 {
		all = append(all, fmt.Sprintf("%s of %s: the outermost frame was not reached", plural(int(s.Cut), "stack was cut", "stacks were cut"), thousands(s.Stops+s.Peeks)))
	}
	if s.Late > 0 {
		all = append(all, fmt.Sprintf("%s of %s in part after the stop: their outer frames may be of a later moment", plural(int(s.Late), "stack was read", "stacks were read"), thousands(s.Stops+s.Peeks)))
	}
	if text := unseen(s); text != "" {
		all = append(all, text)
	}
	return append(all, s.Notes...)
}

// unseen says what ended between two looks, "" for nothing.
func unseen(s *sampler.Stats) string {
	var text string
	if s.Heard && s.UnmetProcesses+s.UnmetThreads > 0 {
		var kinds []string
		if n := s.UnmetProcesses; n > 0 {
			kinds = append(kinds, plural(int(n), "command", "commands"))
		}
		if n := s.UnmetThreads; n > 0 {
			kinds = append(kinds, plural(int(n), "thread", "threads"))
		}
		text = strings.Join(kinds, " and ") + " began and ended between two looks"
		if !s.AllHeard {
			text = "at least " + text
		}
	}
	if s.Unseen < time.Millisecond {
		return text
	}
	if text != "" {
		text += "; "
	}
	return text + fmt.Sprintf("%.3g s of the CPU time were taken by threads and processes that ended between two looks: so far as looks at others like them prove it stands there, else as %q",
		s.Unseen.Seconds(), "(ended unseen)")
}

// tellRemarks tells them.
func (r *recording) tellRemarks(s *sampler.Stats) {
	dress := dresser(r.o.colour.style(r.stderr))
	for _, text := range remarks(s) {
		fmt.Fprintln(r.stderr, dress(report.Cut, "  ! "+escape(text)))
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(uint64(n)) + " " + many
}

// short rounds d to what a person reads.
func short(d time.Duration) time.Duration {
	switch {
	case d < 10*time.Microsecond:
		return d.Round(100 * time.Nanosecond)
	case d < 10*time.Millisecond:
		return d.Round(time.Microsecond)
	}
	return d.Round(time.Millisecond)
}
