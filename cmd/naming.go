package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/symbol/debugfile"
	"github.com/fpstack/fpstack/symbol/debuginfod"
	"github.com/fpstack/fpstack/symbol/source"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/work"
)

// debugDirs are where distributions put separate debug files.
var debugDirs = []string{"/usr/lib/debug"}

// namingOptions are the flags that say which names are wanted and where they come from.
type namingOptions struct {
	level      choice // --names
	native     bool
	debugDirs  []string
	debuginfod bool
}

// newNamesLevel is the value of --names where it is not given.
func newNamesLevel() choice {
	return choice{"LEVEL", "lines", []word{
		{"full", "also lines that take long to read: of the C library, of files above 128 MB, and by all source maps"},
		{"lines", "functions, inlined calls, files and lines"},
		{"functions", "functions only"},
		{"none", "addresses and module+offset"}}}
}

// allLines reports whether lines are wanted that are costly to read.
func (o *namingOptions) allLines() bool { return o.level.word == "full" }

// noLines reports whether files and lines are left out, and inlined calls with them.
func (o *namingOptions) noLines() bool { return o.level.word == "functions" || o.level.word == "none" }

// symbols is what is wanted of the tables of objects.
func (o *namingOptions) symbols() symbol.Options {
	return symbol.Options{NoInlines: o.noLines(), NoLines: o.noLines()}
}

// register adds the flags to f.
func (o *namingOptions) register(f *pflag.FlagSet) {
	o.level = newNamesLevel()
	f.Var(&o.level, "names", "how much is named")
	f.BoolVar(&o.native, "native", false, "show frames of an interpreter's or runtime's own code too")
	f.StringArrayVar(&o.debugDirs, "debug-dir", nil,
		"look for debug files in `DIR` before "+debugDirs[0]+"; can be repeated")
	f.BoolVar(&o.debuginfod, "debuginfod", false, "download missing debug files from the servers in DEBUGINFOD_URLS")
}

// places are the folders to search for separate debug files, those of --debug-dir first.
func (o *namingOptions) places() []string { return slices.Concat(o.debugDirs, debugDirs) }

// check refuses values that make no sense.
func (o *namingOptions) check() error {
	for i, dir := range o.debugDirs {
		if dir == "" {
			return usageError{errors.New("--debug-dir: no directory given")}
		}
		abs, err := filepath.Abs(dir)
		if err != nil {
			return usageError{fmt.Errorf("--debug-dir %q: %w", dir, err)}
		}
		o.debugDirs[i] = abs
	}
	if o.debuginfod && os.Getenv("DEBUGINFOD_URLS") == "" {
		return usageError{errors.New("--debuginfod: DEBUGINFOD_URLS is not set")}
	}
	return nil
}

// finder returns what finds debug files, in the views given before ours. Downloads end with ctx and show where
// progress is shown. The caller closes it when names are wanted no more.
func (a *app) finder(ctx context.Context, o *namingOptions, views ...debugfile.Open) *debugfile.Finder {
	views = append(views, ownFile)
	if !o.debuginfod {
		return debugfile.New(views, o.places(), nil)
	}
	home, _ := os.UserHomeDir() // without one the cache is a temporary folder
	client := debuginfod.FromEnvironment(os.Getenv, home, ownFile)
	client.Context = ctx
	client.Progress = func(url string, got, all int64) { a.progress.update(downloadText(url, got, all)) }
	return debugfile.New(views, o.places(), client)
}

// downloadText is the line shown while a debug file comes; all is -1 if its size is not known.
func downloadText(url string, got, all int64) string {
	const megabyte = 1 << 20
	id := path.Base(path.Dir(url)) // …/buildid/ID/debuginfo
	if all <= 0 {
		return fmt.Sprintf("downloading debug file %.12s  %.1f MB", id, float64(got)/megabyte)
	}
	return fmt.Sprintf("downloading debug file %.12s  %.1f of %.1f MB", id, float64(got)/megabyte,
		float64(all)/megabyte)
}

const (
	// fullNames are the bytes that --names full may inflate in one run besides.
	fullNames = 640 << 20
	// heapSlack is how much of the heap may be garbage before it is collected, bytes.
	heapSlack = 128 << 20
)

// errInterrupted is why reading ends at a signal.
var errInterrupted = errors.New("interrupted")

// newBudget is what one run may take to read files that it does not trust. It ends with ctx.
func newBudget(ctx context.Context, o *namingOptions) *work.Budget {
	steps, memory := int64(work.Steps), int64(work.Memory)
	if o.allLines() {
		steps, memory = 2*steps, memory+fullNames
	}
	return stoppable(ctx, work.New(steps, memory))
}

// stoppable makes b end with ctx.
func stoppable(ctx context.Context, b *work.Budget) *work.Budget {
	context.AfterFunc(ctx, func() { b.Stop(errInterrupted) })
	return b
}

// keepHeap keeps the heap near to what b counts: by itself it would grow to twice that. Recordings, which
// hold more than files, do without.
func keepHeap(b *work.Budget) *work.Budget {
	_, memory := b.Left()
	debug.SetMemoryLimit(memory + heapSlack)
	return b
}

// charged opens files as open does, each within half of what b has left.
func charged(open debugfile.Open, b *work.Budget) debugfile.Open {
	return func(path string) (*module.File, error) {
		f, err := open(path)
		if err == nil {
			f.Budget = b.Share()
		}
		return f, err
	}
}

// names is what the flags say of naming, with the files of finder, within b.
func (o *namingOptions) names(finder *debugfile.Finder, b *work.Budget) resolve.Options {
	return resolve.Options{Budget: b, NoSymbols: o.level.word == "none", NoInlines: o.noLines(),
		NoLines: o.noLines(), Native: o.native, Files: symbol.NewFiles(finder, o.allLines())}
}

// ownFile opens a file as we see it.
func ownFile(path string) (*module.File, error) {
	data, release, err := tracer.OpenFile(path)
	if err != nil {
		return nil, err
	}
	return &module.File{Data: data, Path: path, Close: release}, nil
}

// below opens files by the path that they have for who has dir as root.
func below(dir string) debugfile.Open {
	return func(path string) (*module.File, error) {
		data, release, err := tracer.OpenBelow(dir, path)
		if err != nil {
			return nil, err
		}
		return &module.File{Data: data, Path: path, Close: release}, nil
	}
}

// ownSource is our own view of source files.
var ownSource = source.View{Open: ownFile, ModTime: func(path string) (time.Time, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}, false
	}
	return info.ModTime(), true
}}

// theirSource is the view that a process has.
func theirSource(p *tracer.Process) source.View {
	began, _ := p.BeganAt() // without: not known
	return source.View{Began: began, Open: p.Image().Path, ModTime: func(path string) (time.Time, bool) {
		t, err := p.ModTime(path)
		return t, err == nil
	}}
}
