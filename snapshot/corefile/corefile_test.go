package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
)

// file is one in memory.
type file struct {
	b    []byte
	most int // bytes that it takes, 0 for any number
}

func (f *file) WriteAt(b []byte, off int64) (int, error) {
	end := int(off) + len(b)
	if f.most > 0 && end > f.most {
		return 0, errors.New("no space left on device")
	}
	if end > len(f.b) {
		f.b = append(f.b, make([]byte, end-len(f.b))...)
	}
	return copy(f.b[off:], b), nil
}

func (f *file) Truncate(size int64) error {
	if int(size) > len(f.b) {
		f.b = append(f.b, make([]byte, int(size)-len(f.b))...)
	}
	f.b = f.b[:size]
	return nil
}

const page = 4096

// memory has pages filled with a byte; those that are not there cannot be read.
type memory struct {
	pages map[mem.Addr]byte
	reads int
}

func (m *memory) ReadMem(b []byte, addr mem.Addr) (int, error) {
	m.reads++
	done := 0
	for done < len(b) {
		at := addr + mem.Addr(done)
		fill, ok := m.pages[at&^(page-1)]
		if !ok {
			return done, &mem.FaultError{Addr: at, Len: len(b) - done, Err: mem.ErrUnmapped}
		}
		n := min(len(b)-done, page-int(at&(page-1)))
		copy(b[done:], bytes.Repeat([]byte{fill}, n))
		if at&(page-1) == 0 && fill == 0x7f {
			copy(b[done:], "\x7fELF")
		}
		done += n
	}
	return done, nil
}

func (m *memory) Held(from, end mem.Addr) (mem.Addr, mem.Addr) {
	for ; from < end; from += page {
		if _, ok := m.pages[from]; ok {
			return from, from + page
		}
	}
	return end, end
}

func mapping(start, end mem.Addr, perm maps.Perm, u maps.Usage) maps.Usage {
	u.Start, u.End, u.Perm = start, end, perm
	if u.Flags == "" {
		u.Flags = "mr mw me "
	}
	return u
}

// example is a program with a file, a heap with a page that was never touched and one that cannot be read, and a stack.
func example(a *regs.Arch) (*Process, *memory) {
	p := &Process{Arch: a, PageSize: page, PID: 77, Parent: 1, Group: 77, Session: 70, UID: 1000, GID: 100, State: 'S',
		Comm: "worker", Args: "worker -v", Auxv: make([]byte, 2*a.WordSize), Filter: DefaultFilter,
		Threads: []Thread{
			{TID: 77, SP: 0x7f001800, General: bytes.Repeat([]byte{0x11}, a.NoteSize), Blocked: 1 << 9,
				Sets: []Set{{SetType{ntFPRegSet, "CORE"}, []byte("float")}}},
			{TID: 79, SP: 0x7f001c00, General: bytes.Repeat([]byte{0x22}, a.NoteSize)}},
		Mappings: []maps.Usage{
			mapping(0x10000, 0x12000, maps.Read|maps.Exec, maps.Usage{
				Mapping: maps.Mapping{Inode: 5, Path: "/bin/worker"}, Resident: 2 * page}),
			mapping(0x12000, 0x13000, maps.Read, maps.Usage{
				Mapping: maps.Mapping{Inode: 6, Path: "/usr/share/data", Deleted: true}, Resident: page}),
			mapping(0x20000, 0x24000, maps.Read|maps.Write, maps.Usage{Anonymous: 3 * page, Resident: 3 * page}),
			mapping(0x30000, 0x31000, maps.Read|maps.Write, maps.Usage{Anonymous: page, Resident: page,
				Flags: "rd wr dd "}),
			mapping(0x7f000000, 0x7f002000, maps.Read|maps.Write, maps.Usage{Mapping: maps.Mapping{Path: "[stack]"},
				Anonymous: 2 * page, Resident: 2 * page}),
		}}
	m := &memory{pages: map[mem.Addr]byte{0x10000: 0x7f, 0x11000: 0x90, 0x12000: 1, 0x20000: 0xaa, 0x21000: 0,
		0x23000: 0xbb, 0x30000: 0xee, 0x7f000000: 0xcc, 0x7f001000: 0xdd}}
	return p, m
}

