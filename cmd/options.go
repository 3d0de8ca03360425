package cmd

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

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

// seconds is the value of a flag that takes a time above 0: seconds, or a number with its unit, as 10, 10s or 1m.
type seconds time.Duration

func (s *seconds) Type() string { return "TIME" }

// String is empty for 0, which stands for no time given.
func (s *seconds) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

func (s *seconds) Set(text string) error {
	d, err := time.ParseDuration(text)
	if n, numberErr := strconv.ParseFloat(text, 64); numberErr == nil && n < 1e9 {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	if err != nil || d < time.Microsecond {
		return fmt.Errorf("want seconds above 0, or a time with its unit, as 10, 500ms or 5m")
	}
	*s = seconds(d)
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

// format is the value of --format where there are two.
type format string

func (f *format) Type() string   { return "text|json" }
func (f *format) String() string { return string(*f) }

func (f *format) Set(s string) error {
	if s != "text" && s != "json" {
		return fmt.Errorf("want text or json")
	}
	*f = format(s)
	return nil
}

// dumpOptions are the flags of dump.
type dumpOptions struct {
	pids, tids ids
	byName     []string
	children   bool
	format     choice
	output     string
	maxFrames  int
	skipFrames int
	unwind     unwindMode
	namingOptions
	kernel   bool
	source   bool
	noGroup  bool
	maxPause time.Duration
	rolling  bool
	colour   colourMode
	verbose  bool
}

// register adds the flags to c.
func (o *dumpOptions) register(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	o.format, o.colour = choice{"text", dumpForms}, "auto"
	f.VarP(&o.pids, "pid", "p", "processes to look at")
	f.StringArrayVarP(&o.byName, "name", "n", nil, nameUsage)
	f.BoolVar(&o.children, "children", false, "the whole process tree below too")
	f.VarP(&o.tids, "tid", "t", "only these threads")
	f.VarP(&o.format, "format", "f", "form of the output")
	f.StringVarP(&o.output, "output", "o", "-", "file to write, whole or not at all; - is standard output")
	f.IntVar(&o.maxFrames, "max-frames", 1024, "frames a thread, 0 for no limit; a stack that is cut says so")
	f.IntVar(&o.skipFrames, "skip-frames", 0, "leave out the innermost frames")
	f.Var(&o.unwind, "unwind", "how to walk; fp: frame pointers alone")
	o.namingOptions.register(f)
	f.BoolVar(&o.source, "source", false, "the line of each frame with its neighbours, where the file is there; text")
	f.BoolVar(&o.kernel, "kernel", false, "where in the kernel threads wait, on top of their stacks; needs root")
	f.BoolVar(&o.noGroup, "no-group", false, "one entry a thread, even where stacks are the same")
	o.maxPause = time.Second
	f.Var((*seconds)(&o.maxPause), "max-pause", "no thread stands still longer than this")
	f.BoolVar(&o.rolling, "rolling", false, "stop threads in small batches, not all at one instant")
	f.Var(&o.colour, "color", "when to colour")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "how each frame was found, and what was missing")
}

// check refuses values that make no sense together.
func (o *dumpOptions) check() error {
	switch {
	case len(o.pids) == 0 && len(o.byName) == 0:
		return usageError{fmt.Errorf("no process named: give -p PID or -n NAME")}
	case o.maxFrames < 0:
		return usageError{fmt.Errorf("--max-frames %d is negative", o.maxFrames)}
	case o.skipFrames < 0:
		return usageError{fmt.Errorf("--skip-frames %d is negative", o.skipFrames)}
	case o.source && o.format.word != "text":
		return usageError{fmt.Errorf("--source with -f %s: only text shows source lines", o.format.word)}
	}
	return o.namingOptions.check()
}
