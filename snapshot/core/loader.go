package core

import (
	"path"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

const (
	ptDynamic = 2  // PT_DYNAMIC
	dtDebug   = 21 // DT_DEBUG
	// maxLibraries bounds the list of the loader, which may lead in a circle, and maxDynamic what is read of a dynamic
	// section, entries.
	maxLibraries = 1 << 12
	maxDynamic   = 1 << 10
	pageMask     = 0xfff
)

// loaderEntries finds out which file was mapped where, for a core without NT_FILE: by the entry point of the program,
// and by the list that the loader keeps for debuggers. The files are asked for their layout alone; what is read of them
// later is proved as ever.
// Source: struct r_debug and struct link_map in link.h.
func (c *Core) loaderEntries() []fileEntry {
	name, _ := c.text(c.auxv.value[atExecFn], maxArgText)
	file := c.files.Exe
	if file == nil && path.IsAbs(name) {
		file = c.plainFile(name)
	}
	if file == nil {
		return nil
	}
	if !path.IsAbs(name) {
		name = file.Path
	}
	var out []fileEntry
	m := c.layout(file)
	if m == nil {
		return nil
	}
	bias := c.auxv.value[atEntry] - mem.Addr(m.Entry())
	out = appendLayout(out, m, bias, name)
	next := c.linkMap(m, bias)
	for range maxLibraries {
		var link [4]mem.Addr // l_addr, l_name, l_ld, l_next
		if next == 0 || !c.words(link[:], next) {
			break
		}
		next = link[3]
		name, ok := c.text(link[1], maxArgText)
		if !ok || !path.IsAbs(name) {
			continue // the program itself, and the vDSO
		}
		if file := c.plainFile(name); file != nil {
			if m := c.layout(file); m != nil {
				out = appendLayout(out, m, link[0], name)
			}
		}
	}
	return out
}

// plainFile opens a file for its layout; nil if it is not there. It is closed with the core.
func (c *Core) plainFile(name string) *module.File {
	if c.files.Path == nil {
		return nil
	}
	f, err := c.files.Path(name)
	if err != nil {
		return nil
	}
	c.opened = append(c.opened, f)
	return f
}

// layout reads the headers of a file.
func (c *Core) layout(f *module.File) *module.Module {
	m, err := module.NewFile(f)
	if err != nil {
		return nil
	}
	return m
}

// appendLayout adds the segments of m as the loader maps them.
func appendLayout(out []fileEntry, m *module.Module, bias mem.Addr, name string) []fileEntry {
	for _, s := range m.Segments() {
		start := bias + mem.Addr(s.Addr)&^pageMask
		end := (bias + mem.Addr(s.Addr) + mem.Addr(len(s.Data)) + pageMask) &^ pageMask
		if s.Type == module.PTLoad && len(s.Data) > 0 && end > start {
			out = append(out, fileEntry{start: start, end: end, off: s.Offset &^ pageMask, path: name})
		}
	}
	return out
}

// linkMap is where the list of the loader begins, 0 if it is not known.
func (c *Core) linkMap(m *module.Module, bias mem.Addr) mem.Addr {
	w := mem.Addr(c.arch.WordSize)
	for _, s := range m.Segments() {
		if s.Type != ptDynamic {
			continue
		}
		for i := range min(mem.Addr(s.MemSz)/(2*w), maxDynamic) {
			var entry [2]mem.Addr
			if !c.words(entry[:], bias+mem.Addr(s.Addr)+2*w*i) {
				break
			}
			var list [1]mem.Addr
			if entry[0] == dtDebug && c.words(list[:], entry[1]+w) { // behind r_version
				return list[0]
			}
		}
	}
	return 0
}

// words reads words that follow each other.
func (c *Core) words(out []mem.Addr, at mem.Addr) bool {
	for i := range out {
		v, err := mem.Uint(c, at+mem.Addr(i*c.arch.WordSize), c.arch.WordSize, c.arch.Order)
		if err != nil {
			return false
		}
		out[i] = mem.Addr(v)
	}
	return true
}
