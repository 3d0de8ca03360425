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
	"id nor its first page, nor enough others of it")

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
	tries   int            // mappings where it was looked for
	object  *module.Module // what head says; nil if that is no ELF object
	layout  *module.Module // of the file that was found; nil if that is no ELF object

	found  *module.File
	err    error
	looked bool
	beyond bool     // bytes behind the ELF object were read, and notes say so
	notes  []string // what a person should know of found, and of others that were refused
}

const (
	// headSize bounds what is read of the begin of a mapped file: its headers and its build id.
	headSize = 8 << 10
	// maxTries bounds the mappings of one file where its begin is looked for.
	maxTries = 4
	pageSize = 4 << 10
	// maxPages bounds the pages of a file that are compared.
	maxPages = 4 << 10
)

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
		m, err := module.NewFile(got)
		if err == nil {
			id, f.layout = m.BuildID(), m
		}
		switch want := f.id(); {
		case want != "" && id != want:
			return fmt.Errorf("refuse %q: its build id is %q, want %q", got.Path, id, want)
		case want != "":
			return nil
		}
		page := f.head[:min(len(f.head), pageSize)]
		same, all := 0, 0
		if len(page) == 0 && f.layout == nil {
			same, all = c.samePages(f, got.Data)
		}
		switch {
		case len(page) > 0 && !samePage(page, got.Data):
			return fmt.Errorf("refuse %q: it begins with other bytes than the file that was mapped", got.Path)
		case len(page) > 0:
			note = fmt.Sprintf("%q has no build id in the core: it is believed for its first page", f.path)
		case same > 0 && 2*same >= all:
			note = fmt.Sprintf("%q has no build id in the core: it is believed for %d of %d pages that are there",
				f.path, same, all)
		case got == c.files.Exe || c.files.Unproved:
			note = fmt.Sprintf("%q: %v", f.path, errUnproved)
		default:
			return fmt.Errorf("refuse %q: %w; --sysroot / takes it", got.Path, errUnproved)
		}
		return nil
	})
	return note, err
}

// remarkAppended notes that what was read of f at off lies behind its ELF object, of which alone a build id speaks: a
// program that is one file has what was packed into it there. data is the file.
// Source: Elf64_Ehdr; the section headers are the last part of an object as linkers write it.
func (f *mapped) remarkAppended(order binary.ByteOrder, off uint64, data []byte) {
	const shoff, shentsize, shnum, size = 40, 58, 60, 64
	if f.beyond || f.id() == "" || len(data) < size || data[4] != 2 {
		return
	}
	end := order.Uint64(data[shoff:]) + uint64(order.Uint16(data[shentsize:]))*uint64(order.Uint16(data[shnum:]))
	if end > size && off >= end {
		f.beyond = true
		f.notes = append(f.notes, fmt.Sprintf("%q has the right build id, which says nothing of what was appended to "+
			"the program: that is believed", f.path))
	}
}

// samePages counts the pages that the core has of f, in mappings that the process wrote to, and those of them that data
// has too. It is asked of files that are no ELF objects, as are assemblies of .NET: most of what such a mapping of
// precompiled code has are tables of all the rest, which nobody writes to. Empty pages do not count.
func (c *Core) samePages(f *mapped, data []byte) (same, all int) {
	var b [pageSize]byte
	list := c.Maps.All()
	for i := range list {
		m := &list[i]
		if m.Inode != f.inode || m.Perm&maps.Write == 0 || uint64(m.Offset) >= uint64(len(data)) {
			continue
		}
		data := data[m.Offset:min(uint64(len(data)), uint64(m.Offset)+uint64(m.End-m.Start))]
		for off := 0; off+pageSize <= len(data) && all < maxPages && c.budget.Spend(pageSize); off += pageSize {
			page := data[off : off+pageSize]
			if bytes.Count(page, []byte{0}) == pageSize {
				continue
			}
			if n, _ := c.dumped(b[:], m.Start+mem.Addr(off)); n == pageSize {
				if all++; string(b[:]) == string(page) {
					same++
				}
			}
		}
	}
	return same, all
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
