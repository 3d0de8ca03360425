package resolve_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
)

const (
	codeAt, codeSize = 0x10000, 0x1000
	stackAt          = 0x7ffe0000
)

// debugFrameOf is a .debug_frame with two functions: at codeAt+0x100 one with a frame of 32 bytes, at codeAt+0x200
// the outermost. Source: DWARF 5, section 6.4.1.
func debugFrameOf(a *regs.Arch) []byte {
	const column = 60 // of no register
	var out []byte
	entry := func(id uint32, fields ...byte) {
		fields = append(u32(a, nil, id), fields...)
		for len(fields)%8 != 4 {
			fields = append(fields, 0) // DW_CFA_nop
		}
		out = append(u32(a, out, uint32(len(fields))), fields...)
	}
	fde := func(start uint64, program ...byte) {
		entry(0, append(u64(a, u64(a, nil, start), 16), program...)...)
	}
	// Version 3, no augmentation, code alignment 1, data alignment -8; CFA = SP+32, the return address at CFA-8.
	entry(0xffffffff, 3, 0, 1, 0x78, column, 0x0c, byte(a.SP), 32, 0x80|column, 1)
	fde(codeAt + 0x100)
	fde(codeAt+0x200, 0x07, column) // DW_CFA_undefined
	return out
}

// objectOf is an ELF program of 64 bits with code at codeAt that nobody can read for its meaning, and
// one section. Source: System V gABI, chapters 4 and 5.
func objectOf(a *regs.Arch, name string, flags uint64, data []byte) []byte {
	names := "\x00.shstrtab\x00" + name + "\x00"
	dataAt := codeSize + codeSize
	namesAt := dataAt + len(data)
	sectionsAt := (namesAt + len(names) + 7) &^ 7
	b := make([]byte, sectionsAt+3*64)
	class := byte(1) // ELFDATA2LSB
	if a.Order == binary.ByteOrder(binary.BigEndian) {
		class = 2
	}
	copy(b, []byte{0x7f, 'E', 'L', 'F', 2, class, 1})
	half := func(at int, v int) { a.Order.PutUint16(b[at:], uint16(v)) }
	word := func(at int, v int) { a.Order.PutUint32(b[at:], uint32(v)) }
	wide := func(at int, v int) { a.Order.PutUint64(b[at:], uint64(v)) }
	half(16, 2) // ET_EXEC
	half(18, int(a.Machine))
	wide(32, 64) // e_phoff
	wide(40, sectionsAt)
	for i, v := range []int{56, 1, 64, 3, 1} { // sizes and numbers of headers, e_shstrndx
		half(54+2*i, v)
	}
	word(64, 1) // PT_LOAD
	word(68, 5) // r-x
	for i, v := range []int{codeSize, codeAt, codeAt, codeSize, codeSize} {
		wide(72+8*i, v)
	}
	copy(b[codeSize:], bytes.Repeat([]byte{0xcc}, codeSize)) // int3
	copy(b[dataAt:], data)
	copy(b[namesAt:], names)
	section := func(n, name, typ, flags, at, size int) {
		s := sectionsAt + 64*n
		word(s, name)
		word(s+4, typ)
		wide(s+8, flags)
		wide(s+24, at)
		wide(s+32, size)
	}
	section(1, 1, 3, 0, namesAt, len(names)) // SHT_STRTAB
	section(2, 11, 1, int(flags), dataAt, len(data))
	return b
}

// u32 and u64 append numbers of a's byte order.
func u32(a *regs.Arch, b []byte, v uint32) []byte {
	n := len(b)
	b = append(b, make([]byte, 4)...)
	a.Order.PutUint32(b[n:], v)
	return b
}

func u64(a *regs.Arch, b []byte, v uint64) []byte {
	n := len(b)
	b = append(b, make([]byte, 8)...)
	a.Order.PutUint64(b[n:], v)
	return b
}

// chdr is Elf64_Chdr and what was compressed.
func chdr(a *regs.Arch, kind uint32, size int, packed []byte) []byte {
	b := u32(a, u32(a, nil, kind), 0)
	return append(u64(a, u64(a, b, uint64(size)), 8), packed...)
}

