// Package cmd is the command line of fpstack: one file a subcommand, with its flags, the
// wiring of the other packages, exit statuses, and the remedies for a person when something
// is refused. It holds no algorithm.
//
// What users type and read is a contract: docs/cli.md.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/fpstack/fpstack/hang/supervise"
	"github.com/fpstack/fpstack/outfile"
	"github.com/fpstack/fpstack/text"
)

// Exit statuses, docs/cli.md.
const (
	statusAll     = 0  // all was shown
	statusPart    = 1  // something was shown, something could not be
	statusNothing = 2  // nothing could be shown
	statusUsage   = 64 // the command line is wrong; EX_USAGE of sysexits.h
)

// dumpStatus are the exit statuses of a dump and what they mean.
var dumpStatus = []string{"0", "everything was shown", "1", "something could not be shown; standard error says what",
	"2", "nothing could be shown"}

// errPart says that part of the result is missing; what is missing was reported already.
var errPart = errors.New("part of the result is missing")

// errNothing says that nothing could be shown; why was reported already.
var errNothing = errors.New("nothing could be shown")

// usageError is a mistake on the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }

// app is what the subcommands share: where results and complaints go.
type app struct {
	stdout, stderr io.Writer
	files          outfile.Files
	saves          outfile.Files // of what others may not read
	progress       *progress     // nil if none is shown
	unheed         func()        // ends what endable began
	oom            supervise.OOMScore
	args           []string // the command line
	runs           bool     // it is to run a command and to pass its status on
}

// Run runs the command line args of this process and returns its exit status. Results go to standard output,
// complaints to standard error. It changes the process: makes it the first to be ended when memory runs out, and what
// it starts as it was before.
func Run(args []string) int {
	return (&app{stdout: os.Stdout, stderr: steady(os.Stderr), oom: supervise.Yield()}).execute(args)
}

// Execute is [Run] with outputs of its own, and leaves this process as it is: for tests.
func Execute(args []string, stdout, stderr io.Writer) int {
	return (&app{stdout: stdout, stderr: stderr}).execute(args)
}

func (a *app) execute(args []string) int {
	a.unheed = func() {}
	defer func() { a.unheed() }()
	root := a.root()
	plain := &plainOutput{app: a}
	root.SetOut(plain) // before commands are made: that of completions keeps it
	a.addCommands(root, args)
	root.SetArgs(args)
	a.args = args
	c, err := root.ExecuteContextC(context.Background())
	if err == nil {
		err = plain.err
	}
	return a.status(c, err)
}

// status reports err of command c, if that was not done yet, and gives its exit status.
func (a *app) status(c *cobra.Command, err error) int {
	var (
		usage  usageError
		status statusError
	)
	switch {
	case err == nil:
		return statusAll
	case errors.As(err, &status):
		return int(status)
	case errors.Is(err, errPart):
		return statusPart
	case errors.Is(err, errNothing):
		return statusNothing
	case errors.As(err, &usage):
		a.complain(err)
		fmt.Fprintf(a.stderr, "Run '%s --help' for the options.\n", c.CommandPath())
		return statusUsage
	}
	a.complain(err)
	return statusNothing
}

// complain writes one error, a line, and its remedy if there is one.
func (a *app) complain(err error) {
	fmt.Fprintf(a.stderr, "fpstack: %s\n", text.Message(err.Error()))
	if r := remedy(err); r != "" {
		fmt.Fprintf(a.stderr, "  %s\n", r)
	}
}

// root is the command without a subcommand, which is dump. It has no subcommands yet: see addCommands.
func (a *app) root() *cobra.Command {
	o := &dumpOptions{}
	c := &cobra.Command{
		Use:   "fpstack [OPTION…] PID… | NAME… | FILE…",
		Short: "Show what every thread of a process is doing",
		Long: `Show what every thread of a running process is doing, or where it hangs.

Threads are stopped for about a millisecond, and nothing in the process is
changed. Name a process by its id or its name, or name a file: a core, what
--save wrote, or a dump in JSON.`,
		Example: `  fpstack 4121                       what each thread of process 4121 is doing
  fpstack record 4121 -o out.html    where its time goes: a flame graph
  fpstack top nginx                  the same live, of all processes named nginx
  fpstack hang 4121                  does it hang, and why
  fpstack run make test              run a command; if it hangs, say why, end it
  fpstack flame a.pb.gz -o a.html    a flame graph of a profile, or a comparison
  fpstack doctor 4121                what keeps fpstack from it, and the remedy`,
		Annotations:   exitStatus(dumpStatus...),
		Args:          func(c *cobra.Command, words []string) error { return a.rootArgs(c, o, words) },
		SilenceErrors: true,
		SilenceUsage:  true,
		// Beyond so many edits no command is proposed for a word.
		SuggestionsMinimumDistance: 2,
	}
	onlyVersion := false
	c.RunE = func(c *cobra.Command, _ []string) error {
		if onlyVersion {
			_, err := fmt.Fprint(c.OutOrStdout(), versionText())
			return err
		}
		return a.dumpCalled(c, o)
	}
	c.SetErr(a.stderr)
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	o.register(c)
	c.Flags().BoolVar(&onlyVersion, "version", false, "print the version, commit and what is supported")
	sections(c.Flags(), "version", "About fpstack")
	c.SetHelpFunc(a.showHelp)
	c.PersistentPreRunE = a.checkLimits
	return c
}

// noArgs refuses words that no flag takes.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unknown argument %q", args[0])}
	}
	return nil
}
