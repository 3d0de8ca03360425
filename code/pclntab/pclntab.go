// Package pclntab reads the table that the Go linker writes for the runtime's own
// tracebacks: functions, files, lines, inlined calls, and how far the stack pointer moved at
// each instruction. It is there in stripped programs too.
//
// The caller provides the sections of one ELF object ([Open]), or the bytes of the table and
// the address of the first Go function ([Parse]). All addresses are as linked. The bytes
// must stay readable as long as the [Table] is used.
//
// It guarantees bounded work on any bytes: no panic, no endless loop, nothing allocated but
// the names it returns. A value it does not find is not ok, never zero.
//
// It imports no other room but the budget of work, so that the walker of stacks (stack pointer, outermost
// frames) and the naming of functions may both use it. It is not for DWARF and knows no process.
//
// It follows the Go sources: internal/abi/symtab.go, runtime/symtab.go, runtime/symtabinl.go,
// type _func in runtime/runtime2.go, debug/gosym, and golang.org/s/go12symtab for Go 1.2 to 1.15.
package pclntab

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/work"
)

// ErrNone is the cause when an object has no table: it holds no Go code.
var ErrNone = errors.New("no .gopclntab section")

// version is a layout of the table; the magic number tells it.
type version uint8

const (
	go12  version = iota // Go 1.2 to 1.15
	go116                // Go 1.16 and 1.17
	go118                // Go 1.18 and 1.19: function entries are offsets of 4 bytes
	go120                // since Go 1.20
)

// Source: internal/abi/symtab.go, Go12PCLnTabMagic and following.
var magics = map[uint32]version{
	0xfffffffb: go12,
	0xfffffffa: go116,
	0xfffffff0: go118,
	0xfffffff1: go120,
}

// Table is the pclntab of one object. It is not changed after it was made: goroutines may
// share it.
type Table struct {
	version version
	order   binary.ByteOrder
	quantum uint64 // smallest instruction, bytes
	ptr     int    // size of a pointer, bytes

	data  []byte // from the header on
	addr  uint64 // of data, 0 if unknown
	text  uint64 // address of runtime.text; 0 before Go 1.18, where entries are absolute
	nfunc int

	names, cus, files, pcs []byte // sub-tables, each from its start to the end of data
	funcs                  []byte // functab and the function records behind it
	functab                []byte // exactly nfunc pairs and the end address

	// offsets of the sub-tables from the header, to recognise moduledata
	nameOff, cuOff, fileOff, pcOff, funcOff uint64

	inline inlines
	budget *work.Budget
}

// Parse reads the header of data. text is the address of runtime.text; it is not used
// before Go 1.18. Inlined calls are not found; see [Open].
func Parse(data []byte, text uint64) (*Table, error) {
	t, err := header(data)
	if err != nil {
		return nil, fmt.Errorf("parse .gopclntab: %w", err)
	}
	t.inline.err = errors.New("inlined calls: the table alone does not say where their tree is")
	if t.version >= go118 {
		t.text = text
	} else if t.entry(t.nfunc) == 0 {
		return nil, errors.New("parse .gopclntab: the addresses of functions are filled in at load time, " +
			"the file does not hold them")
	}
	return t, nil
}

// header checks the first bytes and cuts the sub-tables out.
func header(data []byte) (*Table, error) {
	if len(data) < 16 {
		return nil, fmt.Errorf("header: %d bytes, expected at least 16", len(data))
	}
	t := &Table{data: data, order: binary.LittleEndian, quantum: uint64(data[6]), ptr: int(data[7])}
	v, ok := magics[binary.LittleEndian.Uint32(data)]
	if !ok {
		t.order = binary.BigEndian
		if v, ok = magics[binary.BigEndian.Uint32(data)]; !ok {
			return nil, fmt.Errorf("header: magic %#x is of no known Go release", binary.LittleEndian.Uint32(data))
		}
	}
	t.version = v
	if data[4] != 0 || data[5] != 0 ||
		t.quantum != 1 && t.quantum != 2 && t.quantum != 4 || t.ptr != 4 && t.ptr != 8 {
		return nil, fmt.Errorf("header: bytes % x are not zeros, instruction and pointer size", data[4:8])
	}
	if v == go12 {
		return t, t.cut12()
	}
	return t, t.cut()
}

