package cmd

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync"

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
	case r.o.gil && !slices.ContainsFunc(r.o.pids, hasPython):
		return &emptyError{of, "no Python was found: --gil records nothing else", ""}
	case r.o.gil:
		return &emptyError{of, "no thread held the GIL in " + during + ": Python did not run",
			"Without --gil threads that wait count, too."}
	}
	return &emptyError{of, "none of its threads could be sampled in " + during, ""}
}

// stillRuns reports whether a process has not ended.
func stillRuns(p procfs.Identity) bool {
	now, err := procfs.ReadStat("/proc", p.PID)
	return err == nil && now.Start == p.Start && now.State != 'Z' && now.State != 'X'
}

// hasPython reports whether a file of Python is mapped in a process, as far as names tell.
func hasPython(pid int) bool {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	return err != nil || mapsPython().Match(maps)
}

// mapsPython finds a program or a library of Python in the text of mappings: python3.11, libpython3.11.so.1.0, an
// extension module.
var mapsPython = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`/(?:lib)?python\d[^/\n]*\n|/[^/\n]*\.cpython-[^/\n]*\n|/lib-dynload/`)
})
