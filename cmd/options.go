package cmd

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/unwind"
)

// ids is the value of --pid and --tid: comma separated or repeated.
type ids []int

func (v *ids) Type() string { return "N[,N…]" }

func (v *ids) String() string {
	s := make([]string, len(*v))
	for i, n := range *v {
		s[i] = strconv.Itoa(n)
	}
	return strings.Join(s, ",")
}

func (v *ids) Set(s string) error {
	for _, word := range strings.Split(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n <= 0 || n > 1<<22 { // PID_MAX_LIMIT
			return fmt.Errorf("%q is no process or thread id", word)
		}
		*v = append(*v, n)
	}
	return nil
}

// unwindMode is the value of --unwind.
type unwindMode struct{ unwind.Mode }

func (m *unwindMode) Type() string { return "auto|fp" }

func (m *unwindMode) String() string {
	if m.Mode == unwind.FramePointersOnly {
		return "fp"
	}
	return "auto"
}

func (m *unwindMode) Set(s string) error {
	switch s {
	case "auto":
		m.Mode = unwind.Auto
	case "fp":
		m.Mode = unwind.FramePointersOnly
	default:
		return fmt.Errorf("want auto or fp")
	}
	return nil
}

// formats are the forms of a dump.
var formats = map[string]report.Format{"text": report.Text, "json": report.JSON}

// format is the value of --format.
type format string

func (f *format) Type() string   { return "text|json" }
func (f *format) String() string { return string(*f) }

func (f *format) Set(s string) error {
	if _, ok := formats[s]; !ok {
		return fmt.Errorf("want text or json")
	}
	*f = format(s)
	return nil
}

// dumpOptions are the flags of dump.
type dumpOptions struct {
	pids, tids         ids
	format             format
	output             string
	maxFrames          int
	skipFrames         int
	unwind             unwindMode
	noSymbols          bool
	noInlines, noLines bool
	noGroup            bool
	maxPause           time.Duration
	rolling            bool
	colour             colourMode
	verbose            bool
}

// register adds the flags to c.
func (o *dumpOptions) register(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	o.format, o.colour = "text", "auto"
	f.VarP(&o.pids, "pid", "p", "processes to look at")
	f.VarP(&o.tids, "tid", "t", "only these threads")
	f.VarP(&o.format, "format", "f", "form of the output")
	f.StringVarP(&o.output, "output", "o", "-", "file to write, whole or not at all; - is standard output")
	f.IntVar(&o.maxFrames, "max-frames", 1024, "frames a thread, 0 for no limit; a stack that is cut says so")
	f.IntVar(&o.skipFrames, "skip-frames", 0, "leave out the innermost frames")
	f.Var(&o.unwind, "unwind", "how to walk; fp: frame pointers alone")
	f.BoolVar(&o.noSymbols, "no-symbols", false, "addresses and module+offset only")
	f.BoolVar(&o.noInlines, "no-inlines", false, "leave out inlined functions")
	f.BoolVar(&o.noLines, "no-lines", false, "leave out files and lines")
	f.BoolVar(&o.noGroup, "no-group", false, "one entry a thread, even where stacks are the same")
	f.DurationVar(&o.maxPause, "max-pause", time.Second, "no thread stands still longer than this")
	f.BoolVar(&o.rolling, "rolling", false, "stop threads in small batches, not all at one instant")
	f.Var(&o.colour, "color", "when to colour")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "how each frame was found, and what was missing")
}

// check refuses values that make no sense together.
func (o *dumpOptions) check() error {
	switch {
	case len(o.pids) == 0:
		return usageError{fmt.Errorf("no process named: give -p PID")}
	case o.maxFrames < 0:
		return usageError{fmt.Errorf("--max-frames %d is negative", o.maxFrames)}
	case o.skipFrames < 0:
		return usageError{fmt.Errorf("--skip-frames %d is negative", o.skipFrames)}
	case o.maxPause <= 0:
		return usageError{fmt.Errorf("--max-pause %v is not positive", o.maxPause)}
	}
	return nil
}
