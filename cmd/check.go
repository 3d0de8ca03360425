package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fpstack/fpstack/check"
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/symbol/debugfile"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
	"github.com/fpstack/fpstack/work"
)

// aspects is the value of --require: comma separated or repeated.
type aspects []check.Aspect

func (v *aspects) Type() string { return "WORD" }

func (v *aspects) words() []word {
	return []word{{"fp", "95% of the functions that need a frame record make one"},
		{"tables", "90% of the code has unwind tables"},
		{"symbols", "functions that are not exported have names too"}}
}

func (v *aspects) String() string {
	var words []string
	for _, a := range *v {
		words = append(words, string(a))
	}
	return strings.Join(words, ",")
}

func (v *aspects) Set(s string) error {
	for _, text := range strings.Split(s, ",") {
		a := check.Aspect(strings.TrimSpace(text))
		if !slices.Contains(check.Required, a) {
			return fmt.Errorf("want %s, not %q", orList(v.words()), text)
		}
		if !slices.Contains(*v, a) {
			*v = append(*v, a)
		}
	}
	return nil
}

// checkOptions are the flags of check.
type checkOptions struct {
	processOptions
	files   []string
	require aspects
	modules []string
	sample  int
	shownOptions

	budget *work.Budget // of the run
}

// newBudget is what the run may take. A check of every function gets many times what a dump does.
func (o *checkOptions) newBudget(ctx context.Context) *work.Budget {
	steps := int64(work.Steps)
	if o.sample == 0 {
		steps *= 16
	}
	return keepHeap(stoppable(ctx, work.New(steps, work.Memory)))
}

func (a *app) checkCommand() *cobra.Command {
	o := &checkOptions{}
	c := &cobra.Command{
		Use:   "check [OPTION…] PID… | NAME… | FILE…",
		Short: "Check whether stacks of a program will be complete and named",
		Long: `Say whether stacks of a program will be complete and have names and lines, and
which compiler flag brings what is missing.

It reads the unwind tables, symbols, lines and code of the files, or of all code
that a process has mapped. For a process it also shows how far frame pointers
alone lead on each thread, and in which function they break; for that it stops
the process once, as a dump does.`,
		Example: `  fpstack check ./server --require fp,symbols   in a CI job
  fpstack check 4121                            why are its stacks short?`,
		Annotations: exitStatus("0", "everything that --require names is there",
			"1", "something required is missing, or a part could not be read", "2", "nothing could be read"),
		Args: func(_ *cobra.Command, words []string) error { return o.args(words) },
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.shownOptions.check(c); err != nil {
				return err
			}
			return a.check(a.endable(c.Context()), o)
		},
	}
	f := c.Flags()
	o.processOptions.register(f)
	f.StringArrayVar(&o.modules, "module", nil, "only modules whose name or path matches this `PATTERN` (* ? [a-z])")
	f.Var(&o.require, "require", "exit with status 1 if a module lacks one of these, separated by commas")
	f.IntVar(&o.sample, "sample", 500, "read `N` functions of each module, evenly chosen; 0: all")
	o.shownOptions.register(f, textOrJSON(), "show every module, and where each number comes from")
	sections(f, "pid", "What to check", "require", "Checks", "format", "Output")
	return c
}

// args takes words: processes and files.
func (o *checkOptions) args(words []string) error {
	for _, word := range words {
		file := isFile(word) && new(ids).Set(word) != nil
		switch {
		case file && isProcess(word) && !strings.Contains(word, "/"):
			return usageError{fmt.Errorf("%q is a file and a process that runs: write ./%s or -n %s", word, word, word)}
		case file:
			o.files = append(o.files, word)
		default:
			o.take([]string{word})
		}
	}
	return nil
}

// verify refuses values that make no sense together.
func (o *checkOptions) verify() error {
	switch {
	case o.none() && len(o.files) == 0:
		return usageError{errors.New("nothing to check: give a process, as 4121 or nginx, or files")}
	case !o.none() && len(o.files) > 0:
		return usageError{errors.New("both processes and files: give one of them")}
	case o.sample < 0:
		return usageError{fmt.Errorf("--sample %d is negative", o.sample)}
	}
	for _, pattern := range o.modules {
		if _, err := path.Match(pattern, ""); err != nil {
			return usageError{fmt.Errorf("--module %q: %w", pattern, err)}
		}
	}
	return nil
}

// wants reports whether a module with that path is to be checked.
func (o *checkOptions) wants(file string) bool {
	return len(o.modules) == 0 || slices.ContainsFunc(o.modules, func(pattern string) bool {
		byName, _ := path.Match(pattern, path.Base(file))
		byPath, _ := path.Match(pattern, file)
		return byName || byPath
	})
}

func (a *app) check(ctx context.Context, o *checkOptions) error {
	if err := o.verify(); err != nil {
		return err
	}
	if err := o.meansProcesses(); err != nil {
		return err
	}
	unnamed, err := a.addNamed(&o.pids, o.byName)
	if err != nil {
		return err
	}
	o.budget = o.newBudget(ctx)
	return a.writeVerdict(o.output, func(w io.Writer) error {
		shown, missing := 0, unnamed
		show := func(r *check.Report, err error) error {
			if err != nil {
				a.complain(err)
				missing++
			}
			if r == nil || len(r.Modules) == 0 {
				return nil
			}
			if shown > 0 && o.format.word == "text" {
				fmt.Fprintln(w)
			}
			shown++
			for _, m := range r.Modules {
				if err := cmp.Or(m.Err, m.Cut); err != nil {
					missing++
					if o.budget.Stopped() == nil { // else it is reported once for all
						a.complain(err)
					}
				}
			}
			missing += len(r.Unmet()) + len(r.Problems)
			return a.writeCheck(w, o, r)
		}
		if len(o.files) > 0 {
			if err := show(a.checkFiles(o, o.files)); err != nil {
				return err
			}
		}
		for _, pid := range o.pids {
			if err := show(o.checkProcess(ctx, pid)); err != nil {
				return err
			}
		}
		if err := o.budget.Stopped(); err != nil {
			a.complain(fmt.Errorf("not everything was read: %w", err))
			missing++
		}
		switch {
		case shown == 0:
			return errNothing
		case missing > 0:
			return errPart
		}
		return nil
	})
}

