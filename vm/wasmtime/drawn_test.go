package wasmtime

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// drawnFunction is a function of an image that a test draws.
type drawnFunction struct {
	name string
	size uint64
}

// drawn is an image as wasmtime lays one out: header, code on a page of its own, then the other sections.
type drawn struct {
	functions []drawnFunction
	sections  map[string][]byte // besides those that functions make
	code      []byte            // at the beginning of .text
	machine   elf.Machine       // 0 for x86-64
}

const imageBase = mem.Addr(0x7f0000100000)

// textAt is where the code of a drawn image begins.
const textAt = imageBase + 0x1000

// draw returns the bytes of the image.
func (d *drawn) draw() []byte {
	le := binary.LittleEndian
	names, symbols := []byte{0}, make([]byte, symbolSize)
	text := uint64(0)
	for _, f := range d.functions {
		s := make([]byte, symbolSize)
		le.PutUint32(s, uint32(len(names)))
		s[4], s[6] = 2, 2 // STT_FUNC in section 2
		le.PutUint64(s[8:], text)
		le.PutUint64(s[16:], f.size)
		symbols = append(symbols, s...)
		names = append(append(names, f.name...), 0)
		text += (f.size + 15) &^ 15
	}
	code := make([]byte, (text+0xfff)&^0xfff)
	copy(code, d.code)
	out := make([]byte, textAt-imageBase)
	table, strings := make([]byte, sectionSize), []byte{0}
	add := func(name string, b []byte) {
		e := make([]byte, sectionSize)
		le.PutUint32(e, uint32(len(strings)))
		le.PutUint64(e[24:], uint64(len(out)))
		le.PutUint64(e[32:], uint64(len(b)))
		table, strings = append(table, e...), append(append(strings, name...), 0)
		out = append(out, b...)
	}
	add(".text", code)
	for name, b := range d.sections {
		add(name, b)
	}
	add(".symtab", symbols)
	add(".strtab", names)
	e := make([]byte, sectionSize)
	le.PutUint32(e, uint32(len(strings)))
	strings = append(strings, ".shstrtab\x00"...)
	le.PutUint64(e[24:], uint64(len(out)))
	le.PutUint64(e[32:], uint64(len(strings)))
	table, out = append(table, e...), append(out, strings...)
	copy(out, "\x7fELF\x02\x01\x01\xc8")
	le.PutUint16(out[16:], 1) // ET_REL
	le.PutUint16(out[18:], uint16(cmp.Or(d.machine, elf.EM_X86_64)))
	le.PutUint64(out[40:], uint64(len(out)))
	le.PutUint32(out[48:], flagModule)
	le.PutUint16(out[58:], sectionSize)
	le.PutUint16(out[60:], uint16(len(table)/sectionSize))
	le.PutUint16(out[62:], uint16(len(table)/sectionSize-1))
	return append(out, table...)
}

// mapped is the mappings of an image of n bytes with that much code, of a heap and of a stack.
func mapped(n, code int) *maps.Table {
	const page = 0xfff
	end := (imageBase + mem.Addr(n) + page) &^ page
	return maps.NewTable([]maps.Mapping{
		{Start: 0x10000, End: 0x20000, Perm: maps.Read | maps.Write},
		{Start: imageBase, End: textAt, Perm: maps.Read},
		{Start: textAt, End: textAt + mem.Addr(code), Perm: maps.Read | maps.Exec},
		{Start: textAt + mem.Addr(code), End: end, Perm: maps.Read},
		{Start: stackAt, End: stackAt + 0x4000, Perm: maps.Read | maps.Write},
	})
}

const stackAt = mem.Addr(0x7ffd00000000)

// scan returns a Runtime that has looked for the image b.
func scan(t testing.TB, b []byte, code int) (*Runtime, bool, error) {
	t.Helper()
	image := module.Image{Memory: mem.NewOverlay(nil, mem.Range{Start: imageBase, Data: b})}
	r := New(image)
	set := module.NewSet(mapped(len(b), code), image)
	t.Cleanup(func() { set.Close() })
	present, err := r.Scan(set)
	return r, present, err
}

var plain = drawn{functions: []drawnFunction{
	{"wasm[0]::function[2]::alpha", 40},
	{"wasm[0]::function[3]", 20},
	{"wasm[0]::function[4]::_ZN4demo4stepEv", 64},
	{"wasm[0]::array_to_wasm_trampoline[3]", 32},
	{"signatures[0]::wasm_to_array_trampoline", 32},
}}

// pieces reads pieces of a drawn memory and counts the calls.
type pieces struct {
	mem.Reader
	calls int
}

func (p *pieces) ReadPieces(wanted []snapshot.Piece) error {
	p.calls++
	for i := range wanted {
		wanted[i].Got, _ = p.ReadMem(wanted[i].Data, wanted[i].Addr)
	}
	return nil
}

// with returns the image with bytes at offset replaced.
func with(b []byte, offset int, v ...byte) []byte {
	b = bytes.Clone(b)
	copy(b[offset:], v)
	return b
}
