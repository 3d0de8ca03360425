// Package hostile makes ELF objects that are as expensive to read as their format allows, for
// tests alone: a process may map thousands of them, and fpstack often runs as root.
//
// It guarantees that each object is one that the kernel maps and that a stack can lie in: its code
// is a function that calls the next one of a list (see [Code]), so that a program which maps N of
// them has a frame in each.
//
// Sources: System V gABI chapters 4 and 5; what each kind aims at is described where it is made.
package hostile

import (
	"bytes"
	"encoding/binary"
)

var le = binary.LittleEndian

// Constants of elf.h.
const (
	progBits, symTab, strTab, rela, noBits = 1, 2, 3, 4, 8
	alloc, exec, compressed                = 2, 4, 0x800
)

// TextAt is where the code of each object lies: file offset and link address.
const TextAt = 0x1000

// Code is a function f(list): it pushes a frame record, calls the next of the list, and returns.
//
//	push %rbp; mov %rsp,%rbp; add $8,%rdi; call *(%rdi); pop %rbp; ret
var Code = []byte{0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xc7, 0x08, 0xff, 0x17, 0x5d, 0xc3}

// ReturnAt is the address behind the call in Code.
const ReturnAt = TextAt + 10

// section is one section of an object. Its address is its offset in the file.
type section struct {
	name        string
	typ, link   uint32
	flags, size uint64 // size of one without bytes
	entSize     uint64
	data        []byte
	at          uint64
}

// object is laid out by bytes: header, code, sections, section headers, program headers.
type object struct {
	sections []section
	code     []byte // from TextAt on
	segments int    // program headers besides the first
}

func newObject() *object { return &object{code: Code, sections: []section{{}}} }

// add appends a section and returns its number.
func (o *object) add(s section) int {
	o.sections = append(o.sections, s)
	return len(o.sections) - 1
}

// text adds .text.
func (o *object) text() int {
	return o.add(section{name: ".text", typ: progBits, flags: alloc | exec, data: nil, size: uint64(len(o.code))})
}

// layout places the sections and returns where the last one ends.
func (o *object) layout() (end uint64) {
	end = TextAt + uint64(len(o.code))
	for i := range o.sections {
		s := &o.sections[i]
		end = (end + 15) &^ 15
		s.at = end
		if s.name == ".text" {
			s.at = TextAt
		}
		end += uint64(len(s.data))
	}
	return end
}

// bytes is the whole file.
func (o *object) bytes() []byte {
	var names bytes.Buffer
	offsets := make([]uint32, len(o.sections)+1)
	for i, s := range o.sections {
		offsets[i] = uint32(names.Len())
		names.WriteString(s.name + "\x00")
	}
	strs := o.add(section{name: ".shstrtab", typ: strTab})
	offsets[strs] = uint32(names.Len())
	names.WriteString(".shstrtab\x00")
	o.sections[strs].data = names.Bytes()
	end := (o.layout() + 7) &^ 7
	headers := end + 64*uint64(len(o.sections))
	out := make([]byte, headers+56*uint64(1+o.segments))
	copy(out, "\x7fELF\x02\x01\x01")
	le.PutUint16(out[16:], 3)  // ET_DYN
	le.PutUint16(out[18:], 62) // EM_X86_64
	le.PutUint32(out[20:], 1)
	le.PutUint64(out[32:], headers) // e_phoff
	le.PutUint64(out[40:], end)     // e_shoff
	le.PutUint16(out[52:], 64)
	le.PutUint16(out[54:], 56)
	le.PutUint16(out[56:], uint16(1+o.segments))
	le.PutUint16(out[58:], 64)
	le.PutUint16(out[60:], uint16(len(o.sections)))
	le.PutUint16(out[62:], uint16(strs))
	o.putSegments(out, out[headers:])
	copy(out[TextAt:], o.code)
	for i, s := range o.sections {
		copy(out[s.at:], s.data)
		h := out[end+64*uint64(i):]
		le.PutUint32(h, offsets[i])
		le.PutUint32(h[4:], s.typ)
		le.PutUint64(h[8:], s.flags)
		le.PutUint64(h[16:], s.at)
		le.PutUint64(h[24:], s.at)
		le.PutUint64(h[32:], max(uint64(len(s.data)), s.size))
		le.PutUint32(h[40:], s.link)
		le.PutUint64(h[48:], 1)
		le.PutUint64(h[56:], s.entSize)
	}
	return out
}

// putSegments writes the program headers: the first loads the whole file to be executed, the
// others some bytes that nobody asks for.
func (o *object) putSegments(out, headers []byte) {
	for i := range 1 + o.segments {
		h := headers[56*i:]
		at, size := uint64(0), uint64(len(out))
		if i < o.segments { // the true one comes last
			at, size = 1<<40+uint64(i)<<12, 1
		}
		le.PutUint32(h, 1)     // PT_LOAD
		le.PutUint32(h[4:], 5) // r x
		le.PutUint64(h[16:], at)
		le.PutUint64(h[24:], at)
		le.PutUint64(h[32:], size)
		le.PutUint64(h[40:], size)
		le.PutUint64(h[48:], 0x1000)
	}
}
