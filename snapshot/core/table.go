package core

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// vsyscall is where x86-64 has the page of that name. Source: linux/arch/x86/include/uapi/asm/vsyscall.h.
const vsyscall = 0xffffffffff600000

// setFiles makes the mappings out of the segments and what NT_FILE says of them. A mapping of a file that has no
// segment is one that gdb left out, as it is unchanged.
func (c *Core) setFiles(entries []fileEntry) {
	slices.SortStableFunc(entries, func(a, b fileEntry) int { return cmp.Compare(a.start, b.start) })
	end := mem.Addr(0)
	entries = slices.DeleteFunc(entries, func(e fileEntry) bool { // of those that overlap the first counts
		overlaps := e.start < end
		if !overlaps {
			end = e.end
		}
		return overlaps
	})
	c.mapped = map[uint64]*mapped{}
	byPath := map[string]*mapped{}
	for i := range entries {
		e := &entries[i]
		f := byPath[e.path]
		if f == nil {
			path, deleted := strings.CutSuffix(e.path, deletedMark)
			f = &mapped{path: path, deleted: deleted, inode: uint64(len(byPath)) + 1}
			byPath[e.path], c.mapped[f.inode] = f, f
		}
		if e.off == 0 && f.head == nil {
			c.readHead(f, e)
		}
	}
	c.Maps = maps.NewTable(c.pieces(entries, byPath))
	c.exe = c.programFile()
}

// readHead reads what the core has of the begin of a file.
func (c *Core) readHead(f *mapped, e *fileEntry) {
	if !c.budget.Spend(headSize) {
		return
	}
	b := make([]byte, min(uint64(e.end-e.start), headSize))
	n, _ := c.dumped(b, e.start)
	if n == 0 || !c.budget.Hold(int64(n)) {
		return
	}
	f.start = e.start
	f.head = slices.Clone(b[:n])
	if m, err := module.NewFile(&module.File{Data: f.head, Path: f.path, Budget: c.budget.Share()}); err == nil {
		f.object = m
	}
}

// pieces lists the mappings: what segments and entries cover, cut where one of them begins or ends.
func (c *Core) pieces(entries []fileEntry, byPath map[string]*mapped) []maps.Mapping {
	var out []maps.Mapping
	segments := slices.Clone(c.segments)
	for len(segments)+len(entries) > 0 {
		switch {
		case len(entries) == 0 || len(segments) > 0 && segments[0].start < entries[0].start:
			s := segments[0]
			end := s.end
			if len(entries) > 0 {
				end = min(end, entries[0].start)
			}
			out = append(out, c.anonymous(s.start, end, s.perm))
			segments = behind(segments, end)
		default:
			e := entries[0]
			f, end, perm := byPath[e.path], e.end, maps.Perm(0)
			if len(segments) > 0 && segments[0].start < end {
				if s := &segments[0]; s.start > e.start { // that part has none
					end, perm = s.start, c.perm(f, e.start)
				} else {
					end, perm = min(end, s.end), s.perm
				}
			} else {
				perm = c.perm(f, e.start)
			}
			out = append(out, maps.Mapping{Start: e.start, End: end, Perm: perm, Offset: e.off, Dev: 1, Inode: f.inode,
				Path: f.path, Deleted: f.deleted})
			segments = behind(segments, end)
			if entries[0].off += int64(end - e.start); end == e.end {
				entries = entries[1:]
			} else {
				entries[0].start = end
			}
		}
	}
	return out
}

// behind drops what of the segments lies below end, in place.
func behind(list []segment, end mem.Addr) []segment {
	for len(list) > 0 && list[0].end <= end {
		list = list[1:]
	}
	if len(list) > 0 && list[0].start < end {
		list[0].start = end
	}
	return list
}

// anonymous is a mapping without a file, with the name that the kernel would show.
func (c *Core) anonymous(start, end mem.Addr, perm maps.Perm) maps.Mapping {
	m := maps.Mapping{Start: start, End: end, Perm: perm}
	switch vdso := c.auxv.value[atVDSO]; {
	case vdso != 0 && m.Contains(vdso):
		m.Path = "[vdso]"
	case m.Contains(c.auxv.value[atRandom]):
		m.Path = "[stack]"
	case start == vsyscall:
		m.Path = "[vsyscall]"
	}
	return m
}

// perm is how the loader maps what is at addr, by the program headers that the core has of the file: read and execute
// where they are not there.
func (c *Core) perm(f *mapped, addr mem.Addr) maps.Perm {
	const unknown, page = maps.Read | maps.Exec, 0xfff // the loader rounds to pages
	if f.object == nil || addr < f.start || !c.budget.Spend(int64(len(f.object.Segments()))) {
		return unknown
	}
	first := true
	var low module.Vaddr // of what lies at f.start
	for _, s := range f.object.Segments() {
		if s.Type != module.PTLoad {
			continue
		}
		if first {
			first, low = false, s.Addr&^page
		}
		v := low + module.Vaddr(addr-f.start)
		if v >= s.Addr&^page && v < (s.Addr+module.Vaddr(s.MemSz)+page)&^page {
			return permOf(s.Flags)
		}
	}
	return unknown
}

// programFile is the file that the program headers and the entry point lie in: the program itself.
func (c *Core) programFile() *mapped {
	for _, key := range []uint64{atPhdr, atEntry} {
		if m := c.Maps.Find(c.auxv.value[key]); m != nil && m.IsFile() {
			return c.mapped[m.Inode]
		}
	}
	return nil
}
