// Package maps holds the memory mappings of a process.
//
// [Parse] reads the format of /proc/PID/maps from a reader; [Table] finds a mapping
// by address. It opens no file and knows nothing of ELF.
//
// Source: proc_pid_maps(5), linux/fs/proc/task_mmu.c.
package maps

import (
	"sort"
	"strings"

	"github.com/fpstack/fpstack/mem"
)

// Perm is the set of rights of a mapping.
type Perm uint8

// The rights of a mapping; Shared is the s of "rw-s".
const (
	Read Perm = 1 << iota
	Write
	Exec
	Shared
)

// String gives the form of /proc/PID/maps, as "r-xp".
func (p Perm) String() string {
	b := []byte("---p")
	for i, f := range []struct {
		bit Perm
		c   byte
	}{{Read, 'r'}, {Write, 'w'}, {Exec, 'x'}, {Shared, 's'}} {
		if p&f.bit != 0 {
			b[i] = f.c
		}
	}
	return string(b)
}

// Mapping is one line of /proc/PID/maps: the addresses [Start, End).
type Mapping struct {
	Start, End mem.Addr
	Perm       Perm
	Offset     int64  // file offset of Start, bytes
	Dev        uint64 // major<<32 | minor, 0 for anonymous memory
	Inode      uint64 // 0 for anonymous memory
	Path       string // unescaped, without the " (deleted)" mark; "[stack]", "[vdso]", "" for anonymous
	Deleted    bool   // the kernel said " (deleted)"
}

// Contains reports whether addr lies in the mapping.
func (m *Mapping) Contains(addr mem.Addr) bool { return m.Start <= addr && addr < m.End }

// OfSystem reports whether a file lies where distributions put their libraries.
func OfSystem(file string) bool {
	for _, dir := range []string{"/lib/", "/lib32/", "/lib64/", "/libx32/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/",
		"/usr/libx32/"} {
		if strings.HasPrefix(file, dir) {
			return true
		}
	}
	return false
}

// IsFile reports whether a file is behind the mapping.
func (m *Mapping) IsFile() bool { return m.Inode != 0 }

// MayBeMade reports whether m may hold code that the process made: it is executable, and no file is behind it that has
// a name.
func (m *Mapping) MayBeMade() bool {
	if m.Perm&Exec == 0 || m.IsFile() && !m.Deleted {
		return false
	}
	return m.Path != "[vdso]" && m.Path != "[vsyscall]" && m.Path != "[uprobes]"
}

// Table is the list of mappings of one process, ascending, not overlapping.
// It is not changed after it was made, so goroutines may share it.
type Table struct {
	mappings []Mapping
}

// NewTable returns a Table of the given mappings, sorted. A mapping that is empty, or that
// overlaps one before it, is left out. It keeps the slice.
func NewTable(ms []Mapping) *Table {
	byStart := func(i, j int) bool { return ms[i].Start < ms[j].Start }
	if !sort.SliceIsSorted(ms, byStart) { // the kernel's are
		sort.SliceStable(ms, byStart)
	}
	out := ms[:0]
	var end mem.Addr
	for _, m := range ms {
		if m.End <= m.Start || (len(out) > 0 && m.Start < end) {
			continue
		}
		out = append(out, m)
		end = m.End
	}
	if len(out) == 0 {
		out = nil // equal to a Table that was made of nothing
	}
	return &Table{mappings: out}
}

// Find returns the mapping that holds addr, or nil. The Table owns it.
func (t *Table) Find(addr mem.Addr) *Mapping {
	if t == nil {
		return nil
	}
	if m := t.FindFrom(addr); m != nil && m.Contains(addr) {
		return m
	}
	return nil
}

// FindFrom returns the first mapping that ends behind addr: the one that holds it, or the next
// above it, or nil. The Table owns it.
func (t *Table) FindFrom(addr mem.Addr) *Mapping {
	if t == nil {
		return nil
	}
	i := sort.Search(len(t.mappings), func(i int) bool { return t.mappings[i].End > addr })
	if i == len(t.mappings) {
		return nil
	}
	return &t.mappings[i]
}

// All returns all mappings, ascending. The Table owns them.
func (t *Table) All() []Mapping {
	if t == nil {
		return nil
	}
	return t.mappings
}
