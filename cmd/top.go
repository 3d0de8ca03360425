package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/fpstack/fpstack/hang/supervise"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/sampler"
	"github.com/fpstack/fpstack/symbol/debugfile"
	"github.com/fpstack/fpstack/text"
	"github.com/fpstack/fpstack/top"
)

// errBackground says that the terminal belongs to others now.
var errBackground = errors.New("top is in the background, where it may not draw: bring it to the foreground (fg), " +
	"or use --once N")

// topRows is how many rows text has where no terminal bounds them.
const topRows = 40

// topOptions are the flags of top.
type topOptions struct {
	samplingOptions
	sort   choice
	by     choice
	fold   choice
	idle   bool
	filter string
	window time.Duration
	once   seconds
	json   bool
	colour colourMode
}

// topCommand is the live table.
func (a *app) topCommand() *cobra.Command {
	o := &topOptions{}
	c := &cobra.Command{
		Use:   "top [OPTION…] PID… | NAME… | CMD [ARG…]",
		Short: "Show live which functions take the time",
		Long: `Show live which functions take the time, in a table that is updated each second.

Threads that wait in the kernel are hidden until i is pressed; ? lists the keys.
Where standard output is not a terminal the table is written as text, each
second or, with --once, one time.`,
		Example: `  fpstack top 4121
  fpstack top 4121 --once 10 --idle     ten seconds as text, waits too
  fpstack top make -j4                  a command and all that it starts`,
		Annotations: exitStatus("0", "all processes were shown", "1", "some were not", "2", "nothing was shown",
			"125", "CMD: fpstack itself failed", "126", "CMD: it cannot be executed", "127",
			"CMD: it was not found"),
		Args: func(c *cobra.Command, words []string) error {
			err := o.args(c, words, func() *pflag.FlagSet { return a.topCommand().Flags() })
			a.runs = o.command != nil
			return err
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(c); err != nil {
				return err
			}
			return a.top(a.endable(c.Context()), o)
		},
	}
	f := c.Flags()
	o.colour, o.window = newColour(), 10*time.Second
	o.sort = choice{"COLUMN", "self", []word{{"self", "time in the function itself"},
		{"total", "time in it and in what it calls"},
		{"cpu", "CPU time"},
		{"function", "its name"}, {"module", "the file it is in"}, {"file", "source file and line"}}}
	o.by = choice{"WHAT", "function", []word{{"function", "a function"}, {"line", "a source line"},
		{"thread", "a thread"}}}
	o.registerProcesses(f)
	f.Var(&o.sort, "sort", "column that orders the rows")
	f.Var(&o.by, "by", "what a row shows")
	o.fold = foldChoice()
	f.Var(&o.fold, "fold", "whether native code counts as what called it")
	f.BoolVar(&o.idle, "idle", false, "also show threads that wait in the kernel")
	f.StringVar(&o.filter, "filter", "", "rows to show: a regular `EXPRESSION`, module:RE or thread:RE")
	f.Var((*seconds)(&o.window), "window", "`TIME` that the table covers, 1s to 1h")
	f.Var(&o.once, "once", "write the table one time, as text, after this `TIME`")
	f.BoolVar(&o.json, "json", false, "write JSON, a document a line")
	f.Var(&o.colour, "color", "use of colour")
	o.samplingOptions.register(f)
	f.SetInterspersed(false) // what follows a command is the command's
	sections(f, "pid", "Processes and threads", "sort", "Table", "rate", "Sampling", "max-frames", "Stacks",
		"names", "Names")
	return c
}

// check refuses values that make no sense together.
func (o *topOptions) check(c *cobra.Command) error {
	if o.window < time.Second || o.window > time.Hour {
		return usageError{fmt.Errorf("--window %v: want 1s to 1h", o.window)}
	}
	if err := checkEffects("top", c.Flags(), o.subject()); err != nil {
		return err
	}
	return o.samplingOptions.check(c)
}

// top samples until a person quits, --once is over, or everything has ended.
func (a *app) top(ctx context.Context, o *topOptions) error {
	live := !o.json && o.once == 0 && isTerminal(a.stdout)
	if live && !supervise.InForeground() {
		return errBackground
	}
	if err := a.checkWritable("-"); err != nil {
		return err
	}
	unnamed, err := a.addNamed(&o.pids, o.byName)
	if err != nil {
		return err
	}
	finder := a.finder(ctx, &o.namingOptions)
	defer finder.Close()
	r := sampler.New(o.sampler(ctx, finder))
	defer r.Close()
	pids := o.pids
	if len(o.command) > 0 {
		child, err := a.startTopped(o.command, live)
		if err != nil {
			a.complain(err)
			return statusError(startStatus(err))
		}
		defer a.endTopped(child)
		pids = ids{child.PID()}
	}
	unknown := 0
	if len(o.command) == 0 {
		if pids, unknown, err = a.known(&o.samplingOptions); err != nil {
			return err
		}
	}
	missing := a.addAll(r, pids)
	if missing == len(pids) {
		return errNothing
	}
	if err := a.showTop(ctx, r, o, live, topTitle(pids, o.command)); err != nil {
		return err
	}
	if missing+unnamed+unknown > 0 {
		return errPart
	}
	return nil
}

// addAll gives the processes to r and reports those that cannot be sampled.
func (a *app) addAll(r *sampler.Recorder, pids ids) (missing int) {
	for _, pid := range pids {
		if err := r.Add(pid); err != nil {
			a.complain(err)
			missing++
		}
	}
	return missing
}

