package core

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// Files says where the files are that a process had mapped when its core was written. A field may be nil.
type Files struct {
	// Exe is the program itself, wherever it lies.
	Exe *module.File
	// Path opens a file by the absolute path that it had on the machine of the core.
	Path func(path string) (*module.File, error)
	// ByID opens an object with that build id, wherever it lies. It fails with fs.ErrNotExist if there is none.
	ByID func(id string) (*module.File, error)
	// Unproved takes a file by its path although nothing in the core tells it from another of that path.
	Unproved bool
}

var errUnproved = errors.New("whether it is the file that was mapped cannot be told: the core has neither its build " +
	"id nor its first page")

// fileEntry is one entry of NT_FILE.
type fileEntry struct {
	start, end mem.Addr
	off        int64
	path       string // with the kernel's mark " (deleted)"
}

const (
	maxFileNote = 32 << 20 // bytes; the kernel's own bound is 4 MiB by default
	deletedMark = " (deleted)"
)

// decodeFiles reads a NT_FILE note, as far as it is there.
// Source: fill_files_note in linux/fs/binfmt_elf.c: count, page size, count times start, end and offset in pages, and
// count paths.
func decodeFiles(order binary.ByteOrder, wordSize int, b []byte) []fileEntry {
	at := func(i int) uint64 {
		if wordSize == 4 {
			return uint64(order.Uint32(b[4*i:]))
		}
		return order.Uint64(b[8*i:])
	}
	words := len(b) / wordSize
	if words < 2 {
		return nil
	}
	count, page := at(0), at(1)
	if count > uint64(words-2)/3 {
		return nil // without their paths the entries say nothing
	}
	paths := b[(2+3*int(count))*wordSize:]
	out := make([]fileEntry, 0, count)
	for i := range int(count) {
		end := bytes.IndexByte(paths, 0)
		if end < 0 {
			break
		}
		e := fileEntry{start: mem.Addr(at(2 + 3*i)), end: mem.Addr(at(3 + 3*i)), path: string(paths[:end])}
		paths = paths[end+1:]
		off := at(4+3*i) * page
		if e.end <= e.start || off > 1<<62 || page != 0 && off/page != at(4+3*i) {
			continue
		}
		e.off = int64(off)
		out = append(out, e)
	}
	return out
}

// mapped is one file that the process had mapped.
type mapped struct {
	path    string // without the mark
	deleted bool
	inode   uint64         // a number of ours: the core has none
	head    []byte         // what the core has of the file from its first byte on, at most headSize
	start   mem.Addr       // where that is mapped
	object  *module.Module // what head says; nil if that is no ELF object

	found  *module.File
	err    error
	looked bool
	notes  []string // what a person should know of found, and of others that were refused
}

// headSize bounds what is read of the begin of a mapped file: its headers and its build id.
const headSize = 8 << 10

// id is the build id that the core proves, "" for none.
func (f *mapped) id() string {
	if f.object == nil {
		return ""
	}
	return f.object.BuildID()
}

// file finds the file of f, once.
func (c *Core) file(f *mapped) (*module.File, error) {
	if f.looked {
		return f.found, f.err
	}
	f.looked = true
	var refused []error
	try := func(got *module.File, err error) bool {
		if err == nil {
			var note string
			if note, err = c.proves(f, got); err == nil {
				if f.found = got; note != "" {
					f.notes = append(f.notes, note)
				}
				return true
			}
			if got != c.files.Exe && got.Close != nil {
				got.Close()
			}
		}
		if !errors.Is(err, fs.ErrNotExist) {
			refused = append(refused, err)
		}
		return false
	}
	found := f == c.exe && c.files.Exe != nil && try(c.files.Exe, nil) ||
		c.files.Path != nil && try(c.files.Path(f.path)) ||
		c.files.ByID != nil && f.id() != "" && try(c.files.ByID(f.id()))
	if found {
		for _, err := range refused {
			f.notes = append(f.notes, err.Error())
		}
		return f.found, nil
	}
	what := fmt.Sprintf("%q", f.path)
	if id := f.id(); id != "" {
		what += " (build id " + id + ")"
	}
	if f.err = fmt.Errorf("find %s: %w", what, fs.ErrNotExist); len(refused) > 0 {
		f.err = fmt.Errorf("find %s: %w", what, errors.Join(refused...))
	}
	return nil, f.err
}

// proves checks that got is what was mapped. The note says what was not proved.
func (c *Core) proves(f *mapped, got *module.File) (note string, err error) {
	err = module.Guard(got.Path, func() error {
		id := ""
		if m, err := module.NewFile(got); err == nil {
			id = m.BuildID()
		}
		switch want := f.id(); {
		case want != "" && id != want:
			return fmt.Errorf("refuse %q: its build id is %q, want %q", got.Path, id, want)
		case want != "":
			return nil
		}
		page := f.head[:min(len(f.head), 4096)]
		switch {
		case len(page) > 0 && !samePage(page, got.Data):
			return fmt.Errorf("refuse %q: it begins with other bytes than the file that was mapped", got.Path)
		case len(page) > 0:
			note = fmt.Sprintf("%q has no build id in the core: it is believed for its first page", f.path)
		case got == c.files.Exe || c.files.Unproved:
			note = fmt.Sprintf("%q: %v", f.path, errUnproved)
		default:
			return fmt.Errorf("refuse %q: %w; --sysroot / takes it", got.Path, errUnproved)
		}
		return nil
	})
	return note, err
}

// samePage compares a page of memory with the begin of a file; behind the end of the file memory is zero.
func samePage(page, data []byte) bool {
	n := min(len(page), len(data))
	if string(page[:n]) != string(data[:n]) {
		return false
	}
	for _, b := range page[n:] {
		if b != 0 {
			return false
		}
	}
	return true
}

// open is the [module.Opener] of the core.
func (c *Core) open(m *maps.Mapping) (*module.File, error) {
	f := c.mapped[m.Inode]
	if f == nil {
		return nil, fmt.Errorf("open %q: %w", m.Path, ErrNotInCore)
	}
	got, err := c.file(f)
	if err != nil {
		return nil, err
	}
	return &module.File{Data: got.Data, Path: f.path, Beside: got.Beside}, nil // closed with the core
}
