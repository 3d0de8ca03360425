// Package corefile writes ELF core files of Linux, as the kernel does when a process dies and gcore of one that lives.
//
// The caller provides a stopped process: its threads with their raw register sets, its mappings as smaps shows them,
// and its memory. [Filter] says by the kernel's rule which memory belongs into a core. [Write] writes it to a file,
// with holes for what is zero.
//
// It guarantees that a core is whole as far as its headers say, whatever ended the copying: the headers come last, and
// say how much of each mapping is there. What an unwinder needs (stacks, headers of the mapped files) is copied first,
// then small mappings before large ones. What could not be read is a hole, and counted.
//
// It opens nothing, stops nothing and knows no process. Package core is its other half.
//
// Sources: core(5), elf(5), linux/fs/binfmt_elf.c, linux/include/linux/elfcore.h.
package corefile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
)

// Process is what a core says of a process. All its threads are stopped while it is written.
type Process struct {
	Arch     *regs.Arch
	PageSize uint64
	// What notes say of it; a field that is not known is zero.
	PID, Parent, Group, Session int
	UID, GID                    uint32
	State                       byte // one letter, as in /proc/PID/stat
	Flags                       uint64
	Comm, Args                  string // the arguments with blanks between
	Auxv                        []byte // as /proc/PID/auxv has it
	// Threads are those that stopped: a debugger takes the first for the one to show.
	Threads  []Thread
	Mappings []maps.Usage // ascending
	Filter   Filter
}

// Thread is one thread with its registers.
type Thread struct {
	TID              int
	Pending, Blocked uint64 // signals, bit n-1 for signal n
	SP               mem.Addr
	General          []byte // as PTRACE_GETREGSET gave them for NT_PRSTATUS
	Sets             []Set  // those of [Sets] that there are
}

// Set is one further register set, as PTRACE_GETREGSET gave it.
type Set struct {
	SetType
	Data []byte
}

// Memory is that of the process.
type Memory interface {
	mem.Reader
	// Held returns the first pages in [from, end) of private memory without a file that may hold something else than
	// zeros; none are left if both are end. Reading others would make the kernel provide them.
	Held(from, end mem.Addr) (start, stop mem.Addr)
}

// File is what a core is written to: an empty file.
type File interface {
	io.WriterAt
	Truncate(size int64) error
}

// Options bound the work.
type Options struct {
	Limit int64 // bytes of memory that are written at most
	// Room says how many bytes more may be written to the disk, and is asked again when those are used up; nil: any.
	Room func() int64
	// Ended is not nil when the copying is to end, with the reason. It is asked before each step of a megabyte.
	Ended func() error
}

// Result is what became of it.
type Result struct {
	Size    int64 // of the file, holes included
	Written int64 // bytes of memory in it
	Unread  int64 // bytes that could not be read: holes, which look like zeros
	Left    int64 // bytes that belong into the core and are not there, zeros too
	Cut     error // why: ErrLimit, ErrRoom, what Ended gave; nil if nothing is left out
	Threads int
}

// Reasons why a core is cut.
var (
	ErrLimit = errors.New("the limit is reached")
	ErrRoom  = errors.New("the disk is nearly full")
	ErrClass = errors.New("a core of a 32-bit program has at most 4 GiB")
)

// MaxMappings bounds the mappings of a core, which are held in memory with their headers.
const MaxMappings = 1 << 20

// Write writes the core of p to f. It fails if f cannot be written, and then what f holds is of no use; whatever else
// goes wrong is in the Result.
func Write(f File, p *Process, m Memory, o Options) (Result, error) {
	if len(p.Mappings) > MaxMappings {
		return Result{}, fmt.Errorf("write core: %d mappings, at most %d are supported", len(p.Mappings), MaxMappings)
	}
	w := &writer{p: p, f: f, m: m, o: o, notes: p.notes(), buf: make([]byte, step)}
	w.layOut()
	for _, i := range w.order() {
		if err := w.copySegment(&w.segments[i]); err != nil {
			return w.result, fmt.Errorf("write core: %w", err)
		}
	}
	w.result.Threads = len(p.Threads)
	if err := w.finish(); err != nil {
		return w.result, fmt.Errorf("write core: %w", err)
	}
	return w.result, nil
}

// step is how much is read at once, bytes: a multiple of every page size.
const step = 1 << 20

// segment is a mapping in the core.
type segment struct {
	*maps.Usage
	want   uint64 // bytes of it that belong into the core
	held   uint64 // that are there
	off    uint64 // in the file
	header bool   // only the headers of an ELF file are wanted
}

// writer writes one core.
type writer struct {
	p        *Process
	f        File
	m        Memory
	o        Options
	notes    []byte
	segments []segment
	notesAt  uint64
	end      uint64 // of the file
	room     int64  // what is left of the last Room
	buf      []byte
	result   Result
}

