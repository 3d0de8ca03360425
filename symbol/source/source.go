// Package source reads the lines of source files that the frames of a dump are at.
//
// The caller gives the views to look through, that of the process before our own, and a dump
// with files and lines. It is asked while the process may still be read, never while it is stopped.
//
// It guarantees that work and memory are bounded whatever the names and files are. Text is that of
// the files and may hold any bytes.
package source

import (
	"bytes"
	"fmt"
	"path"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/work"
)

const (
	maxSize  = 64 << 20 // bytes of a source file; the largest that people write have some MB
	maxFiles = 4096     // looked for in one dump
	maxText  = 512      // bytes of a line that are kept
)

// View is one view of the file system.
type View struct {
	// Open opens a regular file by its absolute path.
	Open func(path string) (*module.File, error)
	// ModTime is when the file was changed last, false if that is not known.
	ModTime func(path string) (time.Time, bool)
	// Began is when the process began that the frames are of; zero if that is not known.
	Began time.Time
}

// Steps of a [work.Budget] that a line takes besides one for each byte, and a file to be looked for.
const (
	lineCost = 20
	fileCost = 20_000
)

// Add puts into d.Sources the line of each frame with around lines before and behind it, where
// the file is in one of the views; the first that has it counts. A file with a relative name, one
// that is no regular file, and one of more than 64 MB is left out, and so are those that b does not suffice for
// (nil: it does for all).
func Add(d *profile.Dump, around int, b *work.Budget, views ...View) {
	wanted := wantedLines(d, around)
	if len(wanted) == 0 {
		return
	}
	d.Sources = collect(wanted, b, views)
	if err := b.Err(); err != nil {
		d.Problems = append(d.Problems, fmt.Sprintf("source lines are missing: %v", err))
	}
}

func collect(files map[string]*wanted, b *work.Budget, views []View) map[string]profile.Source {
	got := map[string]profile.Source{}
	for name, w := range files {
		if !b.Spend(fileCost) {
			break
		}
		if s, ok := read(name, w, b, views); ok {
			got[name] = s
		}
	}
	return got
}

// wanted is what is asked of one file.
type wanted struct {
	lines   map[int]bool
	modules map[string]bool // paths of the objects whose code it is
	read    bool            // the process reads its text by itself
}

func wantedLines(d *profile.Dump, around int) map[string]*wanted {
	files := map[string]*wanted{}
	for list := range d.FrameLists() {
		for _, f := range *list {
			if !path.IsAbs(f.File) || f.Line <= 0 {
				continue
			}
			want(files, &f, around, d.Modules)
		}
	}
	return files
}

// want adds the lines around that of f.
func want(files map[string]*wanted, f *profile.Frame, around int, modules []profile.Module) {
	w := files[f.File]
	if w == nil {
		if len(files) == maxFiles {
			return
		}
		w = &wanted{lines: map[int]bool{}, modules: map[string]bool{}}
		files[f.File] = w
	}
	for n := f.Line - around; n <= f.Line+around; n++ {
		w.lines[n] = true
	}
	w.read = w.read || f.Kind == profile.Python
	// What an object executes that is not built into it may well be newer.
	if f.Kind != profile.JavaScript && f.Module >= 0 && f.Module < len(modules) {
		w.modules[modules[f.Module].Path] = true
	}
}

// read reads the wanted lines of a file from the first view that has it.
func read(name string, w *wanted, b *work.Budget, views []View) (profile.Source, bool) {
	clean := path.Clean(name)
	for _, v := range views {
		file, err := v.Open(clean)
		if err != nil {
			continue
		}
		var s profile.Source
		if len(file.Data) <= maxSize {
			err = module.Guard(clean, func() error {
				s.Lines = lines(file.Data, w.lines, b)
				return nil
			})
		}
		if file.Close != nil {
			file.Close()
		}
		if err != nil || len(s.Lines) == 0 {
			return s, false
		}
		s.Newer, s.Rewritten = newer(clean, w, v), w.read && rewritten(clean, v)
		return s, true
	}
	return profile.Source{}, false
}

// lines returns the wanted lines of text, by their numbers from 1, as far as b goes.
func lines(text []byte, want map[int]bool, b *work.Budget) map[int]string {
	last := 0
	for n := range want {
		last = max(last, n)
	}
	out := map[int]string{}
	left := b.Purse()
	for n := 1; n <= last && len(text) > 0; n++ {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		if !left.Spend(lineCost + int64(len(line))) {
			break
		}
		if want[n] {
			line = bytes.TrimSuffix(line, []byte("\r"))
			out[n] = string(line[:min(len(line), maxText)])
		}
		text = rest
	}
	return out
}

// rewritten reports whether the file was changed after the process began.
func rewritten(name string, v View) bool {
	changed, ok := v.ModTime(name)
	return ok && !v.Began.IsZero() && changed.After(v.Began)
}

// newer reports whether the file was changed after one of the objects built from it.
func newer(name string, w *wanted, v View) bool {
	changed, ok := v.ModTime(name)
	if !ok {
		return false
	}
	for object := range w.modules {
		if built, ok := v.ModTime(object); ok && changed.After(built) {
			return true
		}
	}
	return false
}
