// Package folder keeps what is known of a hang in a folder of small files, each of which is there whole or not at all.
//
// The caller gives the folder and functions that write the files.
//
// It guarantees:
//   - Another report is never overwritten: a folder that has one keeps it, and the new one goes to a folder below it, 2
//     or the first number that is free. Of two that begin at the same moment each has its own.
//   - All files together stay below a limit; what has no room is left out, and [Folder.Remarks] says it.
//   - Names that it chooses are made new, folders too: a link that somebody put there is not followed.
//   - What cannot be written keeps nothing else back, and a file system that is slow, or does not answer, keeps nobody
//     waiting for longer than it may.
//   - Saved memory, and what else others should not read, is for its owner alone.
//
// It is not for several reports at a time in one Folder, and it decides nothing about what is worth keeping.
package folder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"sync"
	"time"

	"github.com/fpstack/fpstack/errand"
	"github.com/fpstack/fpstack/text"
)

// Limits of a report, in bytes, where none are given.
const (
	Limit   = 10_000_000
	Reserve = 4_000_000
)

// Options say how much a report may hold, and how long it may take.
type Options struct {
	// Limit bounds all files together, 0: Limit bytes. Reserve is the part of it that Keep leaves free for Put, 0:
	// Reserve bytes, or half of a smaller Limit.
	Limit, Reserve int64
	// Patience is how long all writing together may take, half of that what is written by Keep, 0: Patience.
	Patience time.Duration
}

// Patience is how long writing may take where nothing else is said.
const Patience = 10 * time.Second

// Dir is a folder that is open; outfile.Dir is one.
type Dir interface {
	// Path is where it is.
	Path() string
	// Make makes a folder in it. It fails with fs.ErrExist where something has the name, a link too.
	Make(name string) (Dir, error)
	// Has reports whether something in it has that name.
	Has(name string) bool
	// Write writes a file, whole or not at all, in the place of what has the name. Nobody but its owner may read it
	// if it
	// is private.
	Write(name string, private bool, write func(io.Writer) error) error
}

// Folder is one report. Any goroutine may call its methods; files are written one at a time.
type Folder struct {
	dir, details Dir
	opt          Options

	writing sync.Mutex // held while a file is written
	mu      sync.Mutex
	spent   time.Duration    // on writing
	sizes   map[string]int64 // of the files that are there
	left    []string         // what was left out
	lost    []string         // what could not be written
	err     error            // the first reason
}

// Details is the folder below a report with the files of each process.
const Details = "processes"

// maxReports bounds how many reports a folder may have below it.
const maxReports = 10000

// verdict is the file that says most; a folder that has one has a report.
const verdict = "hang.txt"

// Create makes the folder of a new report: the one that open opens, or a numbered one in it.
//
// It fails if no folder can be made, and with errand.ErrNoAnswer if it is not known in time whether.
func Create(open func() (Dir, error), opt Options) (*Folder, error) {
	if opt.Limit <= 0 {
		opt.Limit = Limit
	}
	if opt.Reserve <= 0 {
		opt.Reserve = min(Reserve, opt.Limit/2)
	}
	if opt.Patience <= 0 {
		opt.Patience = Patience
	}
	f := &Folder{opt: opt, sizes: map[string]int64{}}
	var dir, details Dir
	err := f.timed(opt.Patience/2, func() error {
		above, err := open()
		if err == nil {
			dir, details, err = claim(above)
		}
		return err
	})
	if err != nil {
		return nil, reason(err)
	}
	f.dir, f.details = dir, details
	return f, nil
}

// timed calls a function that asks the file system, for so long at most, and counts the time.
func (f *Folder) timed(most time.Duration, ask func() error) error {
	began := time.Now()
	err := errand.Within(most, ask)
	f.spent += time.Since(began)
	return err
}

