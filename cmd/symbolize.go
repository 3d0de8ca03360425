package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fpstack/fpstack/dump"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/report/folder"
	"github.com/fpstack/fpstack/resolve/offline"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/symbol/debugfile"
	"github.com/fpstack/fpstack/text"
	"github.com/fpstack/fpstack/work"
)

// symbolizeOptions are the flags of symbolize.
type symbolizeOptions struct {
	namingOptions
	shownOptions
	noGroup   bool
	maxFrames int
	unwind    unwindMode
	locals    bool
	view      debugfile.Open // of files at the paths of modules; nil: ours
}

func (a *app) symbolizeCommand() *cobra.Command {
	o := &symbolizeOptions{}
	c := &cobra.Command{
		Use:   "symbolize [OPTION…] FILE… [EXE|DEBUGFILE…]",
		Short: "Name the frames of a dump taken on another machine",
		Long: `Name the frames of dumps that 'fpstack -f json' wrote on another machine, or
walk and name what 'fpstack --save' saved there.

Functions, inlined calls, files and lines come from the files that are here: the
programs and debug files given after the dump, the files at the paths of the
modules, and debug files found by build id. A file with another build id is not
used. Of a folder that 'fpstack run --report' wrote all processes are shown.
Stacks of a saved snapshot are walked by the tables in those files, too;
debug files alone have none. FILE - is standard input.`,
		Example: `  fpstack -p 4121 -f json -o dump.json            there
  fpstack symbolize dump.json ./build/server      here, with the unstripped
                                                  program
  fpstack symbolize dump.json --debug-dir ./debug
  fpstack -p 4121 --save server.snap              there, with the stack bytes
  fpstack symbolize server.snap ./build/server    here`,
		Annotations: exitStatus("0", "every frame in a module has a name",
			"1", "some have none, or a file could not be read", "2", "no dump could be read"),
		RunE: func(c *cobra.Command, files []string) error { return a.symbolize(a.endable(c.Context()), o, files) },
	}
	f := c.Flags()
	o.shownOptions.register(f, dumpForm(), "show how each frame was found, and which files names come from")
	f.BoolVar(&o.noGroup, "no-group", false, "show each thread by itself, also where stacks are equal")
	o.unwind = newUnwindMode()
	f.IntVar(&o.maxFrames, "max-frames", 1024, "of a saved snapshot: show at most `N` frames of a thread; 0: no limit")
	f.Var(&o.unwind, "unwind", "of a saved snapshot: how stacks are walked")
	f.BoolVar(&o.locals, "locals", false,
		"of a snapshot saved with --locals: also the local variables of Python's frames")
	o.registerFiles(f)
	sections(f, "format", "Output", "max-frames", "Stacks", "no-inlines", "Names")
	return c
}

// symbolize names dump after dump. One that cannot be read does not keep the others back.
func (a *app) symbolize(ctx context.Context, o *symbolizeOptions, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.maxFrames < 0 {
		return usageError{fmt.Errorf("--max-frames %d is negative", o.maxFrames)}
	}
	dumps, objects := sortArguments(args)
	if len(dumps) == 0 {
		return usageError{errors.New("no dump given: name a FILE, or - for standard input")}
	}
	return a.symbolizeAll(ctx, o, dumps, objects)
}

// symbolizeAll names the dumps by the objects given and those that are here.
func (a *app) symbolizeAll(ctx context.Context, o *symbolizeOptions, dumps []dumpFile, objects []string) error {
	form, err := o.dumps(a, o.noGroup, &o.namingOptions)
	if err != nil {
		return err
	}
	if o.debuginfod {
		a.progress = newProgress(a.stderr)
		defer a.progress.clear()
	}
	budget := keepHeap(newBudget(ctx, &o.namingOptions))
	finder := a.finder(ctx, &o.namingOptions)
	defer finder.Close()
	files := offline.NewFiles(charged(ownFile, budget), finder)
	if o.view != nil {
		files.View(charged(o.view, budget))
	}
	defer files.Close()
	j := &symbolizing{app: a, o: o, files: files, budget: budget, walks: dump.Options{Runtimes: o.vms(budget),
		Names: o.names(finder, budget), Mode: o.unwind.mode(), MaxFrames: o.maxFrames, Locals: o.locals,
		Fibers: dump.FiberModes{"goroutine": dump.AllFibers, "task": dump.AllFibers, "greenlet": dump.AllFibers,
			"virtual thread": dump.AllFibers}},
		namer: offline.New(files, symbol.NewFiles(finder, o.allLines),
			symbol.Options{NoInlines: o.noInlines, NoLines: o.noLines})}
	for _, name := range objects {
		if err := files.Give(name); err != nil {
			a.complain(err)
			j.missing = true
		}
	}
	return a.writeOutput(o.output, func(w io.Writer) error { return j.run(dumpWriter(w, form, o.format.word), dumps) })
}

// sortArguments separates objects from dumps by their first bytes. What is no regular file, as a pipe,
// and what is not there, counts as a dump, and so does each process of a
// report.
func sortArguments(args []string) (dumps []dumpFile, objects []string) {
	for _, name := range args {
		info, err := os.Stat(name)
		if err == nil && info.IsDir() {
			if saved := savedIn(name); len(saved) > 0 {
				dumps = append(dumps, saved...)
				continue
			}
		}
		if name == "-" || err != nil || !info.Mode().IsRegular() || !isELF(name) {
			dumps = append(dumps, dumpFile{name: name})
			continue
		}
		if abs, err := filepath.Abs(name); err == nil {
			name = abs // .gnu_debuglink is relative to it
		}
		objects = append(objects, name)
	}
	return dumps, objects
}

