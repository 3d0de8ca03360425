package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
)

// FuzzResolver changes bytes of a real program: each 6 bytes of edits are an offset and what
// is written there; an offset above 0x80000000 cuts the file.
func FuzzResolver(f *testing.F) {
	path := compile(f, "gcc", "a.c", callers, "-O0", "-Wl,-z,lazy")
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	ms, err := mappings(path)
	if err != nil {
		f.Fatal(err)
	}
	good := load(f, path)
	edit := func(at int64, v uint16) []byte {
		return binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint32(nil, uint32(at)), v)
	}
	f.Add([]byte(nil), uint16(0))
	for _, name := range []string{".symtab", ".strtab", ".dynsym", ".dynstr", ".rela.plt", ".gnu.version"} {
		if s, ok := good.Section(name); ok {
			f.Add(edit(s.Offset+8, 0xffff), uint16(0x1040)) // a value, an offset, a name
			f.Add(edit(s.Offset+30, 0xffff), uint16(0x1040))
			f.Add(edit(0x80000000+s.Offset+int64(s.Size/2), 0), uint16(0x1040)) // ends in the middle
		}
	}
	f.Fuzz(func(t *testing.T, edits []byte, off uint16) {
		data := bytes.Clone(whole)
		for ; len(edits) >= 6; edits = edits[6:] {
			at := binary.LittleEndian.Uint32(edits)
			if at >= 0x80000000 {
				data = data[:min(len(data), int(at-0x80000000))]
			} else if uint64(at)+2 <= uint64(len(data)) {
				copy(data[at:], edits[4:6])
			}
		}
		m := moduleOf(t, data, append(ms[:0:0], ms...))
		if m == nil {
			return
		}
		r := NewResolver(m, nil)
		for round := range 4 { // the last by the index
			var queries []Query
			for i := range 40 {
				v := module.Vaddr(off) + module.Vaddr(i*(29+round))
				queries = append(queries, Query{Lookup: v, PC: v + 1})
			}
			out, _ := r.Resolve(queries, Options{})
			for i, frames := range out {
				if len(frames) == 0 {
					t.Fatalf("no frame for %#x", queries[i].Lookup)
				}
				checkBounds(t, r, queries[i].Lookup)
			}
		}
	})
}

func checkBounds(t *testing.T, r *Resolver, v module.Vaddr) {
	if start, end, ok := r.Bounds(v); ok && (v < start || v >= end) {
		t.Fatalf("bounds of %#x: got [%#x, %#x)", v, start, end)
	}
}

// What is left of a cut file still names, and the error says what is missing.
func TestCutFile(t *testing.T) {
	path := compile(t, "gcc", "a.c", callers, "-O0", "-Wl,-z,lazy")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ms, err := mappings(path)
	if err != nil {
		t.Fatal(err)
	}
	good := load(t, path)
	str, _ := good.Section(".strtab")
	sym, _ := good.Section(".symtab")
	var main uint64
	for _, s := range readelf(t, path, ".symtab") {
		if s.name == "main" {
			main = s.value
		}
	}
	for _, c := range []struct {
		name string
		hole [2]int64 // bytes of the file set to zero
	}{
		{"names are zeros", [2]int64{str.Offset, str.Offset + int64(str.Size)}},
		{"symbols are zeros", [2]int64{sym.Offset, sym.Offset + int64(sym.Size)}},
	} {
		broken := bytes.Clone(data)
		clear(broken[c.hole[0]:c.hole[1]])
		m := moduleOf(t, broken, append(ms[:0:0], ms...))
		got, _ := New(m).Lookup([]module.Vaddr{module.Vaddr(main)})
		if got[0] != nil {
			t.Errorf("%s: got %+v, want no name", c.name, got[0])
		}
	}
	// The header of .symtab says more than the file holds.
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range f.Sections {
		if s.Name == ".symtab" {
			shoff := binary.LittleEndian.Uint64(data[0x28:])                   // e_shoff
			binary.LittleEndian.PutUint64(data[shoff+uint64(i)*64+32:], 1<<20) // sh_size
		}
	}
	if _, err := New(moduleOf(t, data, ms)).Lookup([]module.Vaddr{module.Vaddr(main)}); err == nil ||
		!strings.Contains(err.Error(), ".symtab") {
		t.Errorf("table beyond the end of the file: got error %v, want one about .symtab", err)
	}
}

// FuzzInflate: whatever a section claims, what comes out has the size that it claims and no
// more, or there is an error.
func FuzzInflate(f *testing.F) {
	le := binary.LittleEndian
	chdr := func(kind uint32, size uint64, data []byte) []byte {
		b := le.AppendUint64(le.AppendUint64(le.AppendUint64(nil, uint64(kind)), size), 1)
		return append(b, data...)
	}
	f.Add(chdr(compressZstd, 100, zstdOf(make([]byte, 100))))
	f.Add(chdr(compressZstd, 1<<20, zstdOf(make([]byte, 1<<20))))
	f.Add(chdr(compressZlib, 100, []byte("\x78\x9c\x03\x00\x00\x00\x00\x01")))
	f.Add(chdr(3, 100, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= 24 && le.Uint64(b[8:]) > 64<<20 {
			return // allowed, and slow
		}
		file := DebugFile{Path: "/x", Order: le, Class: 8, Section: func(string) (module.Section, bool) {
			return module.Section{Name: ".debug_info", Data: b, Size: uint64(len(b)), Compressed: true}, true
		}}
		out, err := debugSection(file, ".debug_info")
		if err == nil && uint64(len(out)) != le.Uint64(b[8:]) {
			t.Errorf("%d bytes came out, the header says %d", len(out), le.Uint64(b[8:]))
		}
		if err != nil && out != nil {
			t.Errorf("both %d bytes and the error %v", len(out), err)
		}
	})
}