// claim makes above ours, or a numbered folder in it. Whoever makes the folder Details has it; a numbered one that is
// there is somebody's.
func claim(above Dir) (dir, details Dir, err error) {
	for n := 1; n <= maxReports; n++ {
		dir, err = above, nil
		if n > 1 {
			dir, err = above.Make(strconv.Itoa(n))
		} else if above.Has(verdict) {
			continue
		}
		if err == nil {
			details, err = dir.Make(Details)
		}
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return dir, details, err
		}
	}
	return nil, nil, fmt.Errorf("it has %d reports", maxReports)
}

// Path is the folder's.
func (f *Folder) Path() string { return f.dir.Path() }

// Details is the folder for files of each process.
func (f *Folder) Details() Dir { return f.details }

// Put writes the file of that name, in place of an earlier one of this report: by the first of the functions whose
// result has room.
func (f *Folder) Put(name string, write ...func(io.Writer) error) {
	f.store(&file{f.dir, name, name, false}, 0, f.opt.Patience, write)
}

// Keep writes a file of one process among the Details, if that leaves the reserve. What is private others should not
// read.
func (f *Folder) Keep(name string, private bool, write func(io.Writer) error) {
	f.store(&file{f.details, name, path.Join(Details, name), private}, f.opt.Reserve, f.opt.Patience/2,
		[]func(io.Writer) error{write})
}

// file is one that is written.
type file struct {
	dir     Dir
	name    string
	shown   string // its path in the report
	private bool
}

// store writes a file, and leaves so many bytes of the limit free. All writing together may have taken so long then.
func (f *Folder) store(to *file, free int64, most time.Duration, writes []func(io.Writer) error) {
	f.writing.Lock()
	defer f.writing.Unlock()
	room := f.room(to.shown, free)
	var b bounded
	var err error
	for _, write := range writes {
		b = bounded{room: room}
		if err = write(&b); !b.full {
			break
		}
	}
	if err == nil && !b.full {
		err = f.put(to, most-f.spent, b.kept.Bytes())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case b.full:
		f.left = append(f.left, to.shown)
	case err != nil:
		if f.err == nil {
			f.err = reason(err)
		}
		f.lost = append(f.lost, to.shown)
	default:
		f.sizes[to.shown] = int64(b.kept.Len())
	}
}

// room is how many bytes the file of that name may have.
func (f *Folder) room(name string, free int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	room := f.opt.Limit - free + f.sizes[name]
	for _, size := range f.sizes {
		room -= size
	}
	return room
}

// put writes a file within that time.
func (f *Folder) put(to *file, most time.Duration, content []byte) error {
	if most <= 0 {
		return errSlow
	}
	return f.timed(most, func() error {
		return to.dir.Write(to.name, to.private, func(w io.Writer) error {
			_, err := w.Write(content)
			return err
		})
	})
}

// errSlow says that the time for all files is over.
var errSlow = errors.New("its file system is too slow")

// reason is err without the path that the caller names.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// Err is one error for all that could not be written, nil if all could.
func (f *Folder) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch len(f.lost) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("write report %q: %s: %w", f.Path(), f.lost[0], f.err)
	}
	return fmt.Errorf("write report %q: %s and %s: %w", f.Path(), f.lost[0], text.Count(len(f.lost)-1, "further file"),
		f.err)
}

// Remarks say what was left out because the report would have been too large, a line each.
func (f *Folder) Remarks() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.left) == 0 {
		return nil
	}
	line := f.left[0]
	if n := len(f.left) - 1; n > 0 {
		line += " and " + text.Count(n, "further file")
	}
	most := text.Quantity(float64(f.opt.Limit), "bytes")
	return []string{fmt.Sprintf("left out, as a report has at most %s: %s", most, line)}
}

// bounded keeps what is written to it while there is room.
type bounded struct {
	kept bytes.Buffer
	room int64
	full bool
}

// errFull ends what would write more than there is room for.
var errFull = errors.New("no room in the report")

func (b *bounded) Write(p []byte) (int, error) {
	if b.full || int64(b.kept.Len()+len(p)) > b.room {
		b.full = true
		return 0, errFull
	}
	return b.kept.Write(p)
}
