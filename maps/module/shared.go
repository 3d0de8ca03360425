package module

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"sync/atomic"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/work"
)

// maxShared bounds how many files are known for all processes; the kernel allows a process
// some 65,000 mappings.
const maxShared = 16 << 10

// Shared keeps opened objects for several processes: a file that many of them map is held
// and parsed once, short processes cost little, and names can be had when a process has
// ended. What is known of a [Module.Object] serves the modules of all of them.
//
// Files are the same if device, inode and path are, and size, first and last page besides: a
// snapshot of a file system gives the same numbers to other files, and a file may be written over
// in place. A file that cannot be opened because its process has ended is taken for the known one.
//
// It belongs to one goroutine; the bytes of its files may be read by any.
type Shared struct {
	known map[fileID]*sharedFile
	all   []*sharedFile // what is open: of those that were written over too
}

// sharedFile is one file of a Shared.
type sharedFile struct {
	file   *File
	close  func() error // nil: nothing is to be released
	print  []byte       // what the file held when it was opened, see fingerprint
	elf    *image       // nil until it is parsed
	err    error
	beside atomic.Pointer[func(path string) (*File, error)] // of the process that mapped it last
}

// NewShared returns a Shared without files. Close releases all that come.
func NewShared() *Shared { return &Shared{known: map[fileID]*sharedFile{}} }

// Opener returns an Opener that gives the known file where open opens the same one again. Its
// files need no Close: they are open until that of s.
func (s *Shared) Opener(open Opener) Opener {
	return func(m *maps.Mapping) (*File, error) {
		id := fileID{dev: m.Dev, inode: m.Inode, path: m.Path}
		known := s.known[id]
		got, err := open(m)
		switch {
		case err != nil && known != nil:
			return known.file, nil
		case err != nil:
			return nil, err // perhaps of this process alone: the next may ask again
		}
		print := fingerprint(got)
		if known != nil && print != nil && len(known.file.Data) == len(got.Data) && bytes.Equal(known.print, print) {
			known.beside.Store(&got.Beside)
			if got.Close != nil {
				got.Close() // the known one serves
			}
			return known.file, nil
		}
		return s.keep(id, got, print), nil
	}
}

// keep holds a file until Close.
func (s *Shared) keep(id fileID, got *File, print []byte) *File {
	k := &sharedFile{print: print, close: got.Close}
	s.all = append(s.all, k)
	k.beside.Store(&got.Beside)
	// A set that closes must leave the file to the others.
	k.file = &File{Data: got.Data, Path: got.Path, Forget: got.Forget, Beside: k.openBeside, shared: k}
	if _, there := s.known[id]; there || len(s.known) < maxShared {
		s.known[id] = k
	}
	return k.file
}

// openBeside opens a file in the view of the process that mapped this one last: others may
// have ended.
func (k *sharedFile) openBeside(path string) (*File, error) {
	if open := *k.beside.Load(); open != nil {
		return open(path)
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

// fingerprint copies the first and the last page of a file; nil if they cannot be read.
func fingerprint(f *File) []byte {
	const page = 4 << 10
	var b []byte
	err := Guard(f.Path, func() error {
		b = append(b, f.Data[:min(page, len(f.Data))]...)
		b = append(b, f.Data[max(0, len(f.Data)-page):]...)
		return nil
	})
	if err != nil {
		return nil
	}
	return b
}

// parse reads the headers of f, once for all that share it, within b.
func (f *File) parse(b *work.Budget) (*image, error) {
	if f.shared == nil {
		return parseFile(f, b)
	}
	k := f.shared
	if k.elf == nil && k.err == nil {
		k.elf, k.err = parseFile(f, b)
	}
	return k.elf, k.err
}

// Release releases the files of objects that are no longer live, and those that are none.
//
// Precondition: no module that was made of one is used afterwards, by a set, for names or for anything else.
func (s *Shared) Release(live func(Object) bool) error {
	var errs []error
	released := map[*sharedFile]bool{}
	s.all = slices.DeleteFunc(s.all, func(k *sharedFile) bool {
		if k.elf != nil && live(Object{k.elf}) {
			return false
		}
		released[k] = true
		if k.close != nil {
			errs = append(errs, k.close())
		}
		return true
	})
	for id, k := range s.known {
		if released[k] {
			delete(s.known, id)
		}
	}
	return errors.Join(errs...)
}

// Close releases every file. Modules made of them must not be used afterwards.
func (s *Shared) Close() error { return s.Release(func(Object) bool { return false }) }

// Object is the contents of a module without its place. It can be compared: modules with the same
// Object hold the same bytes at the same link addresses, so that what was found by Vaddr in one
// holds in the other. Only modules of sets with a common [Shared], or of one set, have the same.
type Object struct{ elf *image }

// Object returns the contents of m.
func (m *Module) Object() Object { return Object{m.elf} }