// savedIn lists the saved processes of a report, or of its folder of processes; none if it is something else.
func savedIn(dir string) (saved []dumpFile) {
	for _, in := range []string{filepath.Join(dir, folder.Details), dir} {
		entries, _ := os.ReadDir(in)
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".snap") {
				saved = append(saved, dumpFile{name: filepath.Join(in, e.Name())})
			}
		}
		if len(saved) > 0 {
			return saved
		}
	}
	return nil
}

func isELF(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && string(magic[:]) == "\x7fELF"
}

// symbolizing is one run of symbolize.
type symbolizing struct {
	*app
	o       *symbolizeOptions
	files   *offline.Files
	namer   *offline.Namer
	budget  *work.Budget
	walks   dump.Options // of saved snapshots
	shown   int
	missing bool
}

// dumpFile is a file with dumps, - for standard input. in is nil until it is opened.
type dumpFile struct {
	name string
	in   io.Reader
}

func (j *symbolizing) run(w dumpSink, dumps []dumpFile) error {
	for _, f := range dumps {
		if err := j.file(w, f); err != nil {
			return err
		}
	}
	if j.shown == 0 {
		return errNothing
	}
	if err := w.end(); err != nil {
		return fmt.Errorf("write dumps: %w", err)
	}
	for _, err := range j.files.Unused() {
		j.complain(err)
	}
	if j.missing {
		return errPart
	}
	return nil
}

// file shows all dumps of one file. Only what could not be written ends the run.
func (j *symbolizing) file(w dumpSink, f dumpFile) error {
	name, in := f.name, f.in
	switch {
	case in != nil:
	case name == "-":
		in = os.Stdin
	default:
		opened, err := os.Open(name)
		if err != nil {
			j.fail(fmt.Errorf("read dump: %w", err))
			return nil
		}
		defer opened.Close()
		in = opened
	}
	next := j.reader(bufio.NewReaderSize(j.budget.Reader(in, 0), 64<<10))
	for n := 0; ; n++ {
		d, err := next()
		switch {
		case err == io.EOF && n > 0:
			return nil
		case err == io.EOF:
			j.fail(fmt.Errorf("dump %s: it is empty", fileLabel(name)))
			return nil
		case err != nil:
			j.fail(fmt.Errorf("dump %s: %w", fileLabel(name), err))
			return nil
		}
		if err := j.show(w, d); err != nil {
			return err
		}
	}
}

// reader returns what reads the dumps of a file, one at a call: saved snapshots, which are compressed, or JSON.
func (j *symbolizing) reader(in *bufio.Reader) func() (*profile.Dump, error) {
	if head, _ := in.Peek(2); string(head) != "\x1f\x8b" { // RFC 1952, 2.3.1
		return report.NewReader(in).Read
	}
	open := func(f *snapshot.File) (*module.File, error) {
		return j.files.Open(&profile.Module{Path: f.Path, BuildID: f.BuildID, Err: f.Err}, f.Sum)
	}
	saved := dump.NewReplayer(in, open, j.walks)
	return func() (*profile.Dump, error) {
		d, err := saved.Next()
		if err == nil {
			d.Notes = append(d.Notes, dumpNotes(d)...)
			j.missing = reportMissing(j.app, d) || j.missing
		}
		return d, err
	}
}

func (j *symbolizing) fail(err error) {
	j.complain(err)
	j.missing = true
}

func (j *symbolizing) show(w dumpSink, d *profile.Dump) error {
	named, outcomes := j.namer.Dump(d)
	j.app.progress.clear()
	for i := range outcomes {
		j.report(&outcomes[i])
	}
	j.shown++
	if err := w.add(named); err != nil {
		return fmt.Errorf("write dump of process %d: %w", d.Process.PID, err)
	}
	return nil
}

// report reports on standard error what became of one module.
func (j *symbolizing) report(o *offline.Outcome) {
	for _, err := range parts(o.Err) {
		j.complain(err)
	}
	if j.o.verbose {
		for _, file := range o.Files {
			fmt.Fprintf(j.stderr, "fpstack: %s\n", text.Message(fmt.Sprintf("%q: names from %q", o.Module.Path, file)))
		}
	}
	if o.Unchecked && len(o.Files) > 0 {
		j.complain(fmt.Errorf("%q has no build id: whether %q belongs to it was not checked", o.Module.Path,
			o.Files[0]))
	}
	if o.Unnamed == 0 {
		return
	}
	why := "the files found have no names for them"
	switch {
	case len(o.Files) > 0:
	case o.Module.BuildID == "":
		why = "it has no build id; give a file with its name"
	default:
		why = "no file with build id " + o.Module.BuildID + " was found"
	}
	j.fail(fmt.Errorf("%q: %d of %d frames have no name: %s", o.Module.Path, o.Unnamed, o.Frames, why))
}

// parts takes joined errors apart: each is reported in a line of its own.
func parts(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, parts(e)...)
		}
		return all
	}
	if err == nil {
		return nil
	}
	return []error{err}
}
