package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/hang/capture"
	"github.com/fpstack/fpstack/procfs"
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
	fileOptions
	children bool
	watch    watchOptions
	looks    int
	every    seconds
	namingOptions
	shownOptions
	reportOptions
}

func (a *app) hangCommand() *cobra.Command {
	o := &hangOptions{}
	c := &cobra.Command{
		Use:   "hang [OPTION…] PID… | NAME… | FILE…",
		Short: "Say whether processes hang, and why",
		Long: `Look at processes and all below them some times within 3 seconds, or 7 where
that is not clear, and say whether they hang, and why: a deadlock, what all wait
for in the end, or what moves, and where. Nothing is ended.`,
		Example: `  fpstack hang 4121                 process 4121 and all below it
  fpstack hang pytest               of every process named pytest
  fpstack hang 4121 -f json         for programs
  fpstack hang 4121 --watch         as soon as they are idle for a minute
  fpstack hang core.4121            what a core file or a saved dump shows of it`,
		Annotations: exitStatus("0", "something moves", "3", "it hangs", "4", "whether it hangs is not known"),
		Args:        func(_ *cobra.Command, words []string) error { return o.args(words) },
		RunE: func(c *cobra.Command, _ []string) error {
			if len(o.files) > 0 {
				if err := o.shownOptions.check(c, ofFile); err != nil {
					return err
				}
				return a.hangFiles(c.Context(), o)
			}
			if err := o.shownOptions.check(c, o.folderGiven(), ofProcess); err != nil {
				return err
			}
			o.watch.settle()
			return a.hang(c.Context(), o)
		},
	}
	f := c.Flags()
	o.processOptions.register(f)
	o.fileOptions.register(f)
	f.BoolVar(&o.children, "children", true, "also all processes below them, the whole tree; =false leaves them out")
	o.watch.register(f)
	f.IntVar(&o.looks, "looks", 0, "look `N` times, 2 to 100; usually 3 or 4 times")
	f.Var(&o.every, "every", "with --looks: look every `TIME`; 1s if not given")
	o.shownOptions.register(f, textOrJSON(), "show all stacks, and how each frame was found")
	o.reportOptions.register(f)
	o.namingOptions.register(f)
	sections(f, "pid", "Processes", "looks", "When", "format", "Output", "report", "Report", "names", "Names")
	return c
}

func (a *app) hang(ctx context.Context, o *hangOptions) error {
	if o.none() {
		return errNoProcess
	}
	if err := o.meansProcesses(); err != nil {
		return err
	}
	ctx = a.endable(ctx)
	if _, err := a.addNamed(&o.pids, o.byName); err != nil {
		return err
	}
	at, enough, err := o.moments()
	if err != nil {
		return err
	}
	if o.pids = a.living(o.pids); len(o.pids) == 0 {
		return errNothing
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
		at: at, enough: enough, naming: o.namingOptions, report: r})
	v := hang.Judge(c)
	err = a.writeOutput(o.output, func(w io.Writer) error {
		if o.format.word == "json" {
			r.Finish(io.Discard, c, v, probe(c), publish.Ends)
			return report.HangJSON(w, c, v, show)
		}
		return r.Finish(w, c, v, probe(c), publish.Ends)
	})
	if err != nil {
		return err
	}
	return verdictStatus(v)
}

// moments are when it looks, and whether fewer of them may do.
func (o *hangOptions) moments() (at []time.Duration, enough func(*hang.Case) bool, err error) {
	const most = 100
	switch {
	case o.looks == 0:
		return capture.Quick, hang.Clear, nil
	case o.looks < 2 || o.looks > most:
		return nil, nil, usageError{fmt.Errorf("--looks %d: it takes 2 to see what moves, and %d is the most",
			o.looks, most)}
	}
	for i := range o.looks {
		at = append(at, time.Duration(i)*time.Duration(cmp.Or(o.every, seconds(time.Second))))
	}
	return at, nil, nil
}

// living leaves out those of pids that are no processes, and says so.
func (a *app) living(pids []int) []int {
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
		_, there := procfs.Start("/proc", pid)
		if !there {
			a.complain(fmt.Errorf("process %d: no such process", pid))
		}
		return !there
	})
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
