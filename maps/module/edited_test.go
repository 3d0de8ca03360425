package module_test

import (
	"encoding/binary"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// Offsets in Elf64_Ehdr, Elf64_Phdr and Elf64_Shdr: elf(5).
const (
	ePhOff, eShOff = 32, 40
	ePhNum, eShNum = 56, 60
	eShStrNdx      = 62
	shSize, shLink = 32, 40
	shInfo         = 44
)

// small returns a little-endian 64-bit object for edits, built by clang or gcc.
func small(t testing.TB) []byte {
	t.Helper()
	path := compile(t, "gcc", "int marker(int x) { return x + 1; }\nvoid _start(void) { marker(1); }\n", "small",
		"-shared", "-fPIC", "-nostdlib", "-Wl,--build-id", "-Wl,--hash-style=both", "-m64")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func edit(b []byte, f func(b []byte)) []byte {
	b = append([]byte(nil), b...)
	f(b)
	return b
}

func TestExtendedNumbering(t *testing.T) {
	b := small(t)
	le := binary.LittleEndian
	_, want := fileModule(b, 0x10000)
	_, got := fileModule(edit(b, func(b []byte) {
		first := b[le.Uint64(b[eShOff:]):]
		le.PutUint64(first[shSize:], uint64(le.Uint16(b[eShNum:])))
		le.PutUint32(first[shLink:], uint32(le.Uint16(b[eShStrNdx:])))
		le.PutUint32(first[shInfo:], uint32(le.Uint16(b[ePhNum:])))
		le.PutUint16(b[eShNum:], 0)
		le.PutUint16(b[eShStrNdx:], 0xffff)
		le.PutUint16(b[ePhNum:], 0xffff)
	}), 0x10000)
	if got.Err != nil || want.Err != nil {
		t.Fatal(got.Err, want.Err)
	}
	// the first ones hold the edits
	if !reflect.DeepEqual(got.Sections()[1:], want.Sections()[1:]) || !reflect.DeepEqual(got.Segments()[1:],
		want.Segments()[1:]) {
		t.Errorf("%d sections, %d segments; want %d, %d", len(got.Sections()), len(got.Segments()),
			len(want.Sections()), len(want.Segments()))
	}
}

func TestMalformed(t *testing.T) {
	b, le := small(t), binary.LittleEndian
	for _, row := range []struct {
		name string
		edit func(b []byte) []byte
		err  string // "": the object is usable
	}{
		{"empty file", func(b []byte) []byte { return nil }, "not an ELF object"},
		{"text", func(b []byte) []byte { return []byte("#!/bin/sh\nexit 0\n#") }, "not an ELF object"},
		{"only magic", func(b []byte) []byte { return b[:4] }, "not an ELF object"},
		{"half a header", func(b []byte) []byte { return b[:40] }, "header has 40 bytes"},
		{"class 3", func(b []byte) []byte { b[4] = 3; return b }, "class 3"},
		{"byte order 0", func(b []byte) []byte { b[5] = 0; return b }, "byte order 0"},
		{"core file", func(b []byte) []byte { b[16] = 4; return b }, "type 4"},
		{"no program headers", func(b []byte) []byte { le.PutUint16(b[ePhNum:], 0); return b }, "0 program headers"},
		{"program headers behind the end", func(b []byte) []byte { le.PutUint64(b[ePhOff:], 1<<40); return b },
			"outside of the file"},
		{"program headers at the end of the address space",
			func(b []byte) []byte { le.PutUint64(b[ePhOff:], 1<<64-8); return b }, "outside of the file"},
		{"extended program headers without sections", func(b []byte) []byte {
			le.PutUint16(b[ePhNum:], 0xffff)
			le.PutUint64(b[eShOff:], 0)
			return b
		}, "outside of the file"},
		{"section table behind the end", func(b []byte) []byte { le.PutUint64(b[eShOff:], 1<<63); return b }, ""},
		{"section table at the end of the address space",
			func(b []byte) []byte { le.PutUint64(b[eShOff:], 1<<64-64); return b }, ""},
		{"names in no section", func(b []byte) []byte { le.PutUint16(b[eShStrNdx:], 999); return b }, ""},
		{"2^64-1 sections", func(b []byte) []byte {
			le.PutUint16(b[eShNum:], 0)
			le.PutUint64(b[le.Uint64(b[eShOff:])+shSize:], 1<<64-1)
			return b
		}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, m := fileModule(row.edit(append([]byte(nil), b...)), 0x10000)
			switch {
			case row.err == "":
				if m.Err != nil {
					t.Fatal(m.Err)
				}
				if _, ok := m.Section(".eh_frame"); !ok {
					t.Error("no .eh_frame")
				}
			case m.Err == nil || !strings.Contains(m.Err.Error(), row.err):
				t.Errorf("error %v, want %q", m.Err, row.err)
			default:
				if _, ok := m.Section(".text"); ok || m.Class() != 0 || m.BuildID() != "" || len(m.Segments()) != 0 {
					t.Error("a module with an error has contents")
				}
				if _, ok := m.Text(0); ok {
					t.Error("a module with an error has text")
				}
			}
		})
	}
}

func TestErrorsTellThemApart(t *testing.T) {
	_, m := fileModule([]byte("no ELF file at all"), 0x10000)
	if !errors.Is(m.Err, module.ErrNotELF) {
		t.Errorf("error %v, want ErrNotELF", m.Err)
	}
	var format *module.FormatError
	_, m = fileModule(edit(small(t), func(b []byte) { b[4] = 9 }), 0x10000)
	if !errors.As(m.Err, &format) || format.Offset != 4 {
		t.Errorf("error %v, want a FormatError at 4", m.Err)
	}
}

func TestSetWithoutFiles(t *testing.T) {
	table := maps.NewTable([]maps.Mapping{
		{Start: 0x1000, End: 0x2000, Perm: maps.Read | maps.Exec},
		{Start: 0x2000, End: 0x3000, Perm: maps.Read | maps.Write},
		{Start: 0x4000, End: 0x5000, Perm: maps.Read | maps.Exec, Offset: 0x1000, Inode: 7, Path: "/gone/libx.so",
			Deleted: true},
		{Start: 0x5000, End: 0x6000, Perm: maps.Read, Offset: 0x2000, Inode: 7, Path: "/gone/libx.so", Deleted: true},
	})
	gone := errors.New("open \"/gone/libx.so\": no such file")
	s := module.NewSet(table, module.Image{Mapping: func(*maps.Mapping) (*module.File, error) { return nil, gone }})
	for _, addr := range []mem.Addr{0, 0x1000, 0x2fff, 0x3000, 1<<64 - 1} {
		if m := s.Find(addr); m != nil {
			t.Errorf("Find(%#x) = %+v, want none", addr, m)
		}
	}
	m := s.Find(0x4abc)
	if m == nil || !errors.Is(m.Err, gone) || m.Name() != "libx.so" || !m.Deleted || m.ID != 0 {
		t.Fatalf("Find(0x4abc) = %+v, want a name with the opener's error", m)
	}
	if got := m.Vaddr(0x4abc); got != 0x1abc {
		t.Errorf("offset of 0x4abc in an unread file = %#x, want 0x1abc", got)
	}
	if s.Find(0x5000) != m || len(s.All()) != 1 {
		t.Errorf("%d modules of one unread file", len(s.All()))
	}
	if !s.Executable(0x1000) || s.Executable(0x2000) || s.Executable(0x3000) {
		t.Error("Executable does not follow the rights of the mappings")
	}
}

func TestCloseReleasesEachFileOnce(t *testing.T) {
	data, closed := small(t), 0
	table := maps.NewTable([]maps.Mapping{
		{Start: 0x10000, End: 0x11000, Perm: maps.Read, Inode: 7, Path: "/libx.so"},
		{Start: 0x20000, End: 0x21000, Perm: maps.Read, Inode: 7, Path: "/libx.so"},
	})
	s := module.NewSet(table, module.Image{Mapping: func(*maps.Mapping) (*module.File, error) {
		return &module.File{Data: data, Close: func() error { closed++; return errors.New("unmap") }}, nil
	}})

	a, b := s.Find(0x10000), s.Find(0x20000)
	if a == b || a.Base() != 0x10000 || b.Base() != 0x20000 || a.ID != 0 || b.ID != 1 {
		t.Errorf("one file at two places: %+v, %+v", a, b)
	}
	if err := s.Close(); err == nil || closed != 1 {
		t.Errorf("closed %d times with error %v, want once with the file's error", closed, err)
	}
	if err := s.Close(); err != nil || closed != 1 {
		t.Errorf("second Close closed again (%d) or failed: %v", closed, err)
	}
}
