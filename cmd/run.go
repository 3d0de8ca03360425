package cmd

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/hang/capture"
	"github.com/fpstack/fpstack/hang/job"
	"github.com/fpstack/fpstack/hang/supervise"
	"github.com/fpstack/fpstack/hang/trigger"
	"github.com/fpstack/fpstack/report/ci"
	"github.com/fpstack/fpstack/report/folder"
	"github.com/fpstack/fpstack/tracer"
)

// runOptions are the flags of run.
type runOptions struct {
	deadline   deadline
	limits     trigger.Limits
	idleCPU    share
	grace      time.Duration
	killAfter  time.Duration
	signal     signalName // -s
	preserve   bool       // --preserve-status
	dumpSignal signalName
	leftovers  choice
	ownDumps   bool // --signal-runtimes
	cores      treeCores
	reportOptions
	namingOptions
}

// runCommand runs a command and says why it hangs.
func (a *app) runCommand() *cobra.Command {
	o := &runOptions{idleCPU: 0.01, grace: 5 * time.Second, killAfter: 10 * time.Second,
		signal: signalName{number: syscall.SIGTERM}, dumpSignal: signalName{number: syscall.SIGUSR1, none: true}}
	o.leftovers = choice{"WHAT", "leave", []word{{"leave", "they go on, as they would without fpstack"},
		{"wait", "wait until they have ended too"}, {"kill", "end them"}}}
	c := &cobra.Command{
		Use:   "run [OPTION…] CMD [ARG…]",
		Short: "Run a command; if it hangs, say why and end it",
		Long: `Run a command. If it reaches a limit, or if somebody ends it, say what all its
processes are doing and why, and end them.

Until then nothing is attached to it. It has fpstack's own files, environment,
limits and terminal, and its exit status is passed on; 124 after a limit.`,
		Example: `  fpstack run --deadline 25m make test         say why and end it, in 25 minutes
  fpstack run --idle 4m npm test               when nothing moves for 4 minutes
  fpstack run --deadline auto go test ./…      before the limit of the CI system
  fpstack run --report hang/ ctest             and keep everything in a folder`,
		Annotations: exitStatus("0", "CMD's own status was 0", "124", "a limit was reached",
			"125", "fpstack itself failed",
			"126", "CMD cannot be executed", "127", "CMD was not found",
			"other", "CMD's own; if a signal ended CMD, it ends fpstack too"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("no command given: fpstack run [OPTION…] CMD")}
			}
			if err := checkEffects("run", c.Flags(), o.folderGiven()); err != nil {
				return err
			}
			return a.run(o, args)
		},
	}
	f := c.Flags()
	o.register(f)
	sections(f, "deadline", "When it hangs", "grace", "How it ends", "report", "What is written", "names", "Names")
	f.SetInterspersed(false) // what follows the command is the command's
	return c
}

func (o *runOptions) register(f *pflag.FlagSet) {
	f.Var(&o.deadline, "deadline", "CMD may run for this `TIME|auto`; auto: the limit of the CI system, less a margin")
	f.Var((*seconds)(&o.limits.Warn), "warn", "after this `TIME` say what CMD is doing, and go on")
	f.Var((*seconds)(&o.limits.Idle), "idle", "CMD may be idle for this `TIME`; no CPU, no data, no output")
	f.Var(&o.idleCPU, "idle-cpu", "a process that uses less than this `SHARE` of a CPU is idle")
	f.Var((*seconds)(&o.limits.Silent), "idle-output", "CMD may write nothing for this `TIME`")
	f.Var(&o.dumpSignal, "dump-signal", "on this `SIGNAL` to fpstack, say what CMD is doing, and go on; "+
		"none: no signal")
	f.Var((*seconds)(&o.grace), "grace", "on SIGTERM, SIGINT or SIGHUP to fpstack, first say what CMD is "+
		"doing, for this `TIME` at most")
	f.VarP(&o.signal, "signal", "s", "the `SIGNAL` that ends CMD and all below it after a limit, as INT")
	f.Var((*seconds)(&o.killAfter), "kill-after", "after this further `TIME` send SIGKILL to what still runs")
	f.BoolVar(&o.preserve, "preserve-status", false, "after a limit too, exit with the status of CMD, not with 124")
	f.Var(&o.leftovers, "leftovers", "processes that CMD leaves behind")
	f.BoolVar(&o.ownDumps, "signal-runtimes", false, "before ending CMD ask Java and Go for their own dumps, by "+
		"SIGQUIT; it ends Go programs")
	o.reportOptions.register(f)
	o.cores.register(f)
	o.namingOptions.register(f)
}

