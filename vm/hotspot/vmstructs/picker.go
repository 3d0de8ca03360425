package vmstructs

import (
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// Place is where a field is in its structure. The zero Place is that of a field that the JVM does not have.
type Place struct {
	Offset int64
	Size   int // bytes; 0: there is no such field
	Signed bool
}

// OK reports whether the JVM has the field.
func (p Place) OK() bool { return p.Size != 0 }

// End is behind the field, from the begin of its structure.
func (p Place) End() int64 { return p.Offset + int64(p.Size) }

// Of reads the field of the structure that f is of; 0 if there is no such field.
func (p Place) Of(f *view.Fields) int64 {
	if !p.OK() {
		return 0
	}
	n := f.Uint(p.Offset, p.Size)
	if shift := 64 - 8*p.Size; p.Signed {
		return int64(n<<shift) >> shift
	}
	return int64(n)
}

// Addr is Of for an address.
func (p Place) Addr(f *view.Fields) mem.Addr { return mem.Addr(p.Of(f)) }

// sizes are those of types of C++ that are signed, or not described.
var sizes = map[string]Place{
	"int": signed4, "jint": signed4, "int32_t": signed4, "pid_t": signed4, "OSThread::thread_id_t": signed4,
	"Bytecodes::Code": signed4,
	"uint":            {Size: 4}, "const uint": {Size: 4}, "unsigned int": {Size: 4}, "juint": {Size: 4},
	"u4":       {Size: 4},
	"uint32_t": {Size: 4}, "narrowKlass": {Size: 4}, "JavaThreadState": {Size: 4}, "ThreadState": {Size: 4},
	"int16_t": {Size: 2, Signed: true}, "short": {Size: 2, Signed: true},
	"u2": {Size: 2}, "jushort": {Size: 2}, "uint16_t": {Size: 2}, "unsigned short": {Size: 2},
	"u1": {Size: 1}, "bool": {Size: 1}, "uint8_t": {Size: 1}, "unsigned char": {Size: 1}, "CompLevel": {Size: 1},
	"CodeBlobKind": {Size: 1},
}

var signed4 = Place{Size: 4, Signed: true}

// place is where f is. How wide a type is the JVM says of most; what it does not know is a word, as pointers are.
func (t *Table) place(f Field) Place {
	typ := strings.TrimPrefix(f.Type, "volatile ")
	p, known := sizes[typ]
	if !known {
		p = Place{Size: wordSize}
		if n := t.sizes[typ]; n == 1 || n == 2 || n == 4 {
			p.Size = int(n)
		}
	}
	p.Offset = f.Offset
	return p
}

// maxOffset bounds a structure: a JavaThread of JDK 25 has 2,216 bytes.
const maxOffset = 1 << 14

// Picker takes fields out of a Table, and gathers which are missing.
type Picker struct {
	t       *Table
	missing []string
}

// Pick returns a Picker of t.
func (t *Table) Pick() *Picker { return &Picker{t: t} }

// Maybe is a field of one of owners, the zero Place if none has it.
func (p *Picker) Maybe(field string, owners ...string) Place {
	f, ok := p.t.Lookup(field, owners...)
	if !ok || f.At != 0 {
		return Place{}
	}
	if f.Offset < 0 || f.Offset > maxOffset {
		p.missing = append(p.missing, fmt.Sprintf("%s::%s (it is at %d)", owners[0], field, f.Offset))
		return Place{}
	}
	return p.t.place(f)
}

// Need is Maybe of a field that must be there.
func (p *Picker) Need(field string, owners ...string) Place {
	at := p.Maybe(field, owners...)
	if !at.OK() {
		p.missing = append(p.missing, owners[0]+"::"+field)
	}
	return at
}

// Static is where a static field of one of owners is, 0 if none has it.
func (p *Picker) Static(field string, owners ...string) mem.Addr {
	f, _ := p.t.Lookup(field, owners...)
	return f.At
}

// NeedStatic is Static of a field that must be there.
func (p *Picker) NeedStatic(field string, owners ...string) mem.Addr {
	at := p.Static(field, owners...)
	if at == 0 {
		p.missing = append(p.missing, owners[0]+"::"+field)
	}
	return at
}

// NeedSize is the size of the first of types that the JVM knows.
func (p *Picker) NeedSize(types ...string) int64 {
	for _, t := range types {
		if n, ok := p.t.Size(t); ok && n <= maxOffset {
			return n
		}
	}
	p.missing = append(p.missing, "the size of "+types[0])
	return 0
}

// Err says which fields that must be there are not, nil if all are.
func (p *Picker) Err() error {
	if len(p.missing) == 0 {
		return nil
	}
	return fmt.Errorf("the JVM does not describe %s", strings.Join(p.missing, ", "))
}
