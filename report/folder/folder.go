// Package folder keeps what is known of a hang in a folder of small files, each of which is there whole or not at all.
//
// The caller gives the folder's path and functions that write the files.
//
// It guarantees:
//   - Another report is never overwritten: a folder that has one keeps it, and the new one goes to a folder below it, 2
//     or the first number that is free. Of two that begin at the same moment each has its own.
//   - All files together stay below a limit; what has no room is left out, and [Folder.Remarks] says it.
//   - What cannot be written keeps nothing else back.
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
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/fpstack/fpstack/text"
)

// Limits of a report, in bytes, where none are given.
const (
	Limit   = 10_000_000
	Reserve = 4_000_000
)

// Options say how much a report may hold.
type Options struct {
	// Limit bounds all files together, 0: Limit bytes. Reserve is the part of it that Keep leaves free for Put, 0:
	// Reserve bytes, or half of a smaller Limit.
	Limit, Reserve int64
}

// Files writes one file, whole or not at all, and follows no link that somebody else laid; outfile.Files does.
type Files interface {
	// Check reports what would keep Write from writing path.
	Check(path string) error
	Write(path string, write func(io.Writer) error) error
}

// Folder is one report. Any goroutine may call its methods; files are written one at a time.
type Folder struct {
	path            string
	public, private Files
	opt             Options

	writing sync.Mutex // held while a file is written
	mu      sync.Mutex
	sizes   map[string]int64 // of the files that are there
	left    []string         // what was left out
	lost    []string         // what could not be written
	err     error            // the first reason
}

// Details is the folder below a report with the files of each process.
const Details = "processes"

// maxReports bounds how many reports a folder may have below it.
const maxReports = 10000

// Create makes the folder of a new report: path, with the folders above it, or a numbered one in it. public writes what
// anybody may read, private what only we may.
//
// It fails if no folder can be made; the error names the path.
func Create(path string, public, private Files, opt Options) (*Folder, error) {
	if opt.Limit <= 0 {
		opt.Limit = Limit
	}
	if opt.Reserve <= 0 {
		opt.Reserve = min(Reserve, opt.Limit/2)
	}
	abs, err := filepath.Abs(path)
	if err == nil {
		err = public.Check(filepath.Join(existing(abs), "hang.txt"))
	}
	if err == nil {
		err = os.MkdirAll(abs, 0o777)
	}
	if err == nil {
		abs, err = claim(abs)
	}
	if err != nil {
		return nil, fmt.Errorf("create report %q: %w", path, reason(err))
	}
	return &Folder{path: abs, public: public, private: private, opt: opt, sizes: map[string]int64{}}, nil
}

// existing is path, or the nearest folder above it that is there: what leads there is checked before anything is made.
func existing(path string) string {
	for {
		if _, err := os.Lstat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// claim makes path ours, or a numbered folder in it. Whoever makes the folder Details has it.
func claim(path string) (string, error) {
	for n := 1; n <= maxReports; n++ {
		dir := path
		if n > 1 {
			dir = filepath.Join(path, strconv.Itoa(n))
			if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
				return "", err
			}
		}
		err := os.Mkdir(filepath.Join(dir, Details), 0o777)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("it has %d reports", maxReports)
}

// Path is the folder's, absolute.
func (f *Folder) Path() string { return f.path }

// Put writes the file of that name, in place of an earlier one of this report: by the first of the functions whose
// result has room.
func (f *Folder) Put(name string, write ...func(io.Writer) error) {
	f.store(f.public, name, 0, write)
}

// PutPrivate is Put for what others should not read.
func (f *Folder) PutPrivate(name string, write ...func(io.Writer) error) {
	f.store(f.private, name, 0, write)
}

// Keep writes a file of one process among the Details, if that leaves the reserve.
func (f *Folder) Keep(name string, write func(io.Writer) error) {
	f.store(f.public, filepath.Join(Details, name), f.opt.Reserve, []func(io.Writer) error{write})
}

// KeepPrivate is Keep for what others should not read.
func (f *Folder) KeepPrivate(name string, write func(io.Writer) error) {
	f.store(f.private, filepath.Join(Details, name), f.opt.Reserve, []func(io.Writer) error{write})
}

// store writes a file, and leaves so many bytes of the limit free.
func (f *Folder) store(to Files, name string, free int64, writes []func(io.Writer) error) {
	f.writing.Lock()
	defer f.writing.Unlock()
	room := f.room(name, free)
	var b bounded
	var err error
	for _, write := range writes {
		b = bounded{room: room}
		if err = write(&b); !b.full {
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case b.full:
		f.left = append(f.left, name)
	case err != nil:
		f.fail(name, err)
	default:
		f.put(to, name, b.kept.Bytes())
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

func (f *Folder) put(to Files, name string, content []byte) {
	err := to.Write(filepath.Join(f.path, name), func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	if err != nil {
		f.fail(name, err)
		return
	}
	f.sizes[name] = int64(len(content))
}

// fail notes that a file could not be written.
func (f *Folder) fail(name string, err error) {
	if f.err == nil {
		f.err = reason(err)
	}
	f.lost = append(f.lost, name)
}

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
		return fmt.Errorf("write report %q: %s: %w", f.path, f.lost[0], f.err)
	}
	return fmt.Errorf("write report %q: %s and %s: %w", f.path, f.lost[0], text.Count(len(f.lost)-1, "further file"),
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
