package vmstructs

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// drawing is a memory with tables: symbols, rows and names one after the other.
type drawing struct {
	data    []byte
	symbols map[string]mem.Addr
}

const base = mem.Addr(0x1000)

func (d *drawing) word(n uint64) mem.Addr {
	d.data = binary.LittleEndian.AppendUint64(d.data, n)
	return base + mem.Addr(len(d.data)-8)
}

func (d *drawing) text(s string) uint64 {
	at := base + mem.Addr(len(d.data))
	d.data = append(d.data, s...)
	d.data = append(d.data, make([]byte, 8-len(s)%8)...)
	return uint64(at)
}

// table draws one table, whose rows end with one of zeros.
func (d *drawing) table(kind, root string, columns []string, rows ...[]uint64) {
	for i, c := range columns {
		d.symbols["gHotSpot"+kind+"Entry"+c+"Offset"] = d.word(uint64(8 * i))
	}
	d.symbols["gHotSpot"+kind+"EntryArrayStride"] = d.word(uint64(8 * len(columns)))
	first := base + mem.Addr(len(d.data))
	for _, r := range append(rows, make([]uint64, len(columns))) {
		for _, n := range r {
			d.word(n)
		}
	}
	d.symbols[root] = d.word(uint64(first))
}

func draw() *drawing {
	d := &drawing{symbols: map[string]mem.Addr{}}
	blob, size, heaps := d.text("CodeBlob"), d.text("_size"), d.text("_heaps")
	cache, number := d.text("CodeCache"), d.text("int")
	d.table("VMStruct", Root, []string{"TypeName", "FieldName", "TypeString", "IsStatic", "Offset", "Address"},
		[]uint64{blob, size, number, 0, 24, 0}, []uint64{cache, heaps, 0, 1, 0, 0x7000})
	d.table("VMType", "gHotSpotVMTypes", []string{"TypeName", "SuperclassName", "Size"}, []uint64{blob, 0, 64},
		[]uint64{number, 0, 4})
	d.table("VMIntConstant", "gHotSpotVMIntConstants", []string{"Name", "Value"}, []uint64{size, 0xffffffff})
	d.table("VMLongConstant", "gHotSpotVMLongConstants", []string{"Name", "Value"})
	return d
}

func (d *drawing) read() (*Table, error) {
	v := view.Copied(nil, mem.Range{Start: base, Data: append(d.data, make([]byte, 64)...)})
	return Read(&v, func(name string) (mem.Addr, bool) { a, ok := d.symbols[name]; return a, ok })
}

func TestRead(t *testing.T) {
	x, err := draw().read()
	if err != nil {
		t.Fatal(err)
	}
	p := x.Pick()
	if at := p.Need("_size", "Nothing", "CodeBlob"); at != (Place{24, 4, true}) {
		t.Errorf("_size is at %+v", at)
	}
	if at := p.NeedStatic("_heaps", "CodeCache"); at != 0x7000 {
		t.Errorf("_heaps is at %#x", uint64(at))
	}
	if n := p.NeedSize("CodeBlob"); n != 64 || p.Err() != nil {
		t.Errorf("size %d, %v", n, p.Err())
	}
	if n, ok := x.Constant("_size"); n != -1 || !ok {
		t.Errorf("constant %d, %t", n, ok)
	}
	if p.Need("_name", "CodeBlob"); p.Err() == nil {
		t.Error("a field that is missing is not told")
	}
}

// A JVM that has just begun has not filled its tables; one without a symbol is no JVM that is known.
func TestNotReady(t *testing.T) {
	d := draw()
	binary.LittleEndian.PutUint64(d.data[d.symbols["gHotSpotVMTypeEntryArrayStride"]-base:], 0)
	if _, err := d.read(); !errors.Is(err, ErrNotReady) {
		t.Errorf("got %v", err)
	}
	d = draw()
	delete(d.symbols, "gHotSpotVMTypes")
	if _, err := d.read(); err == nil || errors.Is(err, ErrNotReady) {
		t.Errorf("got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(draw().data)
	symbols := draw().symbols
	f.Fuzz(func(t *testing.T, data []byte) {
		d := drawing{data, symbols}
		x, err := d.read()
		if (x == nil) == (err == nil) {
			t.Fatalf("%v, %v", x, err)
		}
		if x != nil {
			v := view.Copied(nil, mem.Range{Start: base, Data: data})
			x.Flags(&v, "UseZGC")
		}
	})
}
