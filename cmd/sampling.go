package cmd

import (
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"
)

// maxRate bounds -F: beyond it no machine comes, and 0 asks for all that it can.
const maxRate = 1e6

// samplingOptions are the flags that say how a process is sampled over time.
type samplingOptions struct {
	pids, tids  ids
	byName      []string
	rate        float64
	mode        choice
	runningOnly bool
	maxOverhead share
	children    bool
	childrenSet bool // --children was given
	maxFrames   int
	unwind      unwindMode
	namingOptions
	repairEINTR bool
	maxPause    time.Duration
}

// register adds the flags to c.
func (o *samplingOptions) register(c *cobra.Command) {
	f := c.Flags()
	o.mode, o.maxOverhead = choice{"wall", []string{"wall", "cpu"}}, 0.05
	f.VarP(&o.pids, "pid", "p", "processes to look at")
	f.StringArrayVarP(&o.byName, "name", "n", nil, nameUsage)
	f.VarP(&o.tids, "tid", "t", "only these threads")
	f.BoolVar(&o.children, "children", false, "the whole process tree below, as it comes and goes (default: on for -- CMD, off for -p)")
	f.Float64VarP(&o.rate, "rate", "F", 99, "looks a second; 0: as many as can be had")
	f.Var(&o.mode, "mode", "what a sample weighs: the time that passed, or CPU time")
	f.BoolVar(&o.runningOnly, "running-only", false, "leave out threads that sleep; none of them is stopped")
	f.Var(&o.maxOverhead, "max-overhead", "look less often when this share of one CPU is passed; 0: never")
	f.IntVar(&o.maxFrames, "max-frames", 1024, "frames a thread, 0 for no limit; a stack that is cut says so")
	f.Var(&o.unwind, "unwind", "how to walk; fp: frame pointers alone")
	o.namingOptions.register(f)
	f.BoolVar(&o.repairEINTR, "repair-eintr", false, "let calls that a stop would end with EINTR go on (x86-64, waits without a limit); changes a register of the target")
	o.maxPause = 20 * time.Millisecond
	f.Var((*seconds)(&o.maxPause), "max-pause", "a thread that does not stop within this is let go until the next look")
}

// check refuses values that make no sense together. command is what stands behind --.
func (o *samplingOptions) check(c *cobra.Command, args []string) (command []string, err error) {
	dash := c.ArgsLenAtDash()
	if dash < 0 && len(args) > 0 || dash > 0 {
		return nil, usageError{fmt.Errorf("unknown argument %q; a command to run stands behind --", args[0])}
	}
	if len(args) > 0 {
		command = args
	}
	switch {
	case len(args) == 0 && dash == 0:
		return nil, usageError{fmt.Errorf("no command behind --")}
	case len(args) > 0 && len(o.pids)+len(o.byName) > 0:
		return nil, usageError{fmt.Errorf("both -p or -n and a command: give one of them")}
	case len(args) == 0 && len(o.pids)+len(o.byName) == 0:
		return nil, usageError{fmt.Errorf("nothing to look at: give -p PID, -n NAME or -- CMD")}
	case len(args) > 0 && len(o.tids) > 0:
		return nil, usageError{fmt.Errorf("-t with a command: its threads have no ids yet")}
	case !(o.rate >= 0 && o.rate <= maxRate) || o.rate != 0 && o.rate < 0.001:
		return nil, usageError{fmt.Errorf("--rate %v: want 0.001 to %v looks a second, or 0", o.rate, math.Round(maxRate))}
	case o.maxFrames < 0:
		return nil, usageError{fmt.Errorf("--max-frames %d is negative", o.maxFrames)}
	}
	o.childrenSet = c.Flags().Changed("children")
	return command, o.namingOptions.check()
}

// follow tells whether processes below the given ones are followed.
func (o *samplingOptions) follow(command []string) bool {
	return o.children || !o.childrenSet && len(command) > 0
}