// Each form is read by another reader of ELF files, debug/elf.
func TestForms(t *testing.T) {
	for _, name := range []string{"amd64", "386", "arm64", "arm", "s390x", "ppc64le", "riscv64", "loong64"} {
		t.Run(name, func(t *testing.T) {
			a, _ := regs.Lookup(name)
			p, m := example(a)
			f := &file{}
			got, err := Write(f, p, m, Options{Limit: 1 << 30})
			if err != nil {
				t.Fatal(err)
			}
			want := Result{Size: int64(len(f.b)), Written: 5 * page, Threads: 2}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			e, err := elf.NewFile(bytes.NewReader(f.b))
			if err != nil {
				t.Fatal(err)
			}
			if e.Type != elf.ET_CORE || uint16(e.Machine) != a.Machine || e.ByteOrder != binary.ByteOrder(a.Order) {
				t.Errorf("header %+v", e.FileHeader)
			}
			var text string
			for _, s := range e.Progs[1:] {
				b := make([]byte, s.Filesz)
				s.ReadAt(b, 0)
				text += fmt.Sprintf("%#x %d/%d", s.Vaddr, s.Filesz, s.Memsz)
				for i := 0; i < len(b); i += page {
					text += fmt.Sprintf(" %02x", b[i+page-1])
				}
				text += "\n"
			}
			const segments = `0x10000 4096/8192 7f
0x12000 0/4096
0x20000 16384/16384 aa 00 00 bb
0x30000 0/4096
0x7f000000 8192/8192 cc dd
`
			if text != segments {
				t.Errorf("got segments\n%swant\n%s", text, segments)
			}
			if note := e.Progs[0]; note.Type != elf.PT_NOTE || note.Filesz != uint64(len(p.notes())) {
				t.Errorf("notes %+v", note)
			}
		})
	}
}

// What ends the copying leaves a whole core of what was copied by then: stacks and headers first.
func TestCut(t *testing.T) {
	late := errors.New("no time is left")
	steps := 0
	for _, tt := range []struct {
		name    string
		opt     Options
		written int64
		left    int64
		cut     error
		heap    uint64
	}{
		{"limit", Options{Limit: 4*page + 100}, 4 * page, 3 * page, ErrLimit, page},
		{"limit below the stacks", Options{Limit: page}, page, 7 * page, ErrLimit, 0},
		{"no limit left", Options{}, 0, 8 * page, ErrLimit, 0},
		{"disk", Options{Limit: 1 << 30, Room: func() int64 { return 0 }}, 0, 8 * page, ErrRoom, 0},
		{"time", Options{Limit: 1 << 30, Ended: func() error {
			if steps++; steps > 2 {
				return late
			}
			return nil
		}}, page, 6 * page, late, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, m := example(regs.AMD64)
			f := &file{}
			got, err := Write(f, p, m, tt.opt)
			if err != nil || got.Written != tt.written || got.Left != tt.left || got.Cut != tt.cut {
				t.Errorf("got %+v, %v; want %d written, %d left out for %v", got, err, tt.written, tt.left, tt.cut)
			}
			e, err := elf.NewFile(bytes.NewReader(f.b))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range e.Progs {
				if s.Off+s.Filesz > uint64(len(f.b)) {
					t.Errorf("segment %#x reaches to %#x of %#x bytes", s.Vaddr, s.Off+s.Filesz, len(f.b))
				}
			}
			if heap := e.Progs[3]; heap.Vaddr != 0x20000 || heap.Filesz != tt.heap {
				t.Errorf("the heap at %#x has %d bytes, want %d", heap.Vaddr, heap.Filesz, tt.heap)
			}
		})
	}
}

func TestUnreadable(t *testing.T) {
	p, m := example(regs.AMD64)
	p.Mappings[2].Perm |= maps.Shared // so that each page is read
	p.Mappings[2].Path, p.Mappings[2].Inode, p.Mappings[2].Deleted = "/dev/zero", 9, true
	f := &file{}
	if got, err := Write(f, p, m, Options{Limit: 1 << 30}); err != nil || got.Unread != page || got.Written != 5*page {
		t.Errorf("got %+v, %v; want one page that could not be read", got, err)
	}
	f = &file{most: 3 * page}
	if _, err := Write(f, p, m, Options{Limit: 1 << 30}); err == nil {
		t.Error("a full disk is no error")
	}
}

// A process that goes on mapping has more segments than an ELF header can count.
func TestManyMappings(t *testing.T) {
	for _, a := range []*regs.Arch{regs.AMD64, regs.I386} {
		p, m := example(a)
		p.Mappings = nil
		const many = 70000
		for i := range mem.Addr(many) {
			p.Mappings = append(p.Mappings, mapping(0x100000+2*i*page, 0x100000+(2*i+1)*page, maps.Read, maps.Usage{}))
		}
		f := &file{}
		if _, err := Write(f, p, m, Options{Limit: 1 << 30}); err != nil {
			t.Fatal(err)
		}
		at, entry := 64+56*(many+1), 44
		count, big := binary.LittleEndian.Uint16(f.b[56:]), binary.LittleEndian.Uint64(f.b[40:])
		if a.WordSize == 4 {
			at, entry = 52+32*(many+1), 28
			count, big = binary.LittleEndian.Uint16(f.b[44:]), uint64(binary.LittleEndian.Uint32(f.b[32:]))
		}
		if n := binary.LittleEndian.Uint32(f.b[at+entry:]); count != 0xffff || big != uint64(at) || n != many+1 {
			t.Errorf("%s: %d segments, section header at %#x counts %d; want it at %#x", a.Name, count, big, n, at)
		}
	}
	p, m := example(regs.AMD64)
	p.Mappings = make([]maps.Usage, MaxMappings+1)
	if _, err := Write(&file{}, p, m, Options{}); err == nil {
		t.Error("any number of mappings is taken")
	}
}

