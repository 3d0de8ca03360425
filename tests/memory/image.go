// Package memory draws the memory of a target, word by word. Tests alone.
package memory

import (
	"encoding/binary"

	"github.com/fpstack/fpstack/mem"
)

// Image is a memory that is drawn: labels stand for the addresses of the words that
// have them.
//
//	m := memory.NewImage(0x7ffe0000, 8, binary.LittleEndian)
//	m.Word(0x401136)             // return address
//	m.Label("fp").Word(0)        // saved frame pointer
type Image struct {
	start    mem.Addr
	wordSize int
	order    binary.ByteOrder
	data     []byte
	labels   map[string]mem.Addr
	refs     map[int]string
}

// NewImage returns an empty Image that begins at start.
func NewImage(start mem.Addr, wordSize int, order binary.ByteOrder) *Image {
	return &Image{start: start, wordSize: wordSize, order: order,
		labels: map[string]mem.Addr{}, refs: map[int]string{}}
}

// Label gives the next word a name.
func (m *Image) Label(name string) *Image {
	m.labels[name] = m.start + mem.Addr(len(m.data))
	return m
}

// Word appends one word.
func (m *Image) Word(v uint64) *Image {
	b := make([]byte, m.wordSize)
	if m.wordSize == 4 {
		m.order.PutUint32(b, uint32(v))
	} else {
		m.order.PutUint64(b, v)
	}
	m.data = append(m.data, b...)
	return m
}

// Ref appends one word that will hold the address of a label, which may come later.
func (m *Image) Ref(label string) *Image {
	m.refs[len(m.data)] = label
	return m.Word(0)
}

// Skip appends n words of a pattern that is no valid address.
func (m *Image) Skip(n int) *Image {
	for range n {
		m.Word(0xdead4b1ddead4b1d)
	}
	return m
}

// Bytes appends raw bytes.
func (m *Image) Bytes(b ...byte) *Image {
	m.data = append(m.data, b...)
	return m
}

// mem.Addr returns the address of a label. It panics if there is none.
func (m *Image) Addr(label string) mem.Addr {
	a, ok := m.labels[label]
	if !ok {
		panic("memory: no label " + label)
	}
	return a
}

// Range returns the drawn bytes with all references filled in.
func (m *Image) Range() mem.Range {
	out := append([]byte(nil), m.data...)
	for off, label := range m.refs {
		a := uint64(m.Addr(label))
		if m.wordSize == 4 {
			m.order.PutUint32(out[off:], uint32(a))
		} else {
			m.order.PutUint64(out[off:], a)
		}
	}
	return mem.Range{Start: m.start, Data: out}
}
