package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fpstack/fpstack/push"
	"github.com/fpstack/fpstack/text"
)

// Report is what an Agent does now, and did so far.
type Report struct {
	Since     time.Time
	Intervals int // that were ended
	Counts    Counts
	Threads   int            // of all targets
	LeftOut   map[string]int // processes that are chosen and not followed now, by reason
	CPU       time.Duration  // of this program since it began
	Share     float64        // of one CPU in the last interval
	Memory    int64          // bytes
	Budget    float64        // what Share may be, 0: anything
	Stores    []StoreReport
	Trouble   error // why the last profile could not be made, nil if it was
	Async     []AsyncReport
}

// StoreReport is what became of profiles for one store.
type StoreReport struct {
	Name    string
	Balance push.Balance
	Trouble error // why the last request was not taken, nil if it was
}

// Report returns what is known now.
func (a *Agent) Report() Report {
	counts := a.opt.Follower.Counts()
	cpu, memory := a.opt.Usage()
	a.mu.Lock()
	defer a.mu.Unlock()
	r := Report{Since: a.begun, Intervals: a.intervals, Counts: counts, LeftOut: maps.Clone(a.leftOut), CPU: cpu,
		Share: a.share, Memory: memory, Trouble: a.trouble, Budget: a.opt.Budget,
		Async: a.asyncReports()}
	for _, t := range counts.Targets {
		r.Threads += t.Threads
	}
	for _, s := range a.opt.Stores {
		r.Stores = append(r.Stores, StoreReport{s.Name, s.Balance(), s.Trouble()})
	}
	return r
}

// Slowed is how many targets are sampled less often than wanted, and the lowest rate.
func (r *Report) Slowed() (n int, lowest float64) {
	lowest = r.Counts.Wanted
	for _, t := range r.Counts.Targets {
		if t.Rate < r.Counts.Wanted {
			n++
			lowest = min(lowest, t.Rate)
		}
	}
	return n, lowest
}

// Line is r in one line.
func (r *Report) Line() string {
	parts := []string{fmt.Sprintf("%s, %s", text.Count(len(r.Counts.Targets), "process"),
		text.Count(r.Threads, "thread"))}
	if n, lowest := r.Slowed(); n > 0 {
		parts[0] += fmt.Sprintf(", %d sampled less often (%.3g/s)", n, lowest)
	}
	out := 0
	for _, n := range r.LeftOut {
		out += n
	}
	if out > 0 {
		parts[0] += fmt.Sprintf(", %d left out", out)
	}
	parts = append(parts, fmt.Sprintf("%.2f%% CPU, %d MB", 100*r.Share, r.Memory>>20))
	for _, s := range r.Stores {
		dropped := 0
		for _, n := range s.Balance.Dropped {
			dropped += n
		}
		line := fmt.Sprintf("%s: %d sent, %d waiting, %d dropped", s.Name, s.Balance.Sent, s.Balance.Waiting, dropped)
		if s.Trouble != nil {
			line += " (" + s.Trouble.Error() + ")"
		}
		parts = append(parts, line)
	}
	return strings.Join(parts, "; ")
}

// Troubles are the stores that did not take the last request, "" if all did.
func (r *Report) Troubles() string {
	var all []string
	for _, s := range r.Stores {
		if s.Trouble != nil {
			all = append(all, s.Name)
		}
	}
	return strings.Join(all, " ")
}

// Accounts are r in several lines: all counts.
func (r *Report) Accounts() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("accounts since %s, %d intervals", r.Since.Format(time.DateTime), r.Intervals)
	line("  recorded: %s, %s; wanted rate %.3g/s, %d samples, %d stops",
		text.Count(len(r.Counts.Targets), "process"), text.Count(r.Threads, "thread"),
		r.Counts.Wanted, r.Counts.Samples, r.Counts.Stops)
	if n, lowest := r.Slowed(); n > 0 {
		line("  the budget of %.3g%% of a CPU bites: %d of them are sampled less often, down to %.3g/s", 100*r.Budget,
			n, lowest)
	}
	for _, why := range slices.Sorted(maps.Keys(r.LeftOut)) {
		line("  not recorded: %d, %s", r.LeftOut[why], why)
	}
	line("  own use: CPU %v in all, %.2f%% of one in the last interval; memory %d MB", r.CPU.Round(time.Millisecond),
		100*r.Share, r.Memory>>20)
	if r.Trouble != nil {
		line("  the last profile could not be made: %v", r.Trouble)
	}
	for _, s := range r.Stores {
		line("  %s: %s", s.Name, s.Balance)
		if s.Trouble != nil {
			line("    last trouble: %v", s.Trouble)
		}
	}
	for _, n := range r.Counts.Notes {
		line("  note: %s", n)
	}
	return b.String()
}
