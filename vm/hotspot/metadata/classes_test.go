package metadata

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/hotspot/vmstructs"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// drawn is memory of a JVM with classes, a kilobyte each part.
type drawn struct {
	t *testing.T
	b []byte
}

const base = 0x10000

func draw(t *testing.T) *drawn { return &drawn{t: t, b: make([]byte, 64<<10)} }

func (d *drawn) word(at mem.Addr, v uint64) { binary.LittleEndian.PutUint64(d.b[at-base:], v) }

func (d *drawn) symbol(at mem.Addr, text string) mem.Addr {
	d.word(at, uint64(len(text)))
	copy(d.b[at-base+8:], text)
	return at
}

func (d *drawn) view() *view.View {
	v := view.Copied(work.New(work.Steps, work.Memory), mem.Range{Start: base, Data: d.b})
	return &v
}

// Where the layout has its fields; head is that of the list of loaders.
const (
	head                                        = base
	loaderNext, loaderClasses                   = 0, 8
	className, classNext, classPool, classSuper = 0, 8, 16, 24
	classFields, classCount                     = 32, 40
)

func word(offset int64) vmstructs.Place { return vmstructs.Place{Offset: offset, Size: 8} }

func layout() *Layout {
	return &Layout{graph: head, nextLoader: word(loaderNext), loaderClasses: word(loaderClasses),
		klassName: word(className), nextClass: word(classNext), klassConstants: word(classPool),
		super: word(classSuper), fields: word(classFields), fieldCount: word(classCount),
		symbolLength: word(0), symbolBody: word(8), poolLength: word(0), poolSize: 8}
}

// loader draws a loader with classes of those names, and returns where they are.
func (d *drawn) loader(at, next mem.Addr, names ...string) (classes []mem.Addr) {
	d.word(at+loaderNext, uint64(next))
	link := at + loaderClasses
	for i, n := range names {
		class := at + mem.Addr(1+i)<<8
		d.word(link, uint64(class))
		d.word(class+className, uint64(d.symbol(class+0x80, n)))
		link = class + classNext
		classes = append(classes, class)
	}
	return classes
}

// TestFind: what is not found was not loaded only if each class was looked at and has a name.
func TestFind(t *testing.T) {
	const loader, other = base + 0x1000, base + 0x2000
	for _, tt := range []struct {
		name   string
		change func(d *drawn, classes []mem.Addr)
		want   string // of the error
		has    int    // how many of the two are found
	}{
		{"both", func(*drawn, []mem.Addr) {}, "", 2},
		{"one was not loaded", func(d *drawn, c []mem.Addr) { d.symbol(c[1]+0x80, "u/C") }, "", 1},
		{"a name is nowhere", func(d *drawn, c []mem.Addr) { d.word(c[1]+className, 0x999000) },
			"no name that can be read", 1},
		{"another class has no name", func(d *drawn, c []mem.Addr) { d.word(c[0]+className, 0) }, "", 2},
		{"a name is too long", func(d *drawn, c []mem.Addr) { d.word(c[1]+0x80, maxSymbol+1) }, "", 1},
		{"classes without an end", func(d *drawn, c []mem.Addr) {
			d.symbol(c[1]+0x80, "u/C")
			d.word(c[1]+classNext, uint64(c[0]))
		}, "more than 1048576 classes", 0},
		{"loaders without an end", func(d *drawn, c []mem.Addr) {
			d.symbol(c[1]+0x80, "u/C")
			d.word(loader+loaderNext, loader)
		}, "more than 65536 class loaders", 0},
	} {
		d := draw(t)
		d.word(head, loader)
		classes := d.loader(loader, other, "p/A", "q/B")
		classes = append(classes, d.loader(other, 0, "r/C")...)
		tt.change(d, classes)
		found := map[string]mem.Addr{"q/B": 0, "r/C": 0}
		err := layout().Find(d.view(), found)
		has := 0
		for _, at := range found {
			if at != 0 {
				has++
			}
		}
		if said := errorText(err); (tt.want == "") != (err == nil) || !strings.Contains(said, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, said, tt.want)
		}
		if err == nil && has != tt.has {
			t.Errorf("%s: %d are found, want %d", tt.name, has, tt.has)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestField: a class has no field of a name only if the names of all its fields are known; else one of a class that it
// extends would be taken for it.
func TestField(t *testing.T) {
	const loader, pool, list = base + 0x1000, base + 0x3000, base + 0x4000
	child, parent := mem.Addr(0), mem.Addr(0)
	whole := func() *drawn {
		d := draw(t)
		c := d.loader(loader, 0, "p/Child", "p/Parent")
		child, parent = c[0], c[1]
		d.word(child+classSuper, uint64(parent))
		for i, class := range c {
			at := pool + mem.Addr(i)<<8
			d.word(class+classPool, uint64(at))
			d.word(at, 2)
			d.word(at+8+8, uint64(d.symbol(at+0x80, "value")))
			fields := list + mem.Addr(i)<<8
			d.word(class+classFields, uint64(fields))
			d.word(class+classCount, 1)
			binary.LittleEndian.PutUint32(d.b[fields-base:], slots)
			for k, v := range []uint16{0, 1, 0, 0, uint16(12+4*i) << 2, 0} {
				binary.LittleEndian.PutUint16(d.b[int(fields)-base+4+2*k:], v)
			}
		}
		return d
	}
	for _, tt := range []struct {
		name   string
		change func(d *drawn)
		want   string // of the error
		at     int64
	}{
		{"its own", func(*drawn) {}, "", 12},
		{"of what it extends", func(d *drawn) { d.symbol(pool+0x80, "other") }, "", 16},
		{"a name is nowhere", func(d *drawn) { d.word(pool+16, 0x999000) }, "no name that can be read", 0},
		{"more than the list has", func(d *drawn) {
			d.symbol(pool+0x80, "other")
			d.word(child+classCount, 2)
		}, "2 fields in a list of 1", 0},
		{"a list that is too long", func(d *drawn) {
			binary.LittleEndian.PutUint32(d.b[list-base:], maxFields*slots+1)
		}, "at most", 0},
		{"a class that extends itself", func(d *drawn) {
			d.symbol(pool+0x80, "other")
			d.word(child+classSuper, uint64(child))
		}, "extends more than", 0},
		{"none", func(d *drawn) {
			d.symbol(pool+0x80, "other")
			d.symbol(pool+0x180, "other")
		}, ErrNoField.Error(), 0},
	} {
		d := whole()
		tt.change(d)
		at, err := layout().Field(d.view(), child, "value")
		if said := errorText(err); (tt.want == "") != (err == nil) || !strings.Contains(said, tt.want) || at != tt.at {
			t.Errorf("%s: %d, %q, want %d, %q", tt.name, at, said, tt.at, tt.want)
		}
		if tt.want != ErrNoField.Error() && errors.Is(err, ErrNoField) {
			t.Errorf("%s: there is no such field", tt.name)
		}
	}
}
