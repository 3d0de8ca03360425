package wasmtime

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"github.com/fpstack/fpstack/mem"
)

// newExports returns the names by which a module exports functions, nil where they are not found. They are in
// .wasmtime.info, at whose beginning the module is: since v40 behind the number of a module, since v44 behind a pool of
// the texts that follow; its name, if it has one; its imports; its exports. All numbers are LEB128 (postcard). That a
// reading is right is seen by what it says: imports of functions number these from 0, and each exported function of the
// module's own is one that the host can enter, as entered says.
//
// Source: struct Module in crates/environ/src/module.rs of wasmtime. Seen in v22, v30, v40 and v44.
func newExports(at mem.Addr, info []byte, entered func(index int) bool) *fullNames {
	var found *fullNames
	for _, form := range []moduleInfo{{}, {numbered: true}, {numbered: true, pooled: true}} {
		form.b = info
		names := form.exports(entered)
		if form.failed || len(names) == 0 {
			continue
		}
		if found != nil {
			return nil // of two readings one is wrong
		}
		found = &fullNames{at, slices.Clone(info[:form.at]), names}
	}
	return found
}

// moduleInfo reads the beginning of .wasmtime.info in one form.
type moduleInfo struct {
	numbered, pooled bool

	b      []byte
	at     int
	failed bool
	pool   []nameRange
}

// maxExports bounds imports, exports and texts, of which each has at least two bytes.
const maxExports = 1 << 17

// entityFunction is that variant of EntityIndex; lastEntity is the last: a tag.
const (
	entityFunction = 0
	lastEntity     = 4
)

func (m *moduleInfo) number() uint64 {
	v, n := binary.Uvarint(m.b[m.at:])
	if n <= 0 {
		m.failed = true
		return 0
	}
	m.at += n
	return v
}

// count is the number of elements of a list.
func (m *moduleInfo) count() int {
	n := m.number()
	if n > maxExports || n > uint64(len(m.b)-m.at) {
		m.failed = true
		return 0
	}
	return int(n)
}

// literal is a text where it is; text is one that may be in the pool, by its number from 1.
func (m *moduleInfo) literal() nameRange {
	n := m.number()
	if m.failed || n > uint64(len(m.b)-m.at) || !utf8.Valid(m.b[m.at:m.at+int(n)]) {
		m.failed = true
		return nameRange{}
	}
	m.at += int(n)
	return nameRange{offset: uint32(m.at - int(n)), size: uint32(n)}
}

func (m *moduleInfo) text() nameRange {
	if !m.pooled {
		return m.literal()
	}
	i := m.number()
	if m.failed || i == 0 || i > uint64(len(m.pool)) {
		m.failed = true
		return nameRange{}
	}
	return m.pool[i-1]
}

// entity is what is imported or exported: its kind and number.
func (m *moduleInfo) entity() (kind, index uint64) {
	kind, index = m.number(), m.number()
	m.failed = m.failed || kind > lastEntity || index >= maxSymbols
	return kind, index
}

// exports are the exported functions of the module's own, by their index, the first name of each.
func (m *moduleInfo) exports(entered func(index int) bool) []nameRange {
	if m.numbered {
		m.number()
	}
	if m.pooled {
		for range m.count() {
			m.pool = append(m.pool, m.literal())
		}
	}
	switch m.number() { // Option<String>: a name
	case 0:
	case 1:
		m.text()
	default:
		m.failed = true
	}
	imported := uint64(0)
	for n := m.count(); n > 0 && !m.failed; n-- {
		m.failed = m.number() != 0 // of Initializer there is Import alone
		m.text()
		m.text()
		if kind, index := m.entity(); kind == entityFunction {
			m.failed = m.failed || index != imported
			imported++
		}
	}
	var out []nameRange
	for n := m.count(); n > 0 && !m.failed; n-- {
		name := m.text()
		kind, index := m.entity()
		if kind != entityFunction || index < imported {
			continue
		}
		name.index = uint32(index)
		m.failed = m.failed || !entered(int(index))
		out = append(out, name)
	}
	byIndex := func(a, b nameRange) int { return int(a.index) - int(b.index) }
	slices.SortStableFunc(out, byIndex)
	return slices.CompactFunc(out, func(a, b nameRange) bool { return a.index == b.index })
}
