package capture

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/procfs"
)

// starts are the commands of a tree, as they begin.
type starts struct {
	tree  func() []int
	lines map[procfs.Identity]string // of processes that were met; "" of one that has executed nothing yet
	runs  map[string]int             // how many processes were met with that command line
	known map[string]int             // how many of these were there before; 0 for a line that was, and is not now
	began int                        // processes since the first look
	pause time.Duration              // until the next look
}

// Commands are looked at so often between two moments: those that take a fraction of a second are met now and then.
const (
	lookEvery = 200 * time.Millisecond
	lookCost  = 100 // a look takes a hundredth of the time at most
)

// newStarts looks for the first time. before are command lines that had been there; nil for none.
func newStarts(tree func() []int, before map[string]bool) *starts {
	s := &starts{tree: tree, lines: map[procfs.Identity]string{}, runs: map[string]int{}, known: map[string]int{}}
	for line := range before {
		s.known[line] = 0
	}
	s.look()
	for line, runs := range s.runs {
		s.known[line] = runs
	}
	s.began = 0
	return s
}

// look meets who is there now.
func (s *starts) look() {
	began := time.Now()
	for _, pid := range s.tree() {
		st, err := procfs.ReadStat("/proc", pid)
		id := procfs.Identity{PID: pid, Start: st.Start}
		line, met := s.lines[id]
		if err != nil || line != "" {
			continue
		}
		if st.Flags&procfs.ForkNoExec == 0 { // else it has its parent's
			line = strings.Join(procfs.Cmdline("/proc", pid), " ")
			s.runs[line]++
		}
		if s.lines[id] = line; !met {
			s.began++
		}
	}
	s.pause = max(lookEvery, lookCost*time.Since(began))
}

// watch looks until that time. It is false if ctx ends before.
func (s *starts) watch(ctx context.Context, until time.Time) bool {
	for {
		left := time.Until(until)
		if !sleep(ctx, min(left, s.pause)) {
			return false
		}
		if left <= s.pause {
			return true
		}
		s.look()
	}
}

// tell adds to a what began since the first look.
func (s *starts) tell(a *hang.Activity) {
	a.Began = s.began
	for line, runs := range s.runs {
		before, known := s.known[line]
		switch {
		case line == "", runs == before:
		case known, runs > 1:
			a.Repeats = append(a.Repeats, line)
		default:
			a.Commands = append(a.Commands, line)
		}
	}
	slices.Sort(a.Commands)
	slices.SortFunc(a.Repeats, func(x, y string) int {
		return cmp.Or(cmp.Compare(s.runs[y], s.runs[x]), cmp.Compare(x, y))
	})
}
