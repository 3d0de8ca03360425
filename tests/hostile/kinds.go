package hostile

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"

	"github.com/ulikunitz/xz"
)

// Kind is one way to be expensive.
type Kind struct {
	Name string
	// Make returns an object of about size bytes.
	Make func(size int) []byte
}

// Kinds are all of them.
var Kinds = []Kind{
	{"pclntab", Pclntab},
	{"symbols", Symbols},
	{"labels", Labels},
	{"segments", Segments},
	{"xz", MiniZeros},
	{"xz dictionaries", MiniDictionaries},
	{"zlib", InflatedZeros},
	{"plt", Stubs},
	{"names", SectionNames},
	{"cfi", Program},
	{"cies", Entries},
	{"dwarf units", Units},
	{"dwarf lines", Lines},
	{"branches", Branches},
}

// Pclntab has Go's table and data full of words that point to it, as moduledata does, beside as
// many relocations: each word is a candidate, and each candidate was compared with all relocations.
func Pclntab(size int) []byte {
	o := newObject()
	o.text()
	const names, cus, files, pcs, funcs = 72, 73, 74, 75, 80
	table := make([]byte, 128)
	le.PutUint32(table, 0xfffffff1) // Go 1.20 or later
	table[6], table[7] = 1, 8
	for i, v := range []uint64{1, 1, TextAt, names, cus, files, pcs, funcs} {
		le.PutUint64(table[8+8*i:], v)
	}
	le.PutUint32(table[funcs+8:], uint32(len(Code)))
	at := o.add(section{name: ".gopclntab", typ: progBits, flags: alloc, data: table})
	o.layout()
	data := make([]byte, size/2)
	for i := 0; i+8 <= len(data); i += 8 {
		le.PutUint64(data[i:], o.sections[at].at)
	}
	o.add(section{name: ".noptrdata", typ: progBits, flags: alloc, data: data})
	o.add(section{name: ".rela.dyn", typ: rela, flags: alloc, data: make([]byte, size/2), entSize: 24})
	return o.bytes()
}

// symtab adds .symtab and .strtab with n symbols, which each fills in; all have the same long name.
func (o *object) symtab(n, name int, each func(i int, sym []byte)) {
	text := o.text()
	strs := bytes.Repeat([]byte{'_'}, name+2)
	strs[0], strs[len(strs)-1] = 0, 0
	data := make([]byte, 24*n)
	for i := range n {
		b := data[24*i:]
		le.PutUint32(b, 1)
		b[4] = 1<<4 | 2 // global function
		le.PutUint16(b[6:], uint16(text))
		each(i, b)
	}
	link := o.add(section{name: ".strtab", typ: strTab, data: strs})
	o.add(section{name: ".symtab", typ: symTab, link: uint32(link), data: data, entSize: 24})
}

// nameLength is less than the longest name that is read.
const nameLength = 16<<10 - 16

// Symbols has symbols that begin at one place and cover all code: each is compared with the best
// so far at each wanted address, and the names decide.
func Symbols(size int) []byte {
	o := newObject()
	o.code = append(bytes.Clone(Code), make([]byte, 64<<10)...)
	o.symtab(size/24, nameLength, func(i int, b []byte) {
		le.PutUint64(b[8:], TextAt)
		le.PutUint64(b[16:], 1<<20)
	})
	return o.bytes()
}

// Labels has symbols without type and size, whose names have to be looked at before anything else.
func Labels(size int) []byte {
	o := newObject()
	o.symtab(size/24, nameLength, func(i int, b []byte) {
		b[4] = 1 << 4
		le.PutUint64(b[8:], TextAt)
	})
	return o.bytes()
}

// Segments has as many segments of code as a header can number, no section with code, and symbols
// that each ask which segment they lie in.
func Segments(size int) []byte {
	o := newObject()
	o.segments = min(size/2/56, 65000)
	o.symtab(size/2/24, 8, func(i int, b []byte) {
		le.PutUint64(b[8:], TextAt)
		le.PutUint64(b[16:], 12)
		le.PutUint16(b[6:], 1)
	})
	o.sections[1].flags = alloc
	return o.bytes()
}

// MiniZeros has 80 MB of zeros for an object in .gnu_debugdata, in some 12 KB.
func MiniZeros(int) []byte {
	var packed bytes.Buffer
	w, err := xz.WriterConfig{DictCap: 64 << 20}.NewWriter(&packed)
	must(err)
	zeros := make([]byte, 1<<20)
	for range 80 {
		_, err = w.Write(zeros)
		must(err)
	}
	must(w.Close())
	o := newObject()
	o.text()
	o.add(section{name: ".gnu_debugdata", typ: progBits, data: packed.Bytes()})
	return o.bytes()
}