// run runs the command, and ends as it ended.
func (a *app) run(o *runOptions, argv []string) error {
	if err := o.namingOptions.check(); err != nil {
		return err
	}
	r := newRunner(a, o, argv)
	o.limits.IdleCPU = float64(o.idleCPU)
	o.limits.Deadline = o.deadline.after
	if o.deadline.auto {
		o.limits.Deadline = a.jobDeadline()
	}
	began := time.Now()
	keepIgnored()
	out, err := job.Run(job.Options{Argv: argv, Files: given(), Around: a.oom.Usual, Limits: o.limits, Kernel: kernel{},
		Grace: o.grace, Whole: capture.InAll + o.killAfter + folder.Patience,
		EndSignal: o.signal.number, Patience: o.killAfter,
		PreserveStatus: o.preserve, DumpSignal: o.dumpSignal.number, Leftovers: job.Leftovers(o.leftovers.word),
		Children: tracer.ChildrenOf, InJob: ci.InJob(os.Getenv)}, r)
	if err != nil {
		a.complain(err)
		r.log.Flush(lastStill, lastMost)
		var start *supervise.StartError
		if errors.As(err, &start) {
			return statusError(start.Status)
		}
		return statusError(supervise.Failed)
	}
	r.close(out.Status, began)
	if out.Death != 0 {
		supervise.DieBy(out.Death, out.HadTerminal)
	}
	if out.Status == 0 {
		return nil
	}
	return statusError(out.Status)
}

// deadline is the value of --deadline.
type deadline struct {
	after time.Duration
	auto  bool
}

func (d *deadline) Type() string { return "TIME|auto" }

func (d *deadline) String() string {
	if d.auto {
		return "auto"
	}
	return (*seconds)(&d.after).String()
}

func (d *deadline) Set(s string) error {
	d.auto = s == "auto"
	if d.auto {
		return nil
	}
	return (*seconds)(&d.after).Set(s)
}

// signalName is the value of a flag that takes a signal by its name or number.
type signalName struct {
	number syscall.Signal // 0: none
	none   bool           // it may be none, and none that means something to fpstack already
}

func (n *signalName) Type() string { return "SIGNAL" }

func (n *signalName) String() string {
	if n.number == 0 {
		return "none"
	}
	return strings.TrimPrefix(supervise.SignalName(n.number), "SIG")
}

func (n *signalName) Set(s string) error {
	if s == "none" && n.none {
		n.number = 0
		return nil
	}
	got := supervise.SignalNumber(s)
	if got == 0 && n.none {
		return fmt.Errorf("want a signal, as USR1 or QUIT, or none")
	}
	if got == 0 {
		return fmt.Errorf("want a signal, as TERM or INT")
	}
	if n.none {
		switch got {
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCHLD, syscall.SIGCONT, syscall.SIGTERM, syscall.SIGINT,
			syscall.SIGHUP, syscall.SIGURG, syscall.SIGPIPE, syscall.SIGXFSZ:
			return fmt.Errorf("%s means something else", supervise.SignalName(got))
		}
	}
	n.number = got
	return nil
}

// jobDeadline is the one that the CI system sets, and is said; 0 if it sets none.
func (a *app) jobDeadline() time.Duration {
	limit, ok := ci.Deadline(os.Getenv, time.Now())
	if !ok {
		a.complain(fmt.Errorf("--deadline auto: no variable says how long this job may take (%s): there is no deadline",
			strings.Join(ci.LimitVariables(), ", ")))
		return 0
	}
	fmt.Fprintf(a.stderr, "fpstack: --deadline %s\n", &limit)
	return limit.After
}