// showTop runs r and shows what it finds. Both have ended when it returns.
func (a *app) showTop(ctx context.Context, r *sampler.Recorder, o *topOptions, live bool, title string) error {
	inner, cancel := context.WithCancel(ctx)
	ended, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		ended <- top.Guard(func() error { return r.Run(inner) })
	}()
	defer func() {
		cancel()
		<-done
	}()
	opt, source := o.view(title), &recorded{Recorder: r, naming: &o.namingOptions}
	if o.gil && len(o.command) == 0 && !slices.ContainsFunc(o.pids, hasPython) {
		source.unshown = append(source.unshown, "no Python was found: --gil shows nothing else")
	}
	opt.Ended = ended
	err := top.ErrScreen
	if live {
		jobs := supervise.TakeJobs()
		opt.Suspend, opt.SetRate = jobs.Suspend(), r.SetRate
		opt.Stop = func() { r.Hold(func() { jobs.StopGroup(ctx) }) } // no thread of the target is stopped with us
		opt.Write = func(name string, p *profile.Profile) (string, error) { return a.topWrite(o, name, p) }
		opt.WriteTo = o.stem() + topEnding
		err = top.Run(ctx, source, opt)
		jobs.Release()
	}
	if errors.Is(err, top.ErrScreen) {
		err = top.Print(ctx, source, a.stdout, opt, a.printOptions(o))
		var at *os.PathError
		if errors.As(err, &at) {
			err = stdoutError(err)
		}
	}
	var p *top.PanicError
	if errors.As(err, &p) {
		fmt.Fprintf(a.stderr, "fpstack: %v\n%s", p, text.Lines(string(p.Stack)))
		return statusError(statusNothing)
	}
	return err
}

// view is what the flags say of the table.
func (o *topOptions) view(title string) top.Options {
	opt := top.Options{Title: title, Window: o.window, Idle: o.idle, Filter: o.filter, Every: time.Second}
	opt.Plain = o.colour.word == "never" || o.colour.word != "always" && os.Getenv("NO_COLOR") != ""
	opt.Sort, _ = top.ParseSort(o.sort.word) // --sort takes no other words
	opt.By, _ = top.ParseGrouping(o.by.word)
	opt.Folded = o.fold.word == "native"
	opt.Apart = o.fold.word == "none" || o.json && !opt.Folded // what programs read does not change by what runs
	return opt
}

// printOptions are for where nothing is drawn: as wide and high as a terminal, or without bounds.
func (a *app) printOptions(o *topOptions) top.PrintOptions {
	how := top.PrintOptions{JSON: o.json, Once: time.Duration(o.once), Rows: topRows}
	f, ok := a.stdout.(*os.File)
	if !ok || !isScreen(f) {
		return how
	}
	if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		const besides = 6 // head, heading, what is left out, and an empty line
		how.Width, how.Rows = w, max(1, h-besides)
	}
	return how
}

// sampler is what the flags say of the sampling, with the debug files that finder finds.
// Reading them ends with ctx.
func (o *samplingOptions) sampler(ctx context.Context, finder *debugfile.Finder) sampler.Options {
	budget := newBudget(ctx, &o.namingOptions)
	table := o.vms(budget, nil)
	if o.gil {
		table.CopyHolders()
	}
	opt := sampler.Options{Runtimes: runtimesOf(table), Rate: o.rate, LockHolders: o.gil,
		KernelStacks: o.kernel,
		MaxOverhead:  float64(o.maxOverhead),
		Children:     o.follow(), TIDs: o.tids, MaxFrames: o.maxFrames, Unwind: o.unwind.mode(),
		RepairEINTR: o.repairEINTR, MaxPause: o.maxPause,
		Names: o.names(finder, budget)}
	if o.mode.word == "cpu" {
		opt.Mode = sampler.CPU
	}
	return opt
}

// recorded is a Recorder as top wants it.
type recorded struct {
	*sampler.Recorder
	naming  *namingOptions
	unshown []string // of all takes, each once
}

func (r *recorded) Take() (*profile.Profile, error) {
	p, err := r.Recorder.Take()
	if err == nil {
		for _, note := range profileNotes(p, r.naming) {
			if !slices.Contains(r.unshown, note) && len(r.unshown) < maxUnshown {
				r.unshown = append(r.unshown, note)
			}
		}
	}
	return p, err
}

// maxUnshown bounds the notes about languages: processes come and go.
const maxUnshown = 8

func (r *recorded) Stats() top.Stats {
	s := r.Recorder.Stats()
	s.Notes = append(slices.Clip(s.Notes), r.unshown...)
	return top.Stats{Wanted: s.Wanted, Reached: s.Rate, PauseP50: s.PauseP50, PauseMax: s.PauseMax, Stood: s.Stopped,
		Threads: s.Threads, Ticks: s.Ticks, Late: s.LateTicks, Samples: s.Samples, Lost: s.Lost,
		Walked: s.Stops + s.Peeks, Cut: s.Cut, Notes: s.Notes}
}

// topTitle names what is sampled: "4121 redis-server *:6379".
func topTitle(pids ids, command []string) string {
	words := command
	if len(words) == 0 && len(pids) == 1 {
		words = procfs.Cmdline("/proc", pids[0])
	}
	if len(words) == 0 {
		return pids.String()
	}
	return pids.String() + " " + strings.Join(append([]string{filepath.Base(words[0])}, words[1:]...), " ")
}
