package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fpstack/fpstack/hang/waits"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/tracer"
)

// waitsOptions are the flags of waits.
type waitsOptions struct {
	processOptions
	children bool
	noGroup  bool
	shownOptions
}

func (a *app) waitsCommand() *cobra.Command {
	o := &waitsOptions{}
	c := &cobra.Command{
		Use:   "waits [OPTION…] PID… | -p PID[,PID…] | -n NAME",
		Short: "Show who waits for whom, and deadlocks, without stopping anything",
		Long: `Show what each thread waits for, who could end that, and whether threads wait
for each other: deadlocks come first.

It reads what the kernel shows and the words of locks while the process runs.
Nothing is stopped, so no call of the process is interrupted.`,
		Example: `  fpstack waits 4121                    the threads of process 4121
  fpstack waits -p 4121 --children      of it and all processes below, one graph
  fpstack waits -p 4121 -v              with what was read
  fpstack waits -p 4121 -f json         for programs`,
		Annotations: exitStatus(dumpStatus...),
		Args:        func(c *cobra.Command, args []string) error { return a.pidArgs(c.Root(), args, &o.pids) },
		RunE:        func(c *cobra.Command, _ []string) error { return a.waits(c.Context(), o) },
	}
	f := c.Flags()
	o.processOptions.register(f)
	f.BoolVar(&o.children, "children", false, "also all processes below them, the whole tree")
	o.shownOptions.register(f, textOrJSON(), "show what each wait was seen by")
	f.BoolVar(&o.noGroup, "no-group", false, "show each thread by itself, also where they wait for the same")
	sections(f, "pid", "Processes", "format", "Output")
	return c
}

func (a *app) waits(ctx context.Context, o *waitsOptions) error {
	if len(o.pids) == 0 && len(o.byName) == 0 {
		return usageError{errors.New("no process given: use -p PID or -n NAME")}
	}
	ctx = a.endable(ctx)
	missing, err := a.addNamed(&o.pids, o.byName)
	if err != nil {
		return err
	}
	facts := tracer.NewWaitFacts()
	defer facts.Close()
	f, not := facts.Begin(ctx, withChildren(o.pids, o.children))
	for _, u := range not {
		if !hasEnded(u.Err) || slices.Contains(o.pids, u.PID) {
			a.complain(u.Err)
			missing++
		}
	}
	if len(f.Processes) == 0 {
		return errNothing
	}
	g, err := waits.Examine(ctx, facts, f)
	if err != nil {
		return err
	}
	return a.writeOutput(o.output, func(w io.Writer) error {
		write := report.WaitsText
		if o.format.word == "json" {
			write = report.WaitsJSON
		}
		opt := report.Options{Group: !o.noGroup, Verbose: o.verbose, Style: o.style(a), Width: a.lineWidth(o.output)}
		if err := write(w, g.Show(), opt); err != nil {
			return fmt.Errorf("write waits: %w", err)
		}
		if missing > 0 {
			return errPart
		}
		return nil
	})
}

// withChildren lists the processes, with children each before the tree below it. We are none of them.
func withChildren(pids []int, children bool) []int {
	if !children {
		return pids
	}
	all := procfs.Tree(pids, tracer.ChildrenOf)
	return slices.DeleteFunc(all, func(pid int) bool { return pid == os.Getpid() && !slices.Contains(pids, pid) })
}
