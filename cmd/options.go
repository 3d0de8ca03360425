package cmd

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/report"
)

// processOptions are the flags that say which processes are meant.
type processOptions struct {
	pids   ids
	byName []string
}

// register adds the flags to f.
func (o *processOptions) register(f *pflag.FlagSet) {
	f.VarP(&o.pids, "pid", "p", "processes with these `PID`s, as 12,13; can be repeated")
	f.StringArrayVarP(&o.byName, "name", "n", nil, "every process of this `NAME`; can be repeated")
}

// outputFlag adds --output for a result that is text by default.
func outputFlag(f *pflag.FlagSet, output *string) {
	f.StringVarP(output, "output", "o", "-", "write to `FILE`; whole or not at all; its ending is the format; - is "+
		"standard output")
}

// newColour is the value of --color where it is not given.
func newColour() colourMode {
	return colourMode{choice{"WHEN", "auto", []word{
		{"auto", "on a terminal, unless NO_COLOR is set"}, {"always", "in files and pipes too"},
		{"never", "no colour"}}}}
}

// shownOptions are the flags that say how a result that is text by default is shown.
type shownOptions struct {
	format  choice
	output  string
	colour  colourMode
	verbose bool
}

// register adds the flags to f. verbose says what --verbose adds.
func (o *shownOptions) register(f *pflag.FlagSet, format choice, verbose string) {
	o.format, o.colour = format, newColour()
	f.VarP(&o.format, "format", "f", "format of the output")
	outputFlag(f, &o.output)
	f.Var(&o.colour, "color", "use of colour")
	f.BoolVarP(&o.verbose, "verbose", "v", false, verbose)
}

// settle makes the ending of --output the format, and refuses one that contradicts --format.
func (o *shownOptions) settle(f *pflag.FlagSet) error {
	named := endingFormat(o.output)
	if toStdout(o.output) || named == "" || named == o.format.word {
		return nil
	}
	if f.Changed("format") {
		return usageError{fmt.Errorf("-f %s with -o %q: the ending means %s", o.format.word, o.output, named)}
	}
	if !slices.ContainsFunc(o.format.among, func(w word) bool { return w.word == named }) {
		return usageError{fmt.Errorf("-o %q: the ending means %s, and this is %s", o.output, named,
			orList(o.format.among))}
	}
	o.format.word = named
	return nil
}

// check settles the format, and refuses options of the command that have no effect.
func (o *shownOptions) check(c *cobra.Command, besides ...string) error {
	if err := o.settle(c.Flags()); err != nil {
		return err
	}
	return checkEffects(c.Name(), c.Flags(), append(besides, o.circumstances()...)...)
}

// circumstances are those that the flags alone do not show.
func (o *shownOptions) circumstances() []string {
	all := []string{"format=" + o.format.word}
	if !toStdout(o.output) {
		all = append(all, toFile)
	}
	return all
}

// style is that of standard output, none of a file.
func (o *shownOptions) style(a *app) report.Style {
	if !toStdout(o.output) {
		return nil
	}
	return o.colour.style(a.stdout)
}

// dumps is how dumps are shown. It refuses to write to a terminal what is not text.
func (o *shownOptions) dumps(a *app, noGroup bool, names *namingOptions) (report.Options, error) {
	if o.format.word == "pprof" && toStdout(o.output) && isScreen(a.stdout) {
		return report.Options{}, usageError{errors.New("-f pprof: standard output is a terminal; name a file with -o")}
	}
	return report.Options{Group: !noGroup, Verbose: o.verbose, NoInlines: names.noLines(), NoLines: names.noLines(),
		Native: names.native,
		Style:  o.style(a), Width: a.lineWidth(o.output)}, nil
}

// dumpOptions are the flags of dump.
type dumpOptions struct {
	processOptions
	fileOptions
	tids       ids
	children   bool
	maxFrames  int
	skipFrames int
	unwind     unwindMode
	shownOptions
	namingOptions
	fiberOptions
	dotnetMap bool
	kernel    bool
	source    bool
	noGroup   bool
	all       bool
	save      string
	waits     bool
	maxPause  time.Duration
	rolling   bool
	noStop    bool
	// effects refuses options that have no effect besides what it is given.
	effects func(besides ...string) error
	sink    dumpSink // that dumps go to in place of the output, nil for none
}

// defaultFrames is how many frames of a thread are shown by default.
const defaultFrames = 1024

// register adds the flags to c.
func (o *dumpOptions) register(c *cobra.Command) {
	f := c.Flags()
	o.unwind, o.maxPause = newUnwindMode(), time.Second
	o.processOptions.register(f)
	f.BoolVar(&o.children, "children", false, "also all processes below them, the whole tree")
	f.VarP(&o.tids, "tid", "t", "only the threads with these `TID`s")
	f.BoolVar(&o.waits, "waits", false, "show who waits for whom, without stopping anything")
	o.fileOptions.register(f)
	o.shownOptions.register(f, dumpForm(), "show addresses, calls and how frames were found; also what was missing")
	f.BoolVar(&o.noGroup, "no-group", false, "show each thread by itself, also where stacks are equal")
	f.BoolVar(&o.all, "all", false, "fold nothing away: idle threads, how threads begin; text only")
	f.BoolVar(&o.source, "source", false, "show the source line of each frame; text only")
	f.StringVar(&o.save, "save", "", "also save what was copied in `FILE`; 'fpstack FILE' shows it again anywhere; "+
		"may hold secrets")
	f.IntVar(&o.maxFrames, "max-frames", defaultFrames, "show at most `N` frames of a thread; 0: no limit")
	f.IntVar(&o.skipFrames, "skip-frames", 0, "leave out the `N` innermost frames")
	o.fiberOptions.register(f)
	f.BoolVar(&o.kernel, "kernel", false, "also show where in the kernel threads wait; needs root")
	f.Var(&o.unwind, "unwind", "how stacks are walked")
	o.namingOptions.register(f)
	dotnetFlag(f, &o.dotnetMap)
	f.Var((*seconds)(&o.maxPause), "max-pause", "stop no thread for longer than this `TIME`")
	f.BoolVar(&o.rolling, "rolling", false, "stop threads a few at a time, not all at one instant")
	f.BoolVar(&o.noStop, "no-stop", false, "never stop threads; running ones show only state and counters")
	sections(f, "pid", "Processes and threads", "sysroot", "Files", "format", "Output", "max-frames", "Stacks",
		"names", "Names", "max-pause", "Stops")
}

// showsWaits reports whether the form has a place for who waits for whom.
func (o *dumpOptions) showsWaits() bool {
	return o.save != "" || o.format.word == "text" || o.format.word == "json"
}

// check refuses values that make no sense together.
func (o *dumpOptions) check() error {
	if err := o.fileOptions.check(); err != nil {
		return err
	}
	switch {
	case o.none() && len(o.files) == 0:
		return errNoProcess
	case !o.none() && len(o.files) > 0:
		return usageError{fmt.Errorf("%q and a process: show one after the other", o.files[0])}
	case o.maxFrames < 0:
		return usageError{fmt.Errorf("--max-frames %d is negative", o.maxFrames)}
	case o.skipFrames < 0:
		return usageError{fmt.Errorf("--skip-frames %d is negative", o.skipFrames)}
	case toStdout(o.save) && o.save != "":
		return usageError{errors.New("--save -: a saved snapshot goes to a file; name one")}
	case o.save != "" && o.save == o.output:
		return usageError{fmt.Errorf("--save %q: -o names the same file", o.save)}
	}
	return o.namingOptions.check()
}