// nowhere is a file that nobody reads.
type nowhere struct{}

func (nowhere) WriteAt(b []byte, _ int64) (int, error) { return len(b), nil }
func (nowhere) Truncate(int64) error                   { return nil }

// A core of a 32-bit program cannot say of more than 4 GiB where it is.
func TestFourGigabytes(t *testing.T) {
	p, m := example(regs.I386)
	u := mapping(0x80000000, 0xf0000000, maps.Read|maps.Write, maps.Usage{Anonymous: page, Resident: 1 << 31})
	p.Mappings = append(p.Mappings[:4], u)
	u.Start, u.End = 0xf0000000, 0xf0001000
	for range 3 { // overlapping, as nothing checks that
		p.Mappings = append(p.Mappings, mapping(0x80000000, 0xf0000000, maps.Read|maps.Write, u))
	}
	got, err := Write(nowhere{}, p, m, Options{Limit: 1 << 30})
	if err != nil || got.Cut != ErrClass || got.Left != 2*0x70000000 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// The rule of core(5), bit by bit.
func TestFilter(t *testing.T) {
	file := func(shared maps.Perm, deleted bool, u maps.Usage) maps.Usage {
		u.Inode, u.Path, u.Deleted = 5, "/x", deleted
		return mapping(0x10000, 0x20000, maps.Read|shared, u)
	}
	anon := func(shared maps.Perm, u maps.Usage) maps.Usage { return mapping(0x10000, 0x20000, maps.Read|shared, u) }
	used := maps.Usage{Anonymous: page}
	flags := func(f string) maps.Usage { return maps.Usage{Anonymous: page, Flags: f} }
	for _, tt := range []struct {
		name string
		u    maps.Usage
		bit  Filter // each of them makes it whole, 0: nothing does
	}{
		{"anonymous", anon(0, used), anonPrivate},
		{"anonymous, swapped", anon(0, maps.Usage{Swapped: page}), anonPrivate},
		{"anonymous, never touched", anon(0, maps.Usage{}), 0},
		{"MADV_DONTDUMP", anon(0, flags("rd dd ")), 0},
		{"device", anon(0, flags("rd io ")), 0},
		{"huge pages", anon(0, flags("rd ht ")), hugePrivate},
		{"shared huge pages", anon(maps.Shared, flags("rd ht ")), hugeShared},
		{"shared without a file", file(maps.Shared, true, used), anonShared},
		{"shared file", file(maps.Shared, false, used), mappedShared},
		{"private file, written", file(0, false, used), anonPrivate | mappedPrivate},
		{"private file", file(0, false, maps.Usage{Mapping: maps.Mapping{Offset: page}}), mappedPrivate},
	} {
		for bit := Filter(1); bit <= hugeShared; bit <<= 1 {
			want := uint64(0)
			if bit&tt.bit != 0 {
				want = 0x10000
			}
			if got, _ := bit.Size(&tt.u, page); got != want && !(bit == elfHeaders && tt.u.IsFile() && got == page) {
				t.Errorf("%s, filter %#x: %d bytes, want %d", tt.name, bit, got, want)
			}
		}
	}
	head := file(0, false, maps.Usage{})
	if n, header := Filter(elfHeaders).Size(&head, page); n != page || !header {
		t.Errorf("of the begin of a file %d bytes belong into a core, header %v", n, header)
	}
	unknown := maps.Usage{Mapping: maps.Mapping{Start: 0x1000, End: 0x3000, Perm: maps.Read | maps.Write}}
	if n, _ := DefaultFilter.Size(&unknown, page); n != 0x2000 {
		t.Errorf("of memory whose usage is not known %d bytes belong into a core", n)
	}
	for text, want := range map[string]Filter{"00000033\n": 0x33, "7f": 0x7f, "": DefaultFilter, "x": DefaultFilter} {
		if got := ParseFilter([]byte(text)); got != want {
			t.Errorf("filter %q is %#x, want %#x", text, got, want)
		}
	}
}
