package cmd

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/dump"
)

// fiberOptions are the flags that say what is listed of what runtimes schedule by themselves.
type fiberOptions struct {
	fibers choice
	locals bool
}

// newFibers is the value of --fibers where it is not given.
func newFibers() choice {
	return choice{"WHICH", "auto", []word{
		{"auto", "in text and JSON, where all threads are stopped at one instant"},
		{"all", "in every format, for as long as --max-pause allows"},
		{"none", "threads only"}}}
}

// register adds the flags to f.
func (o *fiberOptions) register(f *pflag.FlagSet) {
	o.fibers = newFibers()
	f.Var(&o.fibers, "fibers", "goroutines, tasks, greenlets, virtual threads, async functions that no thread runs")
	f.BoolVar(&o.locals, "locals", false, "show the local variables of Python; may show secrets")
}

// mode is what dumps list of them.
func (o *fiberOptions) mode(d *dumpOptions) dump.Fibers {
	switch {
	case o.fibers.word == "all":
		return dump.AskedFibers
	case o.fibers.word == "auto" && len(d.tids) == 0 && !d.rolling &&
		slices.Contains([]string{"text", "json"}, d.format.word):
		return dump.AllFibers
	}
	return dump.NoFibers
}