// cut finds the sub-tables since Go 1.16: struct pcHeader in runtime/symtab.go.
func (t *Table) cut() error {
	first := 2 // word behind the two counts
	if t.version >= go118 {
		first = 3 // textStart, which Go 1.26 no longer fills in
	}
	if len(t.data) < 8+(first+5)*t.ptr {
		return fmt.Errorf("header: %d bytes, expected %d", len(t.data), 8+(first+5)*t.ptr)
	}
	for i, f := range []struct {
		name string
		off  *uint64
		part *[]byte
	}{
		{"function names", &t.nameOff, &t.names},
		{"compilation units", &t.cuOff, &t.cus},
		{"files", &t.fileOff, &t.files},
		{"pc tables", &t.pcOff, &t.pcs},
		{"functions", &t.funcOff, &t.funcs},
	} {
		off := t.word(t.data, first+i)
		if off > uint64(len(t.data)) {
			return fmt.Errorf("%s at %#x: table has %#x bytes", f.name, off, len(t.data))
		}
		*f.off, *f.part = off, t.data[off:]
	}
	return t.cutFunctab(t.funcs, t.word(t.data, 0))
}

// cut12 finds the sub-tables of Go 1.2 to 1.15, whose offsets all count from the header.
func (t *Table) cut12() error {
	t.names, t.pcs, t.funcs = t.data, t.data, t.data
	if err := t.cutFunctab(t.data[8+t.ptr:], t.word(t.data, 0)); err != nil {
		return err
	}
	behind := t.data[8+t.ptr+len(t.functab):]
	if len(behind) < 4 {
		return errors.New("files: table ends before their offset")
	}
	off := uint64(t.order.Uint32(behind))
	if off > uint64(len(t.data)) {
		return fmt.Errorf("files at %#x: table has %#x bytes", off, len(t.data))
	}
	t.files = t.data[off:]
	return nil
}

// cutFunctab takes n pairs and the end address from b.
func (t *Table) cutFunctab(b []byte, n uint64) error {
	field := t.field()
	if n > uint64(len(b))/uint64(2*field) || uint64(len(b)) < n*uint64(2*field)+uint64(field) {
		return fmt.Errorf("functions: %d of them do not fit in %d bytes", n, len(b))
	}
	t.nfunc = int(n)
	t.functab = b[:(2*t.nfunc+1)*field]
	return nil
}

// field is the size of one element of functab, bytes.
func (t *Table) field() int {
	if t.version >= go118 {
		return 4
	}
	return t.ptr
}

// word reads the i-th pointer-sized word behind the first 8 bytes of b.
func (t *Table) word(b []byte, i int) uint64 { return t.uint(b[8+i*t.ptr:], t.ptr) }

// uint reads 4 or 8 bytes.
func (t *Table) uint(b []byte, size int) uint64 {
	if size == 4 {
		return uint64(t.order.Uint32(b))
	}
	return t.order.Uint64(b)
}

// cstring reads the string at off, "" if it does not end in b.
func cstring(b []byte, off uint64) string {
	if off >= uint64(len(b)) {
		return ""
	}
	b = b[off:]
	if len(b) > maxString {
		b = b[:maxString]
	}
	if n := bytes.IndexByte(b, 0); n >= 0 {
		return string(b[:n])
	}
	return ""
}

// maxString bounds a name; generic functions reach some thousand bytes.
const maxString = 16 << 10

// Text is the address that function entries are relative to: runtime.text. It is 0 before Go 1.18.
func (t *Table) Text() uint64 { return t.text }

// Release says which releases of Go write this layout, for a person.
func (t *Table) Release() string {
	return [...]string{"Go 1.2 to 1.15", "Go 1.16 or 1.17", "Go 1.18 or 1.19", "Go 1.20 or later"}[t.version]
}
