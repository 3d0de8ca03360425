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

	"github.com/fpstack/fpstack/dump"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/report/folder"
	"github.com/fpstack/fpstack/resolve/offline"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/text"
	"github.com/fpstack/fpstack/work"
)

// dumpFiles shows what files hold: cores, or what --save wrote and dumps in JSON, with the objects among them.
func (a *app) dumpFiles(ctx context.Context, o *dumpOptions, form report.Options) error {
	shown, objects, unread := a.openFiles(o.files)
	defer func() {
		for _, in := range shown {
			in.Close()
		}
	}()
	if len(shown) == 0 {
		if unread > 0 {
			return errNothing
		}
		return usageError{fmt.Errorf("%q is a program or a debug file: name a core, a saved dump or a dump in JSON "+
			"before it; 'fpstack check' examines programs", o.files[0])}
	}
	cores := 0
	for _, in := range shown {
		if in.what == coreFile {
			cores++
		}
		if err := o.effects(string(in.what)); err != nil {
			return err
		}
	}
	ctx = a.endable(ctx)
	switch {
	case cores == 0:
		return a.dumpKept(ctx, o, form, shown, objects, unread)
	case cores < len(shown):
		return usageError{errors.New("a core file together with other dumps: show one after the other")}
	case len(objects) > 1:
		return usageError{fmt.Errorf("%d programs for a core: give that which was run, and folders with the other "+
			"files by --sysroot or --debug-dir", len(objects))}
	}
	err := a.dumpCores(ctx, o, form, shown, strings.Join(objects, ""))
	if err == nil && unread > 0 {
		err = errPart
	}
	return err
}

// openFiles opens files and tells objects from what is shown. Of a folder that is a report all saved processes are
// shown. What cannot be read is reported and counted.
func (a *app) openFiles(names []string) (shown []*kept, objects []string, unread int) {
	var all []string
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			if saved := savedIn(name); len(saved) > 0 {
				all = append(all, saved...)
				continue
			}
		}
		all = append(all, name)
	}
	for _, name := range all {
		in, err := openKept(name)
		if err != nil {
			a.complain(err)
			unread++
			continue
		}
		in.release()
		if in.what != object {
			shown = append(shown, in)
			continue
		}
		in.Close()
		if abs, err := filepath.Abs(name); err == nil {
			name = abs // .gnu_debuglink is relative to it
		}
		objects = append(objects, name)
	}
	return shown, objects, unread
}

// dumpKept names dumps by the objects given and those that are here.
func (a *app) dumpKept(ctx context.Context, o *dumpOptions, form report.Options, dumps []*kept, objects []string,
	unread int) error {
	if o.debuginfod {
		a.progress = newProgress(a.stderr)
		defer a.progress.clear()
	}
	budget := keepHeap(newBudget(ctx, &o.namingOptions))
	finder := a.finder(ctx, &o.namingOptions)
	defer finder.Close()
	files := offline.NewFiles(charged(ownFile, budget), finder)
	if o.sysroot != "" {
		files.View(charged(o.view(), budget))
	}
	defer files.Close()
	fibers := dump.AllFibers
	if o.fibers.word == "none" {
		fibers = dump.NoFibers
	}
	names := o.names(finder, budget)
	j := &symbolizing{app: a, o: o, files: files, budget: budget, missing: unread > 0,
		walks: dump.Options{Runtimes: o.vms(budget, names.Files), Names: names, Mode: o.unwind.mode(),
			MaxFrames: o.maxFrames, Locals: o.locals, Fibers: fibers},
		namer: offline.New(files, symbol.NewFiles(finder, o.allLines()), o.symbols())}
	for _, name := range objects {
		if err := files.Give(name); err != nil {
			a.complain(err)
			j.missing = true
		}
	}
	return a.writeDumps(o, form, func(w dumpSink) error { return j.run(ctx, w, dumps) })
}

// savedIn lists the saved processes of a report, or of its folder of processes; none if it is something else.
func savedIn(dir string) (saved []string) {
	for _, in := range []string{filepath.Join(dir, folder.Details), dir} {
		entries, _ := os.ReadDir(in)
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".snap") {
				saved = append(saved, filepath.Join(in, e.Name()))
			}
		}
		if len(saved) > 0 {
			return saved
		}
	}
	return nil
}

// symbolizing names dumps that were made elsewhere.
type symbolizing struct {
	*app
	o       *dumpOptions
	files   *offline.Files
	namer   *offline.Namer
	budget  *work.Budget
	walks   dump.Options // of saved snapshots
	shown   int
	missing bool
}

func (j *symbolizing) run(ctx context.Context, w dumpSink, dumps []*kept) error {
	for _, in := range dumps {
		if err := j.file(ctx, w, in); err != nil {
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
func (j *symbolizing) file(ctx context.Context, w dumpSink, in *kept) error {
	if err := in.reopen(); err != nil {
		j.fail(err)
		return nil
	}
	defer in.Close()
	defer context.AfterFunc(ctx, in.interrupt)()
	next, name := j.reader(in), in.name
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

// reader returns what reads the dumps of a file, one at a call.
func (j *symbolizing) reader(in *kept) func() (*profile.Dump, error) {
	data := bufio.NewReaderSize(j.budget.Reader(in.stream, 0), 64<<10)
	if in.what == document {
		return report.NewReader(data).Read
	}
	open := func(f *snapshot.File) (*module.File, error) {
		return j.files.Open(&profile.Module{Path: f.Path, BuildID: f.BuildID, Err: f.Err}, f.Sum)
	}
	replay := dump.NewReplayer(data, open, j.walks)
	return func() (*profile.Dump, error) {
		d, err := replay.Next()
		if err == nil {
			d.Notes = append(d.Notes, dumpNotes(d, &j.o.namingOptions)...)
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
