package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fpstack/fpstack/jit/perfmap"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/text"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/vm"
	"github.com/fpstack/fpstack/work"
)

// perfMapOptions are the flags of perf-map.
type perfMapOptions struct {
	processOptions
	output string
}

func (a *app) perfMapCommand() *cobra.Command {
	o := &perfMapOptions{}
	c := &cobra.Command{
		Use:   "perf-map [OPTION…] PID | NAME",
		Short: "Write a perf map, so that perf names code made at run time",
		Long: `Write a perf map of a process: a text file that names the code which a runtime
in it made, so that perf report and others name it too.

The process needs no option for it and is not stopped: the names are read from
its memory, or from the jitdump that it writes. Code that is made later is not
in the file: write it when perf record has ended, before the process ends.

A file that is there is replaced only where -o names it.`,
		Example: `  fpstack perf-map 4121         writes /tmp/perf-4121.map, where perf looks
  fpstack perf-map 4121 -o -    to standard output`,
		Annotations: exitStatus("0", "it was written", "1", "a part of the code is not in it",
			"2", "nothing was written"),
		Args: o.processOptions.args,
		RunE: func(c *cobra.Command, _ []string) error { return a.perfMap(a.endable(c.Context()), o) },
	}
	f := c.Flags()
	o.processOptions.register(f)
	f.StringVarP(&o.output, "output", "o", "", "write to `FILE`, - for standard output (default /tmp/perf-PID.map)")
	sections(f, "pid", "Process", "output", "Result")
	return c
}

func (a *app) perfMap(ctx context.Context, o *perfMapOptions) error {
	if _, err := a.addNamed(&o.pids, o.byName); err != nil {
		return err
	}
	if len(o.pids) != 1 {
		return usageError{fmt.Errorf("one process is wanted, %d are given", len(o.pids))}
	}
	pid := o.pids[0]
	path := o.output
	if path == "" {
		path = perfmap.Path(pid)
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%q exists: -o replaces it", path)
		}
	}
	functions, lacks, err := listFunctions(pid, newBudget(ctx, &namingOptions{}))
	if err != nil {
		return err
	}
	write := func(w io.Writer) error {
		out := perfmap.NewWriter(w)
		for _, f := range functions {
			out.Add(f.Start, f.End, f.Name)
		}
		return out.Flush()
	}
	if o.output == "" { // a name that we chose: nothing is replaced
		stem, _ := strings.CutSuffix(filepath.Base(path), ".map")
		path, err = a.createOutput(filepath.Dir(path), stem, ".map", write)
	} else {
		err = a.writeOutput(path, write)
	}
	if err != nil {
		return err
	}
	if !toStdout(o.output) || o.output == "" {
		fmt.Fprintf(a.stderr, "wrote %s: %s\n", path, text.Count(len(functions), "function"))
	}
	if lacks != nil {
		a.complain(lacks)
		return errPart
	}
	return nil
}

// listFunctions lists the code of process pid that its runtimes know. lacks says what is missing; without any function
// that is the error.
func listFunctions(pid int, b *work.Budget) (functions []vm.Function, lacks, err error) {
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		return nil, nil, err
	}
	defer p.Close()
	table, err := p.Maps()
	if err != nil {
		return nil, nil, err
	}
	image := p.Image()
	set, known := module.NewSet(table, image), vm.NewTable(vm.Kinds, b).Process(image)
	defer set.Close()
	defer known.Close()
	known.Scan(set)
	functions, listers, lacks := known.Functions()
	if len(functions) > 0 {
		return functions, lacks, nil
	}
	switch {
	case listers > 0:
		err = errors.Join(errors.New("none of its code made at run time has a name that can be read"), lacks)
	default:
		err = fmt.Errorf("it has no code made at run time")
	}
	return nil, nil, fmt.Errorf("process %d: %w", pid, err)
}
