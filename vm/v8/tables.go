package v8

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/symbol"
)

const (
	debugPrefix   = "v8dbg_"
	versionPrefix = "_ZN2v88internal7Version"
	builtinPrefix = "Builtins_"
	blobPrefix    = "v8_Default_embedded_blob_code_"
	bytecodeSizes = "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE"
)

// tables are what the symbols of an object with V8 give.
type tables struct {
	m     *module.Module
	data  map[string]module.Vaddr // of data, by name
	code  []builtin               // in any order
	sizes []byte                  // bytecode lengths: see heap.BaselineOffset; nil if not known
}

// readTables reads the symbols of m, nil if it has none of V8.
func readTables(m *module.Module) (*tables, error) {
	t := &tables{m: m, data: map[string]module.Vaddr{}}
	if err := symbol.Each(m, ".dynsym", t.add); err != nil {
		return nil, err
	}
	if err := symbol.Each(m, ".symtab", t.add); err != nil {
		return nil, err
	}
	if _, ok := t.data[debugPrefix+"SmiTagMask"]; !ok {
		return nil, nil
	}
	return t, nil
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
	case '_':
		if bytes.HasPrefix(name, []byte(versionPrefix)) {
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
	v, ok := t.data[name]
	if !ok {
		return 0, false
	}
	if b, ok := t.m.Loaded(v); ok && len(b) >= 4 {
		return int32(binary.LittleEndian.Uint32(b)), true
	}
	return 0, true
}

// builtins are the functions of V8 that are part of the object.
func (t *tables) builtins() *builtins {
	b := &builtins{list: t.code, sizes: t.sizes}
	slices.SortFunc(b.list, func(x, y builtin) int { return int(int64(x.start - y.start)) })
	b.start, b.end = t.blob()
	if b.end == 0 && len(b.list) > 0 {
		b.start, b.end = b.list[0].start, b.list[len(b.list)-1].end
	}
	for i := range b.list {
		b.list[i].classify(t.m)
	}
	return b
}

// blob is where they are, 0, 0 if that is not known. Source: src/snapshot/embedded/embedded-file-writer.cc.
func (t *tables) blob() (start, end module.Vaddr) {
	size, ok := t.constant(blobPrefix + "size_")
	if !ok || size <= 0 {
		return 0, 0
	}
	for _, name := range []string{"data_", ""} { // up to V8 10 the latter is a pointer to the former
		if v, ok := t.data[blobPrefix+name]; ok {
			return v, v + module.Vaddr(size)
		}
	}
	return 0, 0
}
