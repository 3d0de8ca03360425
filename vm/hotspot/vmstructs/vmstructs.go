// Package vmstructs reads the tables in which a HotSpot JVM describes its own structures to debuggers: types, fields,
// constants and flags.
//
// The caller provides where the exported symbols are (gHotSpotVMStructs and others) and the memory of the process. A
// JVM fills some of the tables while it starts: [ErrNotReady] says that it has not done so yet. What is missing from
// them is missing in [Table] too: who needs it says so.
//
// Source: src/hotspot/share/runtime/vmStructs.hpp, JDK 8 to 28.
package vmstructs

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// ErrNotReady says that the JVM has not filled its tables yet.
var ErrNotReady = errors.New("the JVM has just begun")

// Symbols finds symbols that the JVM exports, false if there is none of that name.
type Symbols func(name string) (mem.Addr, bool)

// Root is the symbol by which a HotSpot JVM is recognised.
const Root = "gHotSpotVMStructs"

// Field is a field of a structure.
type Field struct {
	Type   string   // as written in C++
	Offset int64    // from the begin of the structure; of a static one 0
	At     mem.Addr // of a static field, else 0
}

// Table is what a JVM says of itself.
type Table struct {
	fields    map[name]Field
	sizes     map[string]int64
	supers    map[string]string
	constants map[string]int64
}

type name struct{ owner, field string }

// Bounds of tables: JDK 21 has 680 fields, and names of up to 80 bytes.
const (
	maxEntries = 1 << 13
	maxStride  = 256
	maxName    = 512
	wordSize   = 8
)

// Read reads the tables.
func Read(v *view.View, symbols Symbols) (*Table, error) {
	t := &Table{fields: map[name]Field{}, sizes: map[string]int64{}, supers: map[string]string{},
		constants: map[string]int64{}}
	r := reader{v: v, symbols: symbols}
	r.read("VMStruct", Root, []string{"TypeName", "FieldName", "TypeString", "IsStatic", "Offset", "Address"},
		func(e *entry) {
			owner, field := e.text(0), e.text(1)
			f := Field{Type: e.optional(2), Offset: int64(e.word(4))}
			if e.uint(3, 4) != 0 {
				f.Offset, f.At = 0, mem.Addr(e.word(5))
			}
			t.fields[name{owner, field}] = f
		})
	r.read("VMType", "gHotSpotVMTypes", []string{"TypeName", "SuperclassName", "Size"}, func(e *entry) {
		n := e.text(0)
		t.supers[n] = e.optional(1)
		t.sizes[n] = int64(e.word(2))
	})
	r.read("VMIntConstant", "gHotSpotVMIntConstants", []string{"Name", "Value"}, func(e *entry) {
		t.constants[e.text(0)] = int64(int32(e.uint(1, 4)))
	})
	r.read("VMLongConstant", "gHotSpotVMLongConstants", []string{"Name", "Value"}, func(e *entry) {
		t.constants[e.text(0)] = int64(e.word(1))
	})
	if r.err != nil {
		return nil, r.err
	}
	return t, nil
}

// Lookup returns a field. Where a structure has been merged with others in some versions several owners are tried.
func (t *Table) Lookup(field string, owners ...string) (Field, bool) {
	for _, o := range owners {
		if f, ok := t.fields[name{o, field}]; ok {
			return f, true
		}
	}
	return Field{}, false
}

// Size is the size of a type, bytes; false if that is not known.
func (t *Table) Size(typ string) (int64, bool) {
	n, ok := t.sizes[typ]
	return n, ok && n > 0
}

// Constant is a constant of the JVM.
func (t *Table) Constant(n string) (int64, bool) {
	c, ok := t.constants[n]
	return c, ok
}

// reader reads the tables one after the other until one cannot be read.
type reader struct {
	v       *view.View
	symbols Symbols
	err     error
}

// entry is one row; word numbers are those of the columns.
type entry struct {
	r     *reader
	bytes []byte
	at    []int64
}

// variable is the word that a symbol of the JVM holds.
func (r *reader) variable(symbol string) uint64 {
	at, ok := r.symbols(symbol)
	if !ok {
		r.fail(fmt.Errorf("the JVM does not export %s", symbol))
		return 0
	}
	n, err := r.v.Word(at)
	r.fail(err)
	return n
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// read gives each the rows of a table, of which the symbols of its layout begin with gHotSpot and kind.
func (r *reader) read(kind, root string, columns []string, each func(*entry)) {
	base, stride := mem.Addr(r.variable(root)), r.variable("gHotSpot"+kind+"EntryArrayStride")
	e := &entry{r: r, at: make([]int64, len(columns))}
	for i, c := range columns {
		e.at[i] = int64(r.variable("gHotSpot" + kind + "Entry" + c + "Offset"))
		if e.at[i] < 0 || e.at[i] > maxStride {
			r.fail(fmt.Errorf("table %s: its column %s is at %d", root, c, e.at[i]))
		}
	}
	switch {
	case r.err != nil:
		return
	case base == 0 || stride == 0:
		r.fail(ErrNotReady)
		return
	case stride > maxStride:
		r.fail(fmt.Errorf("table %s: a row of %d bytes", root, stride))
		return
	}
	for i := 0; r.err == nil; i++ {
		if i == maxEntries {
			r.fail(fmt.Errorf("table %s: more than %d rows", root, maxEntries))
			return
		}
		b, ok := r.v.Bytes(base+mem.Addr(uint64(i)*stride), int(stride))
		if !ok {
			r.fail(r.v.Fault())
			return
		}
		e.bytes = append(e.bytes[:0], b...)
		if e.word(0) == 0 {
			return
		}
		each(e)
	}
}

func (e *entry) uint(column, size int) uint64 {
	at := e.at[column]
	if at+int64(size) > int64(len(e.bytes)) {
		e.r.fail(fmt.Errorf("a row of %d bytes has a column at %d", len(e.bytes), at))
		return 0
	}
	var n uint64
	for i := size - 1; i >= 0; i-- {
		n = n<<8 | uint64(e.bytes[at+int64(i)])
	}
	return n
}

func (e *entry) word(column int) uint64 { return e.uint(column, wordSize) }

// text is the name that column points to.
func (e *entry) text(column int) string {
	s, whole, err := e.r.v.Text(mem.Addr(e.word(column)), maxName)
	if err == nil && !whole {
		err = errors.New("a name in the JVM's tables is too long")
	}
	e.r.fail(err)
	return s
}

// optional is text, "" where there is none.
func (e *entry) optional(column int) string {
	if e.word(column) == 0 {
		return ""
	}
	return e.text(column)
}