// MiniDictionaries has blocks of one byte in .gnu_debugdata, each with a dictionary of its own of 64 MiB.
// Source: The .xz File Format 1.2.0.
func MiniDictionaries(size int) []byte {
	b := []byte("\xfd7zXZ\x00\x00\x01") // checked by CRC-32
	sum := func(of []byte) { b = le.AppendUint32(b, crc32.ChecksumIEEE(of)) }
	sum(b[6:])
	for len(b) < min(size, 1<<18) {
		at := len(b)
		b = append(b, 2, 0, 0x21, 1, 28, 0, 0, 0) // header of 12 bytes: LZMA2, 64 MiB
		sum(b[at:])
		b = append(b, 1, 0, 0, 'x', 0, 0, 0, 0) // one byte as it is, the end, padding
		sum([]byte{'x'})
	}
	o := newObject()
	o.text()
	o.add(section{name: ".gnu_debugdata", typ: progBits, data: append(b, make([]byte, 16)...)})
	return o.bytes()
}

// InflatedZeros has zeros for each section of lines, compressed by zlib: a thousandth of what they inflate to.
func InflatedZeros(size int) []byte {
	o := newObject()
	o.text()
	for _, name := range []string{".debug_info", ".debug_abbrev", ".debug_str", ".debug_line", ".debug_ranges",
		".debug_aranges"} {
		var packed bytes.Buffer
		n := uint64(size/6) * 1000
		head := make([]byte, 24) // Elf64_Chdr
		le.PutUint32(head, 1)    // ELFCOMPRESS_ZLIB
		le.PutUint64(head[8:], n)
		packed.Write(head)
		w, err := zlib.NewWriterLevel(&packed, zlib.BestCompression)
		must(err)
		zeros := make([]byte, 1<<20)
		for left := n; left > 0; left -= min(left, uint64(len(zeros))) {
			_, err = w.Write(zeros[:min(left, uint64(len(zeros)))])
			must(err)
		}
		must(w.Close())
		o.add(section{name: name, typ: progBits, flags: compressed, data: packed.Bytes()})
	}
	return o.bytes()
}

// Stubs has a linkage table for code, and relocations that are all kept to name its stubs.
func Stubs(size int) []byte {
	o := newObject()
	o.add(section{name: ".plt", typ: progBits, flags: alloc | exec, data: nil, size: uint64(len(Code))})
	o.sections[1].name = ".text" // is laid out at the code
	data := make([]byte, size/24*24)
	for i := 0; i < len(data); i += 24 {
		le.PutUint64(data[i:], uint64(i))
		le.PutUint64(data[i+8:], 7) // R_X86_64_JUMP_SLOT
	}
	o.add(section{name: ".rela.plt", typ: rela, data: data, entSize: 24})
	out := o.bytes()
	return bytes.Replace(out, []byte("\x00.text\x00"), []byte("\x00.plt\x00\x00"), 1)
}

// SectionNames has as many sections as their number can say, with names of some thousand bytes.
func SectionNames(size int) []byte {
	o := newObject()
	o.text()
	n := min(size/64, 60000)
	for range n {
		o.add(section{typ: noBits})
	}
	out := o.bytes()
	// The names are read from the code's zeros on: one string of 2 MB, of which each takes a part.
	names := bytes.Repeat([]byte{'n'}, 2<<20)
	for i := 4000; i < len(names); i += 4001 {
		names[i] = 0
	}
	shoff := le.Uint64(out[40:])
	strs := out[shoff+64*uint64(le.Uint16(out[62:])):]
	le.PutUint64(strs[24:], uint64(len(out)))
	le.PutUint64(strs[32:], uint64(len(names)))
	for i := range n {
		le.PutUint32(out[shoff+64*uint64(2+i):], 1<<20+uint32(i*17%(1<<20-1)))
	}
	return append(out, names...)
}

// ehFrame adds .eh_frame without a search table: one CIE, and what the caller appends.
func (o *object) ehFrame(size int, entries func(at uint64, b *bytes.Buffer)) {
	o.text()
	o.layout()
	at := (TextAt + uint64(len(o.code)) + 15) &^ 15
	var b bytes.Buffer
	entries(at, &b)
	o.add(section{name: ".eh_frame", typ: progBits, flags: alloc, data: b.Bytes()})
}

func word(b *bytes.Buffer, v uint32) { must(binary.Write(b, le, v)) }

// cie is a CIE of version 1 without augmentation: absolute addresses of 8 bytes, CFA = rsp+8.
func cie(b *bytes.Buffer) {
	// version, "", 1, -8, ra 16; def_cfa rsp 8; ra at cfa-8
	body := []byte{1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0}
	word(b, uint32(4+len(body)))
	word(b, 0)
	b.Write(body)
}

