// Package metadata reads what a HotSpot JVM knows of methods and classes: names, files, lines, fields. All of it lies
// in memory that does not move, and is freed when a class is unloaded.
//
// The caller provides the JVM's own tables and a View. Everything that is read is checked against what it must be, as
// an address may be stale.
//
// Source: src/hotspot/share/oops: method.hpp, constMethod.hpp, constantPool.hpp, symbol.hpp, klass.hpp.
package metadata

import (
	"errors"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/hotspot/unsigned5"
	"github.com/fpstack/fpstack/vm/hotspot/vmstructs"
)

// Layout is where fields are.
type Layout struct {
	constMethod                                        vmstructs.Place
	constants, nameIndex, signature, codeSize, flags   vmstructs.Place
	words                                              vmstructs.Place // of a ConstMethod, its size
	constSize                                          int64
	hasLines                                           int64
	holder, poolFile, poolLength                       vmstructs.Place
	poolSize                                           int64
	klassName, super, klassFile, klassConstants        vmstructs.Place
	symbolLength, symbolBody                           vmstructs.Place
	symbolShift                                        uint
	fields, fieldCount, fieldStream, length, elements  vmstructs.Place
	bits                                               fieldBits
	graph                                              mem.Addr // ClassLoaderDataGraph::_head
	nextLoader, loaderClasses, nextClass, mirror, size vmstructs.Place
	initThread, initState                              vmstructs.Place
	// initialising is the state of a class that is being initialised, -1 if that is not known.
	initialising int64
	// Coding is that of the numbers in tables of this JVM.
	Coding unsigned5.Coding
}

// fieldBits are numbers of flags in a stream of fields.
type fieldBits struct{ initialized, injected, generic, contended, flat, nullMarker int64 }

// ReadLayout takes the layout from the JVM's tables, of a JVM of that major version, and fails if something is missing
// without which no method is named.
func ReadLayout(t *vmstructs.Table, version int) (*Layout, error) {
	p := t.Pick()
	c, pool := "ConstMethod", "ConstantPool"
	l := &Layout{constMethod: p.Need("_constMethod", "Method"), constants: p.Need("_constants", c),
		nameIndex: p.Need("_name_index", c), signature: p.Need("_signature_index", c),
		codeSize: p.Need("_code_size", c), words: p.Need("_constMethod_size", c),
		flags:     p.Maybe("_flags", c),
		constSize: p.NeedSize(c), holder: p.Need("_pool_holder", pool), poolSize: p.NeedSize(pool),
		poolLength: p.Need("_length", pool),
		poolFile:   p.Maybe("_source_file_name_index", pool),
		klassFile:  p.Maybe("_source_file_name_index", "InstanceKlass"),
		klassName:  p.Need("_name", "Klass"), super: p.Need("_super", "Klass"),
		klassConstants: p.Need("_constants", "InstanceKlass"), initThread: p.Maybe("_init_thread", "InstanceKlass"),
		graph: p.Static("_head", "ClassLoaderDataGraph"), nextLoader: p.Maybe("_next", "ClassLoaderData"),
		loaderClasses: p.Maybe("_klasses", "ClassLoaderData"), nextClass: p.Maybe("_next_link", "Klass"),
		mirror: p.Maybe("_java_mirror", "Klass"), size: p.Maybe("_layout_helper", "Klass"),
		initState:    p.Maybe("_init_state", "InstanceKlass"),
		symbolLength: p.Maybe("_length", "Symbol"), symbolBody: p.Maybe("_body", "Symbol"),
		fields: p.Maybe("_fields", "InstanceKlass"), fieldCount: p.Maybe("_java_fields_count", "InstanceKlass"),
		fieldStream: p.Maybe("_fieldinfo_stream", "InstanceKlass"),
		length:      p.Maybe("_length", "Array<u1>", "Array<int>"), elements: p.Maybe("_data", "Array<u1>"),
	}
	if !l.flags.OK() {
		l.flags = p.Need("_flags._flags", c)
	}
	if !l.symbolBody.OK() {
		l.symbolBody = p.Need("_body[0]", "Symbol")
	}
	if !l.symbolLength.OK() { // JDK 12 to 16
		l.symbolLength, l.symbolShift = p.Need("_length_and_refcount", "Symbol"), 16
	}
	l.hasLines = constant(t, 1, "ConstMethod::_has_linenumber_table", "ConstMethodFlags::_misc_has_linenumber_table")
	l.initialising = constant(t, -1, "InstanceKlass::being_initialized")
	if version >= 20 {
		l.Coding = 1
	}
	bit := func(n string) int64 { return constant(t, -1, "FieldInfo::FieldFlags::_ff_"+n) }
	l.bits = fieldBits{bit("initialized"), bit("injected"), bit("generic"), bit("contended"), bit("flat"),
		bit("null_marker")}
	return l, p.Err()
}

// constant is the first of names that the JVM has, otherwise what else says.
func constant(t *vmstructs.Table, otherwise int64, names ...string) int64 {
	for _, n := range names {
		if v, ok := t.Constant(n); ok {
			return v
		}
	}
	return otherwise
}

// ErrNoMethod says that no method is at an address.
var ErrNoMethod = errors.New("no method is there")

// errLongName says that a name has more than maxSymbol bytes, as none has that is looked for.
var errLongName = errors.New("a name is too long")

const wordSize = 8
