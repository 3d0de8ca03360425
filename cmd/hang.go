package cmd

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/hang/capture"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/report/publish"
)

// Exit statuses of hang, docs/cli.md.
const (
	statusHung    = 3
	statusUnknown = 4
)

// hangOptions are the flags of hang.
type hangOptions struct {
	processOptions
	children bool
	watch    watchOptions
	namingOptions
	shownOptions
	reportOptions
}

func (a *app) hangCommand() *cobra.Command {
	o := &hangOptions{}
	c := &cobra.Command{
		Use:   "hang [OPTION…] PID… | -p PID[,PID…] | -n NAME",
		Short: "Say whether processes hang, and why",
		Long: `Sample processes and all below them three times, at 0, 2 and 7 seconds, and say
whether they hang, and why: a deadlock, a busy loop, what all wait for in the
end, or what moves. Nothing is ended.`,
		Example: `  fpstack hang 4121                 process 4121 and all below it
  fpstack hang -n pytest            of every process named pytest
  fpstack hang -p 4121 -f json      for programs
  fpstack hang -p 4121 --watch      as soon as they are idle for a minute`,
		Annotations: exitStatus("0", "something moves", "3", "it hangs", "4", "whether it hangs is not known"),
		Args:        func(c *cobra.Command, args []string) error { return a.pidArgs(c.Root(), args, &o.pids) },
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.watch.check(c.Flags()); err != nil {
				return err
			}
			return a.hang(c.Context(), o)
		},
	}
	f := c.Flags()
	o.processOptions.register(f)
	f.BoolVar(&o.children, "children", true, "also all processes below them, the whole tree; =false leaves them out")
	o.watch.register(f)
	o.shownOptions.register(f, textOrJSON(), "show all stacks, and how each frame was found")
	o.reportOptions.register(f)
	o.namingOptions.register(f)
	sections(f, "pid", "Processes", "watch", "When", "format", "Output", "report", "Report", "no-symbols", "Names")
	return c
}

func (a *app) hang(ctx context.Context, o *hangOptions) error {
	if len(o.pids) == 0 && len(o.byName) == 0 {
		return usageError{errors.New("no process given: use -p PID or -n NAME")}
	}
	ctx = a.endable(ctx)
	if _, err := a.addNamed(&o.pids, o.byName); err != nil {
		return err
	}
	why := hang.Trigger{Kind: hang.Asked}
	if o.watch.on {
		var err error
		if why, err = a.awaitTrigger(ctx, &o.watch, o.pids, o.children); err != nil {
			return err
		}
	}
	show := report.Options{Group: true, Verbose: o.verbose, Style: o.style(a), Width: a.lineWidth(o.output)}
	to := o.publishing(show)
	to.Plain = !toStdout(o.output)
	r := publish.New(to, a.means(nil))
	c := a.capture(ctx, &caseOptions{trigger: why, roots: o.pids, children: o.children,
		at: capture.Usual, naming: o.namingOptions, report: r})
	v := hang.Judge(c)
	err := a.writeOutput(o.output, func(w io.Writer) error {
		if o.format.word == "json" {
			r.Finish(io.Discard, c, v, probe(c), publish.Ends)
			return report.HangJSON(w, c, v, show)
		}
		return r.Finish(w, c, v, probe(c), publish.Ends)
	})
	switch {
	case err != nil:
		return err
	case v.Kind.Hung():
		return statusError(statusHung)
	case v.Kind == hang.Moving:
		return nil
	}
	return statusError(statusUnknown)
}

// probe names what is asked of processes, for a test of JUnit.
func probe(c *hang.Case) []string {
	words := []string{"fpstack", "hang"}
	for i := range c.Processes {
		if slices.Contains(c.Roots, c.Processes[i].PID) {
			words = append(words, c.Processes[i].Name)
		}
	}
	return words
}
