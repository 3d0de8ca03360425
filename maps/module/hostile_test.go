package module_test

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// crowded returns an object with as many program headers and sections as are read, all
// notes and all over the same bytes.
func crowded() []byte {
	const segments, sections = 0xfffe, 1 << 17
	le := binary.LittleEndian
	shOff := 0x1000 + segments*56
	b := make([]byte, shOff+sections*64)
	copy(b, minimal(8, le))
	le.PutUint64(b[ePhOff:], 0x1000)
	le.PutUint16(b[ePhNum:], segments)
	for i := range segments {
		p := b[0x1000+56*i:]
		le.PutUint32(p, []uint32{1, 4}[i&1]) // PT_LOAD, PT_NOTE
		le.PutUint32(p[4:], 5)
		le.PutUint64(p[32:], uint64(len(b)))
		le.PutUint64(p[40:], uint64(len(b)))
	}
	le.PutUint64(b[eShOff:], uint64(shOff))
	le.PutUint16(b[58:], 64) // e_shentsize
	le.PutUint64(b[shOff+shSize:], sections)
	for i := range sections {
		le.PutUint32(b[shOff+64*i+4:], 7) // SHT_NOTE
	}
	return b
}

func TestCrowdedObject(t *testing.T) {
	data := crowded()
	table := maps.NewTable([]maps.Mapping{
		{Start: 0x10000000, End: 0x20000000, Perm: maps.Read | maps.Exec, Inode: 1, Path: "/x"},
		{Start: 0x40000000, End: 0x50000000, Perm: maps.Read | maps.Exec, Inode: 2, Path: "/gone"},
	})
	open := func(m *maps.Mapping) (*module.File, error) {
		if m.Path == "/gone" {
			return nil, errors.New("gone")
		}
		return &module.File{Data: data}, nil
	}
	start := time.Now()
	s := module.NewSet(table,
		module.Image{Mapping: open, Memory: mem.NewOverlay(nil, mem.Range{Start: 0x40000000, Data: data})})
	for _, mp := range table.All() {
		if m := s.Find(mp.Start); m == nil {
			t.Errorf("Find(%#x) = nil", mp.Start)
		} else {
			t.Logf("%s: %d segments, %d sections, %v", mp.Path, len(m.Segments()), len(m.Sections()), m.Err)
		}
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took %v", d)
	} else {
		t.Log(d)
	}
}

// TestManyModules maps more files than a Set takes.
func TestManyModules(t *testing.T) {
	const n = 1<<16 + 10
	var ms []maps.Mapping
	for i := range n {
		ms = append(ms, maps.Mapping{Start: mem.Addr(i << 12), End: mem.Addr((i + 1) << 12), Perm: maps.Exec,
			Inode: uint64(i + 1), Path: "/x"})
	}
	data := minimal(8, binary.LittleEndian)
	s := module.NewSet(maps.NewTable(ms),
		module.Image{Mapping: func(*maps.Mapping) (*module.File, error) { return &module.File{Data: data}, nil }})
	var last *module.Module
	for i := range n {
		last = s.Find(mem.Addr(i << 12))
	}
	if len(s.All()) != 1<<16 || !errors.Is(last.Err, module.ErrTooMany) {
		t.Errorf("%d modules, the last with error %v; want 65536 and ErrTooMany", len(s.All()), last.Err)
	}
}
