package v8

import (
	"bytes"
	"encoding/binary"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/symbol"
)

const (
	debugPrefix   = "v8dbg_"
	versionPrefix = "_ZN2v88internal7Version"
	builtinPrefix = "Builtins_"
	nodePrefix    = "nodedbg_"

	nodeVTablePrefix = "_ZTVN4node"
	blobPrefix       = "v8_Default_embedded_blob_code_"
	bytecodeSizes    = "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE"
)

// tables are what the symbols of an object with V8 give. Most objects that a dump meets have none of V8, and most dumps
// of one with V8 show none of its code: names are looked up by the hash table where there is one, and the builtins are
// read when a frame is in V8's code.
type tables struct {
	m       *module.Module
	port    *port
	dynamic *symbol.Dynamic         // nil: data has all
	data    map[string]module.Vaddr // of data, by name
	code    []builtin               // in any order
	sizes   []byte                  // bytecode lengths: see heap.BaselineOffset; nil if not known
}

// marker is a symbol that each V8 with debugging symbols has.
const marker = debugPrefix + "SmiTagMask"

// findTables returns the tables of m, nil if it has none of V8.
func findTables(m *module.Module, p *port) (*tables, error) {
	t := &tables{m: m, port: p, dynamic: symbol.OpenDynamic(m)}
	if t.dynamic != nil {
		if _, _, ok := t.dynamic.Lookup(marker); ok {
			return t, nil
		}
	}
	t.dynamic = nil
	if !symbol.MayDefine(m, ".dynsym", marker) && !symbol.MayDefine(m, ".symtab", marker) {
		return nil, nil
	}
	if err := t.readAll(); err != nil {
		return nil, err
	}
	if _, ok := t.data[marker]; !ok {
		return nil, nil
	}
	return t, nil
}

// readAll reads all symbols, once.
func (t *tables) readAll() error {
	if t.data != nil {
		return nil
	}
	t.data = map[string]module.Vaddr{}
	if err := symbol.Each(t.m, ".dynsym", t.add); err != nil {
		return err
	}
	return symbol.Each(t.m, ".symtab", t.add)
}

// at is where a symbol of data is.
func (t *tables) at(name string) (module.Vaddr, bool) {
	if v, ok := t.data[name]; ok || t.dynamic == nil {
		return v, ok
	}
	v, _, ok := t.dynamic.Lookup(name)
	return v, ok
}

// add keeps a symbol that is of use. Nothing is done to the many others.
func (t *tables) add(name []byte, v module.Vaddr, size uint64) bool {
	if len(name) < len(debugPrefix) {
		return true
	}
	switch name[0] {
	case 'v':
		if bytes.HasPrefix(name, []byte(debugPrefix)) || bytes.HasPrefix(name, []byte(blobPrefix)) {
			t.data[string(name)] = v
		}
	case 'n':
		if bytes.HasPrefix(name, []byte(nodePrefix)) {
			t.data[string(name)] = v
		}
	case '_':
		if bytes.HasPrefix(name, []byte(versionPrefix)) || bytes.HasPrefix(name, []byte(nodeVTablePrefix)) {
			t.data[string(name)] = v
		} else if string(name) == bytecodeSizes {
			b, _ := t.m.Loaded(v)
			t.sizes = b[:min(uint64(len(b)), size)]
		}
	case 'B':
		if bytes.HasPrefix(name, []byte(builtinPrefix)) {
			t.code = append(t.code, builtin{start: v, end: v + module.Vaddr(size),
				name: string(name[len(builtinPrefix):])})
		}
	}
	return true
}

// constant is the int32 at a symbol: 0 for one in .bss.
func (t *tables) constant(name string) (int32, bool) {
	v, ok := t.at(name)
	if !ok {
		return 0, false
	}
	if b, ok := t.m.Loaded(v); ok && len(b) >= 4 {
		return int32(binary.LittleEndian.Uint32(b)), true
	}
	return 0, true
}

// builtins are the functions of V8 that are part of the object: where they are, if that takes no more than looking up
// names, or all.
func (t *tables) builtins() *builtins {
	b := &builtins{unread: t}
	if b.start, b.end = t.blob(); b.end == 0 {
		b.start, b.end = t.returned()
	}
	if b.end == 0 {
		b.read()
	}
	return b
}
