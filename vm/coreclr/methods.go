package coreclr

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf16"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
)

const (
	methodTokens = 0x06000000 // table MethodDef, ECMA-335 II.22
	typeTokens   = 0x02000000 // TypeDef
	// maxDynamicName bounds the name of a dynamic method, bytes.
	maxDynamicName = 256
)

// methodOf finds out what c is, by v.
func (r *Runtime) methodOf(c *code, v mem.Reader) (*Method, error) {
	out := &Method{Desc: c.desc, Class: c.class, Code: c.kind, Start: c.start}
	if c.kind == StubCode {
		out.Name = stubName(c.stub)
		return out, nil
	}
	if c.desc == 0 {
		return out, nil
	}
	l, f := r.layout, fields{m: v, at: c.desc}
	index, remainder := f.uint(l.methodIndex, 1), f.uint(l.methodToken, 2)
	chunk := fields{m: v, at: c.desc - mem.Addr(index)*mem.Addr(l.methodAlignment) - mem.Addr(l.chunkSize), err: f.err}
	tokens, table := chunk.uint(l.chunkToken, 2), mem.Addr(chunk.word(l.chunkTable))
	if chunk.err != nil {
		return nil, fmt.Errorf("read its method: %w", chunk.err)
	}
	if c.class == DynamicMethod {
		name := mem.Addr(fields{m: v, at: c.desc}.pointer(l.dynamicName))
		out.Name = cString(v, name, maxDynamicName)
		return out, nil
	}
	bits := uint(l.tokenBits)
	if rid := tokens&(1<<(24-bits)-1)<<bits | remainder&(1<<bits-1); rid != 0 {
		out.Token = methodTokens | uint32(rid)
	}
	r.types = 0
	out.Type = r.typeOf(v, table, maxTypeDepth)
	out.Module = r.moduleOfTable(v, table)
	if c.class == InstantiatedMethod {
		out.Args, out.ArgsErr = r.methodArgs(v, c.desc)
	}
	return out, nil
}

// pointer reads one word, 0 if it cannot be read.
func (f fields) pointer(offset int64) uint64 { return f.word(offset) }

// cString reads the string at a, "" if it cannot be read.
func cString(m mem.Reader, a mem.Addr, most int) string {
	b := make([]byte, 0, most)
	const piece = 32
	for a != 0 && len(b) < most {
		at := len(b)
		b = b[:at+piece]
		n, err := m.ReadMem(b[at:], a+mem.Addr(at))
		b = b[:at+n]
		if i := bytes.IndexByte(b[at:], 0); i >= 0 {
			return string(b[:at+i])
		}
		if err != nil {
			break
		}
	}
	return string(b)
}

// stubNames are kinds of stubs that lie between methods.
// Source: enum StubCodeBlockKind in src/coreclr/vm/codeman.h.
var stubNames = map[uint64]string{6: "virtual dispatch", 7: "virtual resolve", 8: "virtual look-up",
	9: "virtual call through a table"}

func stubName(kind uint64) string {
	if name, ok := stubNames[kind]; ok {
		return name
	}
	return "stub"
}

// moduleOfTable is the module that defines the type of a MethodTable.
func (r *Runtime) moduleOfTable(v mem.Reader, table mem.Addr) Module {
	f := fields{m: v, at: table}
	at := mem.Addr(f.word(r.layout.tableModule))
	if f.err != nil {
		return Module{Err: fmt.Errorf("read the module of type %#x: %w", uint64(table), f.err)}
	}
	return *r.moduleAt(at)
}

// moduleAt is the module at a. What is known of one stays: modules that are unloaded make room seldom, and what is read
// of their metadata is checked by its form.
func (r *Runtime) moduleAt(a mem.Addr) *Module {
	if m := r.modules[a]; m != nil {
		return m
	}
	if len(r.modules) >= maxModules {
		clear(r.modules)
	}
	m := r.readModule(a)
	r.modules[a] = m
	return m
}

const maxModules = 1 << 14

// readModule finds image and metadata of a module.
func (r *Runtime) readModule(a mem.Addr) *Module {
	l, m := r.layout, &Module{Addr: a}
	if l.modulePath != unknown {
		m.Path = utf16At(r.memory, mem.Addr(fields{m: r.memory, at: a}.pointer(l.modulePath)))
	}
	for _, base := range r.imageBases(a) {
		im, err := metadata.OpenImage(r.memory, base, r.budget)
		if err == nil {
			m.Image, m.Flat, m.Metadata = base, im.Flat, im.Metadata()
			return m
		}
		m.Err = err
	}
	if l.moduleName != unknown {
		m.Err = r.metadataByName(m, l.moduleName)
	}
	return m
}

// imageBases are where the image of the module at a may begin: as the module says, and as its precompiled code does.
func (r *Runtime) imageBases(a mem.Addr) (bases []mem.Addr) {
	if r.layout.moduleBase != unknown {
		f := fields{m: r.memory, at: a}
		if base := mem.Addr(f.word(r.layout.moduleBase)); f.err == nil {
			bases = append(bases, base)
		}
	}
	for i := range r.sections.Load().list {
		if s := &r.sections.Load().list[i]; s.module == a {
			bases = append(bases, s.start)
		}
	}
	return bases
}

// utf16At reads a path, as the runtime keeps it in UTF-16; "" if there is none.
func utf16At(m mem.Reader, a mem.Addr) string {
	const most = 1024
	var units []uint16
	for i := mem.Addr(0); a != 0 && i < most; i++ {
		v, err := mem.Uint(m, a+2*i, 2, order)
		if err != nil || v == 0 {
			break
		}
		units = append(units, uint16(v))
	}
	return string(utf16.Decode(units))
}

// metadataByName finds the metadata of m by the name of its assembly, to which the word at offset of the module leads:
// that lies in the metadata's heap of strings, and the root is at the next "BSJB" before it whose heap holds it.
func (r *Runtime) metadataByName(m *Module, offset int64) error {
	const most, piece = 64 << 20, 64 << 10
	f := fields{m: r.memory, at: m.Addr}
	name := mem.Addr(f.word(offset))
	if f.err != nil || name == 0 || r.table == nil {
		return errNoMetadata
	}
	x := r.table.Find(name)
	if x == nil {
		return errNoMetadata
	}
	buf := make([]byte, piece+4)
	for end := name; end > x.Start && name-end < most; {
		start := max(x.Start, end-min(end, piece))
		if !r.budget.Spend(int64(end - start)) {
			return r.budget.Refusal()
		}
		b := buf[:min(int(end-start)+4, int(x.End-start))]
		n, _ := r.memory.ReadMem(b, start)
		for b = b[:n]; ; {
			i := bytes.LastIndex(b, []byte("BSJB"))
			if i < 0 {
				break
			}
			root := start + mem.Addr(i)
			if root%4 == 0 {
				if t, err := metadata.Open(r.memory, root, r.budget); err == nil && t.HasName(name) {
					m.Metadata = root
					return nil
				}
			}
			b = b[:i]
		}
		end = start
	}
	return errNoMetadata
}

var errNoMetadata = errors.New("its metadata was not found")
