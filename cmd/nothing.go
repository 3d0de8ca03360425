package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/sampler"
	"github.com/fpstack/fpstack/text"
)

// emptyError says why a recording has no samples that has some of a usual process.
type emptyError struct {
	of, why string
	remedy  string // "" for none
}

func (e *emptyError) Error() string { return fmt.Sprintf("record %s: %s", e.of, e.why) }

// expectsSamples says that a process which lives has some: what sleeps has none of CPU time, nor while it runs.
func (r *recording) expectsSamples() bool {
	return r.o.gil || r.o.mode.word == "wall"
}

// sampled reports whether p has a sample. It may have time without any: what its threads took before their first.
func sampled(p *profile.Profile) bool {
	k := p.TypeIndex(profile.SamplesCount.Type)
	for i := range p.Samples {
		if p.Value(i)[k] > 0 {
			return true
		}
	}
	return false
}

// whyNothing is that reason, by what was asked for and whether the processes live.
func (r *recording) whyNothing(s *sampler.Stats) error {
	of, during := processes(r.o.pids), text.Duration(s.Elapsed)
	switch {
	case !slices.ContainsFunc(r.added, stillRuns):
		return &emptyError{of, "ended before the first sample", ""}
	case r.o.gil:
		return &emptyError{of, "no thread held a GIL of Python in " + during,
			"Without --gil threads count that wait for it, and programs without Python."}
	case len(r.o.tids) > 0:
		return &emptyError{of, "none of its threads is " + strings.ReplaceAll(r.o.tids.String(), ",", " or "),
			"ps -L -p " + r.o.pids.String() + " lists those that there are."}
	}
	return &emptyError{of, "none of its threads could be sampled in " + during, ""}
}

// stillRuns reports whether a process has not ended.
func stillRuns(p procfs.Identity) bool {
	now, err := procfs.ReadStat("/proc", p.PID)
	return err == nil && now.Start == p.Start && now.State != 'Z' && now.State != 'X'
}

// unmetThreads says which of the threads that were asked for are not in p, which has samples of others.
func (r *recording) unmetThreads(p *profile.Profile) (out []string) {
	if r.o.gil || r.o.mode.word != "wall" {
		return nil
	}
	for _, tid := range r.o.tids {
		if !slices.ContainsFunc(p.Tasks, func(t profile.Task) bool { return t.TID == tid }) {
			out = append(out, fmt.Sprintf("thread %d was not met: it belongs to none of them, or had ended", tid))
		}
	}
	return out
}