func (a *app) writeCheck(w io.Writer, o *checkOptions, r *check.Report) error {
	if o.format.word == "json" {
		return report.CheckJSON(w, r)
	}
	return report.CheckText(w, r, o.verbose, o.style(a), a.lineWidth(o.output))
}

// checkFiles checks files. The error is of the last that could not be opened; the others were reported.
func (a *app) checkFiles(o *checkOptions, files []string) (*check.Report, error) {
	r := &check.Report{Required: o.require}
	var failed error
	for _, name := range files {
		if abs, err := filepath.Abs(name); err == nil && !o.wants(abs) {
			continue
		}
		m, err := o.checkFile(name)
		if err != nil {
			if failed != nil {
				a.complain(failed)
				r.Problems = append(r.Problems, failed.Error())
			}
			failed = err
			continue
		}
		r.Modules = append(r.Modules, m)
	}
	if failed == nil && len(r.Modules) == 0 {
		failed = errors.New("check: no file matches the pattern of --module")
	}
	return r, failed
}

func (o *checkOptions) checkFile(name string) (*check.Module, error) {
	if abs, err := filepath.Abs(name); err == nil {
		name = abs // .gnu_debuglink is relative to it
	}
	f, err := charged(ownFile, o.budget)(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := module.NewFile(f)
	if err != nil {
		return nil, err
	}
	finder := debugfile.New([]debugfile.Open{ownFile}, debugDirs, nil)
	defer finder.Close()
	return check.Inspect(m, check.Options{Sample: o.sample, Debug: finder}), nil
}

// checkProcess checks one process. It may return both a report and an error.
func (o *checkOptions) checkProcess(ctx context.Context, pid int) (*check.Report, error) {
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	snap, err := p.Snapshot(ctx, tracer.StopOptions{})
	if snap == nil {
		return nil, err
	}
	set := module.NewSet(snap.Maps, p.Image())
	defer set.Close()
	set.Charge(o.budget)
	finder := debugfile.New([]debugfile.Open{ownFile}, debugDirs, nil)
	defer finder.Close()
	r := &check.Report{PID: pid, Comm: snap.Process.Comm, Required: o.require, Problems: slices.Clone(snap.Problems)}
	if len(snap.Left) > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%s not checked: the stacks of the others fill what is copied "+
			"in one stop",
			were(uint64(len(snap.Left)), "thread")))
	}
	for i := range snap.Threads {
		if t := &snap.Threads[i]; t.NotStopped != "" && !t.KernelWorker {
			r.Problems = append(r.Problems, fmt.Sprintf("thread %d was not stopped: %s", t.TID, t.NotStopped))
		}
	}
	known := o.checkModules(r, set, finder)
	r.Threads = threadsOf(snap, set, p, func(m *module.Module) *check.Module {
		if _, ok := known[m]; !ok { // --module left it out of the table, its compilers are wanted still
			known[m] = check.Inspect(m, check.Options{Sample: 1})
		}
		return known[m]
	})
	if len(r.Modules) == 0 && err == nil {
		err = fmt.Errorf("check process %d: no module matches the pattern of --module", pid)
	}
	return r, err
}

// checkModules checks all modules that are mapped to execute, and adds those that are wanted to r.
func (o *checkOptions) checkModules(r *check.Report, set *module.Set,
	finder *debugfile.Finder) map[*module.Module]*check.Module {
	known := map[*module.Module]*check.Module{}
	for _, mapping := range set.Table().All() {
		if mapping.Perm&maps.Exec == 0 || mapping.Path == "[vsyscall]" {
			continue
		}
		m := set.Find(mapping.Start)
		if m == nil {
			r.Unnamed++
			r.UnnamedBytes += uint64(mapping.End - mapping.Start)
			continue
		}
		if _, seen := known[m]; seen || !o.wants(m.Path) {
			continue
		}
		known[m] = check.Inspect(m, check.Options{Sample: o.sample, Debug: finder})
		r.Modules = append(r.Modules, known[m])
	}
	return known
}

// maxCheckFrames bounds a stack that is compared.
const maxCheckFrames = 1 << 16

// threadsOf walks every thread both ways.
func threadsOf(snap *snapshot.Snapshot, set *module.Set, p *tracer.Process,
	of func(*module.Module) *check.Module) []check.Thread {
	names := resolve.New(set, resolve.Options{NoInlines: true, NoLines: true})
	walker, known := unwind.NewWalker(set, names), vm.NewTable(vm.Kinds, set.Budget()).Process(set.Image())
	known.Scan(set)
	walker.Use(known)
	full, bare := make([]unwind.Stack, len(snap.Threads)), make([]unwind.Stack, len(snap.Threads))
	for i := range snap.Threads {
		t := &snap.Threads[i]
		memory := snap.Reader(t, p)
		full[i] = walker.Walk(t, memory, unwind.Options{MaxFrames: maxCheckFrames})
		bare[i] = walker.Walk(t, memory, unwind.Options{Mode: unwind.FramePointersOnly, MaxFrames: maxCheckFrames})
	}
	return check.Threads(snap, full, bare, names, of)
}
