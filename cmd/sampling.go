package cmd

import (
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxRate bounds -F: no machine is faster, and 0 means as many as possible.
const maxRate = 1e6

// samplingOptions are the flags that say how a process is sampled over time.
type samplingOptions struct {
	processOptions
	command     []string // to run, nil for none
	tids        ids
	rate        float64
	mode        choice
	gil         bool
	kernel      bool
	maxOverhead share
	children    bool
	childrenSet bool // --children was given
	maxFrames   int
	unwind      unwindMode
	namingOptions
	repairEINTR bool
	maxPause    time.Duration
}

// registerProcesses adds the flags that say what is sampled.
func (o *samplingOptions) registerProcesses(f *pflag.FlagSet) {
	o.processOptions.register(f)
	f.BoolVar(&o.children, "children", false, "also all processes below them; as they come and go; by default only "+
		"for CMD")
	f.VarP(&o.tids, "tid", "t", "only the threads with these `TID`s")
}

// register adds those that say how.
func (o *samplingOptions) register(f *pflag.FlagSet) {
	o.unwind, o.maxOverhead, o.maxPause = newUnwindMode(), 0.05, 20*time.Millisecond
	o.mode = choice{"MODE", "wall", []word{{"wall",
		"the time that passed since the thread's last sample, waiting included"},
		{"cpu", "the CPU time that the thread used since then"}}}
	f.Float64VarP(&o.rate, "rate", "F", 99, "take `N` samples a second; 0: as many as possible")
	f.Var(&o.mode, "mode", "what a sample counts for")
	f.BoolVar(&o.gil, "gil", false, "count a thread of Python only while it holds the GIL")
	f.BoolVar(&o.kernel, "kernel", false, "also where in the kernel threads wait; needs root")
	f.Var(&o.maxOverhead, "max-overhead", "take at most this `SHARE` of one CPU; else sample less often; 0: no limit")
	f.Var((*seconds)(&o.maxPause), "max-pause", "stop timeout: a thread that needs more than this `TIME` is let go "+
		"until the next sample")
	f.BoolVar(&o.repairEINTR, "repair-eintr", false,
		"restart system calls that a stop would end with EINTR (x86-64, waits without a limit); changes a register "+
			"of the process")
	f.IntVar(&o.maxFrames, "max-frames", 1024, "at most `N` frames of a thread; 0: no limit")
	f.Var(&o.unwind, "unwind", "how stacks are walked")
	o.namingOptions.register(f)
}

// check refuses values that make no sense together.
func (o *samplingOptions) check(c *cobra.Command) error {
	o.childrenSet = c.Flags().Changed("children")
	return o.checkHow()
}

// checkHow refuses values of how a process is sampled.
func (o *samplingOptions) checkHow() error {
	switch {
	case !(o.rate >= 0 && o.rate <= maxRate) || o.rate != 0 && o.rate < 0.001:
		return usageError{fmt.Errorf("--rate %v: want 0.001 to %v samples a second, or 0", o.rate, math.Round(maxRate))}
	case o.maxFrames < 0:
		return usageError{fmt.Errorf("--max-frames %d is negative", o.maxFrames)}
	}
	return o.namingOptions.check()
}

// follow reports whether processes below the given ones are followed.
func (o *samplingOptions) follow() bool { return o.children || !o.childrenSet && len(o.command) > 0 }