// layOut gives every mapping its place in the file, ascending.
func (w *writer) layOut() {
	page := w.p.PageSize
	for i := range w.p.Mappings {
		u := &w.p.Mappings[i]
		s := segment{Usage: u}
		s.want, s.header = w.p.Filter.Size(u, page)
		w.segments = append(w.segments, s)
	}
	w.notesAt = w.headerSize()
	at := alignUp(w.notesAt+uint64(len(w.notes)), page)
	for i := range w.segments {
		s := &w.segments[i]
		if s.off = at; w.p.Arch.WordSize == 4 && at+s.want > 1<<32-1 {
			w.cut(ErrClass, s.want)
			s.want, s.off = 0, 0
		}
		at += s.want
	}
	w.end = at
}

func alignUp(n, page uint64) uint64 { return (n + page - 1) &^ (page - 1) }

// cut notes that n bytes are left out, and why.
func (w *writer) cut(why error, n uint64) {
	w.result.Left += int64(n)
	if w.result.Cut == nil {
		w.result.Cut = why
	}
}

// order is that of copying: what holds stacks and headers first, then what has least in memory.
func (w *writer) order() []int {
	stacks := map[*maps.Usage]bool{}
	for i := range w.p.Threads {
		if u := w.find(w.p.Threads[i].SP); u != nil {
			stacks[u] = true
		}
	}
	order := make([]int, len(w.segments))
	for i := range order {
		order[i] = i
	}
	key := func(i int) uint64 {
		s := &w.segments[i]
		if s.header || s.Path == "[vdso]" || stacks[s.Usage] {
			return 0
		}
		return 1 + s.Resident + s.Swapped
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(key(a), key(b)) })
	return order
}

// find is the mapping that holds addr, nil if none does.
func (w *writer) find(addr mem.Addr) *maps.Usage {
	all := w.p.Mappings
	i, _ := slices.BinarySearchFunc(all, addr, func(u maps.Usage, a mem.Addr) int {
		if u.End <= a {
			return -1
		}
		return 1
	})
	if i < len(all) && all[i].Contains(addr) {
		return &all[i]
	}
	return nil
}

// copySegment copies what is wanted of s.
func (w *writer) copySegment(s *segment) error {
	at, end := s.Start, s.Start+mem.Addr(s.want)
	for at < end { // ends: each round goes on by a page at least
		from, to := at, end
		if s.sparse() {
			if from, to = w.m.Held(at, end); from >= end {
				at = end
				break
			}
			from, to = max(from, at), min(to, end)
		}
		to = min(to, from+step)
		allowed, why := w.allowance(int64(to - from))
		if allowed == 0 {
			at = from
			w.cut(why, uint64(end-from))
			break
		}
		to = from + mem.Addr(allowed)
		if err := w.copyPages(s, from, to); err != nil || s.want == 0 {
			return err
		}
		at = to
	}
	s.held = uint64(at - s.Start)
	return nil
}

// sparse reports whether pages that are not there are zeros: those of a file come from that.
func (s *segment) sparse() bool { return !s.IsFile() && s.Perm&maps.Shared == 0 && s.Path != "[vdso]" }

// allowance is how many of n bytes may be written now, in whole pages, and why none.
func (w *writer) allowance(n int64) (int64, error) {
	if w.o.Ended != nil {
		if err := w.o.Ended(); err != nil {
			return 0, err
		}
	}
	left := w.o.Limit - w.result.Written
	if w.o.Room != nil {
		if w.room < n {
			w.room = w.o.Room()
		}
		if w.room < n && w.room < left {
			return max(w.room, 0) / int64(w.p.PageSize) * int64(w.p.PageSize), ErrRoom
		}
	}
	return max(min(n, left), 0) / int64(w.p.PageSize) * int64(w.p.PageSize), ErrLimit
}

// copyPages copies the pages of [from, to), at most a step. Those that are zero are left out.
func (w *writer) copyPages(s *segment, from, to mem.Addr) error {
	b := w.buf[:to-from]
	w.read(b, from)
	if s.header && string(b[:min(4, len(b))]) != "\x7fELF" {
		s.want = 0
		return nil
	}
	page, off := int(w.p.PageSize), s.off+uint64(from-s.Start)
	for at := 0; at < len(b); {
		if zero(b[at : at+page]) {
			at += page
			continue
		}
		next := at + page
		for next < len(b) && !zero(b[next:next+page]) {
			next += page
		}
		if _, err := w.f.WriteAt(b[at:next], int64(off)+int64(at)); err != nil {
			return err
		}
		w.result.Written += int64(next - at)
		w.room -= int64(next - at)
		at = next
	}
	return nil
}

// read fills b, with zeros where memory cannot be read.
func (w *writer) read(b []byte, from mem.Addr) {
	page := int(w.p.PageSize)
	for at := 0; at < len(b); { // ends: each round goes on by a page at least
		n, _ := w.m.ReadMem(b[at:], from+mem.Addr(at))
		if at += n; at < len(b) {
			next := min((at/page+1)*page, len(b))
			clear(b[at:next])
			w.result.Unread += int64(next - at)
			at = next
		}
	}
}

var zeros [64 << 10]byte // the largest page

func zero(b []byte) bool { return string(b) == string(zeros[:len(b)]) }