// fde is an FDE whose CIE is at offset of in the section, over n bytes from start on.
func fde(b *bytes.Buffer, of int, start, n uint64, program []byte) {
	word(b, uint32(4+16+len(program)))
	word(b, uint32(b.Len()-of))
	must(binary.Write(b, le, [2]uint64{start, n}))
	b.Write(program)
}

// Program has an FDE whose instructions remember and restore states of many rules, as many as one may have.
func Program(size int) []byte {
	o := newObject()
	o.ehFrame(size, func(_ uint64, b *bytes.Buffer) {
		cie(b)
		fde(b, 0, TextAt, 1<<16, append(make([]byte, min(size, 1<<20-16)), 0x0e, 16)) // nops
	})
	return o.bytes()
}

// Entries has nothing but CIEs and FDEs that each name another one of more than are remembered.
func Entries(size int) []byte {
	o := newObject()
	o.ehFrame(size, func(_ uint64, b *bytes.Buffer) {
		var at []int
		for range 4096 {
			at = append(at, b.Len())
			cie(b)
		}
		for i := 0; b.Len() < size; i++ {
			fde(b, at[i%len(at)], 1<<32+uint64(i), 1, nil)
		}
	})
	return o.bytes()
}

// dwarf adds .debug_info, .debug_abbrev and others.
func (o *object) dwarf(info, abbrev, line []byte) {
	o.text()
	o.add(section{name: ".debug_info", typ: progBits, data: info})
	o.add(section{name: ".debug_abbrev", typ: progBits, data: abbrev})
	if line != nil {
		o.add(section{name: ".debug_line", typ: progBits, data: line})
	}
}

// compileUnit is a unit of version 4 with what follows its header.
func compileUnit(b *bytes.Buffer, entries []byte) {
	word(b, uint32(7+len(entries)))
	b.Write([]byte{4, 0, 0, 0, 0, 0, 8})
	b.Write(entries)
}

// Units has many units that all claim the code, none by .debug_aranges, and entries without end.
func Units(size int) []byte {
	o := newObject()
	// 1: compile unit with children, low_pc addr, high_pc data4; 2: subprogram, the same
	abbrev := []byte{1, 0x11, 1, 0x11, 1, 0x12, 6, 0, 0, 2, 0x2e, 1, 0x11, 1, 0x12, 6, 0, 0, 0}
	entry := func(b *bytes.Buffer, code byte, n uint32) {
		b.WriteByte(code)
		must(binary.Write(b, le, uint64(TextAt)))
		word(b, n)
	}
	var info bytes.Buffer
	for i := 0; info.Len() < size; i++ {
		var unit bytes.Buffer
		entry(&unit, 1, uint32(1<<20-i%1000))
		for range 2000 {
			entry(&unit, 2, 1<<16)
		}
		compileUnit(&info, unit.Bytes())
	}
	o.dwarf(info.Bytes(), abbrev, nil)
	return o.bytes()
}

// Lines has one unit whose line program is nothing but rows of one address.
func Lines(size int) []byte {
	o := newObject()
	abbrev := []byte{1, 0x11, 0, 0x11, 1, 0x12, 6, 0x10, 6, 0, 0, 0} // with stmt_list data4
	var info, unit, line bytes.Buffer
	unit.WriteByte(1)
	must(binary.Write(&unit, le, uint64(TextAt)))
	word(&unit, 1<<20)
	word(&unit, 0)
	compileUnit(&info, unit.Bytes())
	head := []byte{1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 'f', 0, 0, 0, 0, 0}
	word(&line, uint32(2+4+len(head)+size+11))
	line.Write([]byte{2, 0})
	word(&line, uint32(len(head)))
	line.Write(head)
	line.Write([]byte{0, 9, 2})
	must(binary.Write(&line, le, uint64(TextAt)))
	line.Write(bytes.Repeat([]byte{1}, size)) // DW_LNS_copy
	o.dwarf(info.Bytes(), abbrev, line.Bytes())
	return o.bytes()
}

// Branches has code of branches alone, which no table covers, and one symbol that calls all of it a
// function: each way through it is tried.
func Branches(size int) []byte {
	o := newObject()
	o.code = append(bytes.Clone(Code), bytes.Repeat([]byte{0x75, 0x00, 0x53}, size/3)...)
	o.symtab(2, 8, func(i int, b []byte) {
		le.PutUint64(b[8:], TextAt)
		le.PutUint64(b[16:], uint64(len(o.code)))
	})
	return o.bytes()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