func deflate(b []byte) []byte {
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	z.Write(b)
	z.Close()
	return out.Bytes()
}

// zstdOf is a frame of Zstandard with b, of less than 256 bytes, as one raw block.
// Source: RFC 8878, section 3.1.1.
func zstdOf(b []byte) []byte {
	const singleSegment, lastBlock = 0x20, 1
	head := binary.LittleEndian.AppendUint32(nil, 0xfd2fb528)
	head = append(head, singleSegment, byte(len(b)))
	size := len(b)<<3 | lastBlock
	return append(append(head, byte(size), byte(size>>8), byte(size>>16)), b...)
}

// The walk reads .debug_frame in each form that it is written in.
func TestWalkByDebugFrame(t *testing.T) {
	const compressed = 0x800 // SHF_COMPRESSED
	for _, a := range []*regs.Arch{regs.AMD64, regs.S390X} {
		frames := debugFrameOf(a)
		old := binary.BigEndian.AppendUint64([]byte("ZLIB"), uint64(len(frames)))
		for _, tc := range []struct {
			name, section string
			flags         uint64
			data          []byte
			want, why     string
		}{
			{"as it is", ".debug_frame", 0, frames, "10108(context) 10204(cfi) root", ""},
			{"zlib", ".debug_frame", compressed, chdr(a, 1, len(frames), deflate(frames)),
				"10108(context) 10204(cfi) root", ""},
			{"Zstandard", ".debug_frame", compressed, chdr(a, 2, len(frames), zstdOf(frames)),
				"10108(context) 10204(cfi) root", ""},
			{"of older GNU tools", ".zdebug_frame", 0, append(old, deflate(frames)...),
				"10108(context) 10204(cfi) root", ""},
			{"unknown compression", ".debug_frame", compressed, chdr(a, 3, len(frames), frames),
				"10108(context) no rule", "compression 3 is not known"},
			{"too large", ".debug_frame", compressed, chdr(a, 1, 200<<20, deflate(frames)), "10108(context) no rule",
				"more than is inflated by default"},
			{"none", ".comment", 0, frames, "10108(context) no rule", "no FDE covers the address"},
		} {
			t.Run(a.Name+"/"+tc.name, func(t *testing.T) {
				table := maps.NewTable([]maps.Mapping{
					{Start: codeAt, End: codeAt + codeSize, Perm: maps.Read | maps.Exec, Offset: codeSize, Inode: 1,
						Path: "/x"},
					{Start: stackAt, End: stackAt + 0x10000, Perm: maps.Read | maps.Write, Path: "[stack]"},
				})
				file := objectOf(a, tc.section, tc.flags, tc.data)
				set := module.NewSet(table, module.Image{Mapping: func(*maps.Mapping) (*module.File, error) {
					return &module.File{Data: file, Path: "/x"}, nil
				}})

				names := resolve.New(set, resolve.Options{})
				stack := memory.NewImage(stackAt, 8, a.Order).Skip(3).Word(codeAt + 0x204).Skip(8).Range()
				r := regs.New(a)
				r.Set(a.PC, codeAt+0x108)
				r.Set(a.SP, stackAt)
				th := &snapshot.Thread{TID: 1, Registers: &r, Stack: stack}
				s := unwind.NewWalker(set, names).Walk(th, mem.NewOverlay(nil, stack), unwind.Options{})
				var got strings.Builder
				for _, f := range s.Frames {
					fmt.Fprintf(&got, "%x(%v) ", uint64(f.PC), f.Origin)
				}
				if got.WriteString(s.Stop.String()); got.String() != tc.want {
					t.Errorf("got  %s (%v)\nwant %s", got.String(), s.Err, tc.want)
				}
				if fmt.Sprint(s.Err) != tc.why && !strings.Contains(fmt.Sprint(s.Err), tc.why) {
					t.Errorf("got reason %v, want %q in it", s.Err, tc.why)
				}
			})
		}
	}
}
