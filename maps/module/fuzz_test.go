package module_test

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// FuzzModule reads any bytes as a file, as a vDSO and as memory without a file.
func FuzzModule(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Add(minimal(8, binary.LittleEndian))
	f.Add(minimal(4, binary.BigEndian))
	for _, path := range foreign(f) {
		if b, err := os.ReadFile(path); err == nil {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<20 {
			t.Skip("larger than what a fuzzer can explore")
		}
		table := maps.NewTable([]maps.Mapping{
			{Start: 0x10000, End: 0x12000, Perm: maps.Read, Inode: 1, Path: "/x"},
			{Start: 0x12000, End: 0x20000, Perm: maps.Read | maps.Exec, Offset: 0x2000, Inode: 1, Path: "/x"},
			{Start: 0x40000, End: 0x50000, Perm: maps.Read | maps.Exec, Path: "[vdso]"},
			{Start: 0x60000, End: 0x70000, Perm: maps.Read | maps.Exec, Inode: 2, Path: "/gone"},
			{Start: 0x80000, End: 0x90000, Perm: maps.Read | maps.Exec},
		})
		padded := make([]byte, 0x10000)
		copy(padded, data)
		memory := mem.NewOverlay(nil, mem.Range{Start: 0x40000, Data: padded}, mem.Range{Start: 0x60000, Data: padded},
			mem.Range{Start: 0x80000, Data: data})
		s := module.NewSet(table, module.Image{Mapping: func(m *maps.Mapping) (*module.File, error) {
			if m.Path == "/gone" {
				return nil, os.ErrNotExist
			}
			return &module.File{Data: data}, nil
		}, Memory: memory})

		defer s.Close()
		for _, mp := range table.All() {
			m := s.Find(mp.Start + 0x123)
			if m == nil {
				if mp.IsFile() {
					t.Errorf("Find(%#x) of %q is nil", mp.Start, mp.Path)
				}
				continue
			}
			use(t, m, mp.Start)
		}
	})
}

// use calls everything and checks what holds for any bytes.
func use(t *testing.T, m *module.Module, at mem.Addr) {
	if m.Err != nil && (len(m.Sections()) > 0 || len(m.Segments()) > 0 || m.Class() != 0) {
		t.Errorf("both contents and the error %v", m.Err)
	}
	if m.Addr(m.Vaddr(at)) != at {
		t.Errorf("address %#x does not come back from Vaddr %#x", at, m.Vaddr(at))
	}
	for _, s := range m.Sections() {
		if len(s.Data) != 0 && uint64(len(s.Data)) != s.Size {
			t.Errorf("section %q of size %#x has %#x bytes", s.Name, s.Size, len(s.Data))
		}
		m.Text(s.Addr)
		m.Section(s.Name)
	}
	for _, p := range m.Segments() {
		if text, ok := m.Text(p.Addr); ok && len(text) == 0 {
			t.Error("text of no bytes")
		}
	}
	m.Text(m.Entry())
	m.Name()
	m.BuildID()
}

// minimal returns a header and one segment of 4 KiB that loads itself.
func minimal(class int, order binary.ByteOrder) []byte {
	b := make([]byte, 0x1000)
	copy(b, "\x7fELF\x02\x01\x01")
	order.PutUint16(b[16:], 3)
	if order == binary.ByteOrder(binary.BigEndian) {
		b[5] = 2
	}
	if class == 4 {
		b[4] = 1
		order.PutUint32(b[28:], 52)
		order.PutUint16(b[42:], 32)
		order.PutUint16(b[44:], 1)
		for i, v := range []uint32{1, 0, 0, 0, 0x1000, 0x1000, 5} {
			order.PutUint32(b[52+4*i:], v)
		}
		return b
	}
	order.PutUint64(b[32:], 64)
	order.PutUint16(b[54:], 56)
	order.PutUint16(b[56:], 1)
	order.PutUint32(b[64:], 1)
	order.PutUint32(b[68:], 5)
	order.PutUint64(b[64+32:], 0x1000)
	order.PutUint64(b[64+40:], 0x1000)
	return b
}

// TestMutations damages real objects at one place after the other.
func TestMutations(t *testing.T) {
	for name, path := range foreign(t) {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for at := 4; at < min(len(whole), 1024); at++ {
			for _, v := range []byte{0, 1, 0x7f, 0x80, 0xff} {
				_, m := fileModule(edit(whole, func(b []byte) { b[at] = v }), 0x10000)
				use(t, m, 0x10000)
			}
		}
		for size := 0; size < len(whole); size += 7 {
			_, m := fileModule(whole[:size], 0x10000)
			if m == nil {
				continue // nothing is mapped
			}
			use(t, m, 0x10000)
		}
		t.Logf("%s: %d bytes", name, len(whole))
	}
}

func BenchmarkFind(b *testing.B) {
	for name, path := range realFiles(b) {
		data, err := os.ReadFile(path)
		if err != nil {
			b.Log(err)
			continue
		}
		b.Run(name+"/first", func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				fileModule(data, 0x10000)
			}
		})
	}
	b.Run("again", func(b *testing.B) {
		s, _ := fileModule(minimal(8, binary.LittleEndian), 0x10000)
		b.ReportAllocs()
		for range b.N {
			s.Find(0x10100)
		}
	})
}
