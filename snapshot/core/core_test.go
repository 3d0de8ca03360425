package core

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/work"
)

func open(t testing.TB, b []byte, files Files) *Core {
	t.Helper()
	c, err := Open(bytes.NewReader(b), int64(len(b)), files, work.New(work.Steps, work.Memory))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// at are registers of a thread there.
func at(a *regs.Arch, pc, sp uint64) *regs.Registers {
	r := regs.New(a)
	r.Set(a.PC, pc)
	r.Set(a.SP, sp)
	return &r
}

// batch is what Batches gives in one.
func batch(t testing.TB, c *Core, w Wanted) *snapshot.Snapshot {
	t.Helper()
	var out *snapshot.Snapshot
	whole := c.Batches(w, func(s *snapshot.Snapshot) { out = s })
	if whole != out {
		t.Fatal("more than one batch")
	}
	return whole
}

// TestEveryArch: threads, registers and memory of each architecture.
func TestEveryArch(t *testing.T) {
	for _, a := range regs.All {
		t.Run(a.Name, func(t *testing.T) {
			stack := bytes.Repeat([]byte{0x5a}, 4096)
			d := draw(a).thread(78, 11, at(a, 0x1000, 0x20100)).thread(77, 11, at(a, 0x1010, 0x20200))
			d.load(0x1000, 0x1000, pfR|pfX, nil).load(0x20000, 0x1000, pfR|pfW, stack)
			s := batch(t, open(t, d.bytes(), Files{}), Wanted{})
			if len(s.Threads) != 2 || s.Threads[0].TID != 78 || s.Threads[1].TID != 77 || s.Process.PID != 78 {
				t.Fatalf("threads %+v of process %d", s.Threads, s.Process.PID)
			}
			for i, want := range []uint64{0x20100, 0x20200} {
				th := &s.Threads[i]
				if sp, _ := th.Registers.SP(); uint64(sp) != want || th.Arch != a {
					t.Errorf("thread %d: SP %#x of %s, want %#x", i, uint64(sp), th.Arch.Name, want)
				}
				if th.Stack.Start != mem.Addr(want)-redZone || th.Stack.End() != 0x21000 || th.StackErr != nil {
					t.Errorf("thread %d: stack %#x-%#x, %v", i, uint64(th.Stack.Start), uint64(th.Stack.End()),
						th.StackErr)
				}
			}
			if s.Threads[0].Signal == nil || s.Threads[0].Signal.HasCode || s.Threads[1].Signal != nil {
				t.Errorf("signals %+v, %+v: want 11 without a code of the first alone", s.Threads[0].Signal,
					s.Threads[1].Signal)
			}
		})
	}
}

// TestNotesOfDropped: what follows a thread that is left out belongs to no other.
func TestNotesOfDropped(t *testing.T) {
	a := regs.ARM64
	tls := func(v uint64) []byte { return a.Order.(binary.AppendByteOrder).AppendUint64(nil, v) }
	d := draw(a).thread(78, 0, at(a, 0x1000, 0x20100)).note("LINUX", a.TLSNote(), tls(0x1110))
	d.note("LINUX", a.VectorNote(), append(make([]byte, 8), 64, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3))
	d.thread(78, 0, at(a, 0x1010, 0x20200)).note("LINUX", a.TLSNote(), tls(0x2220))
	d.note("CORE", ntPRStatus, []byte{1, 2, 3}).note("LINUX", a.TLSNote(), tls(0x3330))
	s := batch(t, open(t, d.bytes(), Files{}), Wanted{})
	if len(s.Threads) != 1 || s.Threads[0].TP != 0x1110 {
		t.Errorf("threads %+v, want one whose thread pointer is 0x1110", s.Threads)
	}
	if got := s.Threads[0].Registers.Vectors(); got != 64 {
		t.Errorf("vectors of %d bytes, want 64", got)
	}
}

// TestSignal: what a NT_SIGINFO says, and which signals are none that a process died by.
func TestSignal(t *testing.T) {
	info := func(a *regs.Arch, number, code int32, rest uint64) []byte {
		b := make([]byte, 128)
		a.Order.PutUint32(b, uint32(number))
		a.Order.PutUint32(b[8:], uint32(code))
		if a.WordSize == 8 {
			a.Order.PutUint64(b[16:], rest)
		} else {
			a.Order.PutUint32(b[12:], uint32(rest))
		}
		return b
	}
	for _, row := range []struct {
		name   string
		arch   *regs.Arch
		cursig uint16
		info   []byte
		want   *snapshot.Signal
	}{
		{"a fault", regs.AMD64, 11, info(regs.AMD64, 11, 1, 0x7fff12345678),
			&snapshot.Signal{Number: 11, Code: 1, HasCode: true, Addr: 0x7fff12345678, HasAddr: true}},
		{"a fault of 32 bits", regs.I386, 7, info(regs.I386, 7, 2, 0xfffff000),
			&snapshot.Signal{Number: 7, Code: 2, HasCode: true, Addr: 0xfffff000, HasAddr: true}},
		{"an address that is not canonical", regs.AMD64, 11, info(regs.AMD64, 11, siKernel, 0),
			&snapshot.Signal{Number: 11, Code: siKernel, HasCode: true}},
		{"sent by a process", regs.AMD64, 6, info(regs.AMD64, 6, siTkill, 4121),
			&snapshot.Signal{Number: 6, Code: siTkill, HasCode: true, Sender: 4121}},
		{"big-endian", regs.S390X, 8, info(regs.S390X, 8, 1, 0x1000),
			&snapshot.Signal{Number: 8, Code: 1, HasCode: true, Addr: 0x1000, HasAddr: true}},
		{"information of another signal", regs.AMD64, 11, info(regs.AMD64, 6, 0, 1), &snapshot.Signal{Number: 11}},
		{"information that is cut", regs.AMD64, 11, make([]byte, 20), &snapshot.Signal{Number: 11}},
		{"gcore of a process that goes on", regs.AMD64, 0, info(regs.AMD64, 0, 0, 0), nil},
		{"gcore of one that job control stopped", regs.AMD64, 19, info(regs.AMD64, 19, 0, 1), nil},
	} {
		d := draw(row.arch).thread(1, row.cursig, at(row.arch, 1, 2)).note("CORE", ntSigInfo, row.info)
		got := batch(t, open(t, d.bytes(), Files{}), Wanted{}).Threads[0].Signal
		if (got == nil) != (row.want == nil) || got != nil && *got != *row.want {
			t.Errorf("%s: %+v, want %+v", row.name, got, row.want)
		}
	}
}

// TestMappings: segments and entries of NT_FILE together, as the kernel and gdb write them.
func TestMappings(t *testing.T) {
	d := draw(regs.AMD64).thread(1, 0, at(regs.AMD64, 1, 2)).auxv(atVDSO, 0x7000, atRandom, 0x9100)
	d.load(0x1000, 0x1000, pfR, nil).load(0x2000, 0x1000, pfR|pfX, nil).load(0x5000, 0x3000, pfR|pfW, nil)
	d.load(0x9000, 0x1000, pfR|pfW, nil)
	d.files(fileEntry{0x1000, 0x2000, 0, "/bin/x"}, fileEntry{0x2000, 0x4000, 0x1000, "/bin/x"},
		fileEntry{0x6000, 0x7000, 0x5000, "/bin/y (deleted)"}, fileEntry{0x6800, 0x7000, 0, "/overlaps"})
	var got []string
	for _, m := range open(t, d.bytes(), Files{}).Maps.All() {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%x-%x %v %x %d %v %s", uint64(m.Start), uint64(m.End), m.Perm,
			m.Offset, m.Inode, m.Deleted, m.Path)))
	}
	want := []string{
		"1000-2000 r--p 0 1 false /bin/x", "2000-3000 r-xp 1000 1 false /bin/x",
		"3000-4000 r-xp 2000 1 false /bin/x", // gdb left it out
		"5000-6000 rw-p 0 0 false", "6000-7000 rw-p 5000 2 true /bin/y", "7000-8000 rw-p 0 0 false [vdso]",
		"9000-a000 rw-p 0 0 false [stack]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("mappings:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// program is a small ELF file with a build id, of two pages: one to read and one to execute.
func program(id byte) []byte {
	a := regs.AMD64
	d := draw(a)
	note := []byte("\x04\x00\x00\x00\x14\x00\x00\x00\x03\x00\x00\x00GNU\x00")
	note = append(note, bytes.Repeat([]byte{id}, 20)...)
	b := make([]byte, 64, 8192)
	copy(b, "\x7fELF\x02\x01\x01")
	a.Order.PutUint16(b[16:], 3)
	a.Order.PutUint16(b[18:], a.Machine)
	a.Order.PutUint64(b[32:], 64)
	a.Order.PutUint16(b[54:], 56)
	a.Order.PutUint16(b[56:], 3)
	b = append(b, d.header(ptLoad, pfR, 0, 0, 4096, 4096)...)
	b = append(b, d.header(ptLoad, pfR|pfX, 4096, 4096, 4096, 4096)...)
	b = append(b, d.header(ptNote, pfR, uint64(len(b)+56), 0, uint64(len(note)), uint64(len(note)))...)
	b = append(b, note...)
	b = append(b, make([]byte, 8192-len(b))...)
	copy(b[4096:], "code of the program")
	return b
}

// at1000 is a core of such a program at 0x1000, of which it has the first page.
func at1000(page []byte) *drawing {
	d := draw(regs.AMD64).thread(1, 0, at(regs.AMD64, 1, 2)).auxv(atPhdr, 0x1040)
	d.load(0x1000, 0x1000, pfR, page).load(0x2000, 0x1000, pfR|pfX, nil).load(0x3000, 0x1000, pfR|pfW, nil)
	return d.files(fileEntry{0x1000, 0x2000, 0, "/bin/x"}, fileEntry{0x2000, 0x3000, 0x1000, "/bin/x"},
		fileEntry{0x3000, 0x4000, 0x1000, "/bin/x"})
}

// TestFilesAreProved: memory that is not in the core comes from a file with the right build id alone, and never what
// could be written to.
func TestFilesAreProved(t *testing.T) {
	right, wrong, nameless := program(7), program(8), program(7)
	for i := 64 + 3*56; i < 64+3*56+48; i++ {
		nameless[i] = 0 // no build id
	}
	other := bytes.Clone(nameless)
	other[2000] = 1
	at := func(b []byte) func(string) (*module.File, error) {
		return func(path string) (*module.File, error) {
			if b == nil || path != "/bin/x" {
				return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
			}
			return &module.File{Data: b, Path: path}, nil
		}
	}
	for _, row := range []struct {
		name    string
		page    []byte // in the core
		files   Files
		found   bool
		problem string
		note    string
	}{
		{"the right one", right[:4096], Files{Path: at(right)}, true, "", ""},
		{"it is gone", right[:4096], Files{Path: at(nil)}, false, "(build id 0707", ""},
		{"another build id", right[:4096], Files{Path: at(wrong)}, false, "refuse", ""},
		{"another, and the right one by hand", right[:4096],
			Files{Path: at(wrong), Exe: &module.File{Data: right, Path: "/x"}}, true, "", ""},
		{"another by hand", right[:4096], Files{Path: at(right), Exe: &module.File{Data: wrong, Path: "/x"}}, true, "",
			`refuse "/x"`},
		{"by its build id", right[:4096], Files{Path: at(nil),
			ByID: func(id string) (*module.File, error) { return &module.File{Data: right, Path: id}, nil }}, true, "",
			""},
		{"no build id, the same page", nameless[:4096], Files{Path: at(nameless)}, true, "", "first page"},
		{"no build id, another page", nameless[:4096], Files{Path: at(other)}, false, "other bytes", ""},
		{"no page", nil, Files{Path: at(right)}, false, "cannot be told", ""},
		{"no page, below a root that was named", nil, Files{Path: at(right), Unproved: true}, true, "",
			"cannot be told"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := open(t, at1000(row.page).bytes(), row.files)
			defer c.Close()
			b := make([]byte, 19)
			n, err := c.ReadMem(b, 0x2000)
			if found := n == 19 && string(b) == "code of the program"; found != row.found || found != (err == nil) {
				t.Errorf("read %q, %v", b[:n], err)
			}
			if !row.found && !errors.Is(err, ErrNotInCore) {
				t.Errorf("read: %v, want ErrNotInCore", err)
			}
			if n, err := c.ReadMem(b, 0x3000); n != 0 || !errors.Is(err, ErrNotInCore) {
				t.Errorf("what could be written to was read: %q, %v", b[:n], err)
			}
			problems, notes := strings.Join(c.Problems(), "\n"), strings.Join(c.Notes(), "\n")
			if !strings.Contains(problems, row.problem) || row.problem == "" && problems != "" ||
				!strings.Contains(notes, row.note) || row.note == "" && notes != "" {
				t.Errorf("problems %q, notes %q; want %q, %q", problems, notes, row.problem, row.note)
			}
			if c.LacksFiles() == row.found {
				t.Errorf("LacksFiles %v", !row.found)
			}
		})
	}
}

// TestPagesOfOtherFiles: a file that is no ELF object is believed for pages that the core has of a mapping that was
// written to, if no more of them are other ones; the others are then read from it.
func TestPagesOfOtherFiles(t *testing.T) {
	file := make([]byte, 0x4000)
	for i := range file {
		file[i] = byte(i>>12) + 1
	}
	for _, row := range []struct {
		name     string
		written  []int // pages of the three that are dumped
		elf      bool
		unproved bool
		found    bool
		note     string
	}{
		{"two of three", []int{2}, false, false, true, "2 of 3 pages"},
		{"one of three", []int{1, 2}, false, false, false, ""},
		{"none", []int{0, 1, 2}, false, false, false, ""},
		{"none, below a root that was named", []int{0, 1, 2}, false, true, true, "cannot be told"},
		{"an ELF object: its data may stay when its code changes", nil, true, false, false, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			data := bytes.Clone(file)
			if row.elf {
				copy(data, program(7)[:4096])
			}
			memory := bytes.Clone(data[0x1000:])
			for _, page := range row.written {
				memory[page<<12+17] ^= 1
			}
			d := draw(regs.AMD64).thread(1, 0, at(regs.AMD64, 1, 2))
			d.load(0x1000, 0x1000, pfR, nil).load(0x2000, 0x3000, pfR|pfW, memory)
			d.files(fileEntry{0x1000, 0x2000, 0, "/lib/x.dll"}, fileEntry{0x2000, 0x5000, 0x1000, "/lib/x.dll"})
			c := open(t, d.bytes(), Files{Unproved: row.unproved, Path: func(path string) (*module.File, error) {
				return &module.File{Data: data, Path: path}, nil
			}})
			defer c.Close()
			b := make([]byte, 8)
			if _, err := c.ReadMem(b, 0x1000); (err == nil) != row.found {
				t.Errorf("read: %v", err)
			}
			if notes := strings.Join(c.Notes(), "\n"); !strings.Contains(notes, row.note) {
				t.Errorf("notes %q, want %q", notes, row.note)
			}
		})
	}
}

// TestAppendedIsNotProved: a build id proves the ELF object, and not what was appended to it.
func TestAppendedIsNotProved(t *testing.T) {
	for _, row := range []struct {
		end  uint64 // of the object
		note bool
	}{{0x1800, true}, {0x2000, false}, {0, false}} {
		file := program(7)
		if row.end > 0 {
			regs.AMD64.Order.PutUint64(file[40:], row.end-64)
			regs.AMD64.Order.PutUint16(file[58:], 64)
			regs.AMD64.Order.PutUint16(file[60:], 1)
		}
		c := open(t, at1000(file[:4096]).bytes(), Files{Path: func(path string) (*module.File, error) {
			return &module.File{Data: file, Path: path}, nil
		}})
		b := make([]byte, 8)
		for _, at := range []mem.Addr{0x2000, 0x2900, 0x2a00} {
			if _, err := c.ReadMem(b, at); err != nil {
				t.Fatal(err)
			}
		}
		notes := c.Notes()
		if said := len(notes) == 1 && strings.Contains(notes[0], "appended"); said != row.note || len(notes) > 1 {
			t.Errorf("object up to %#x: notes %q", row.end, notes)
		}
		c.Close()
	}
}

// TestSetAside: addresses that the process has set aside, which it may not use, are no memory that the core lacks.
func TestSetAside(t *testing.T) {
	d := draw(regs.AMD64).thread(1, 0, at(regs.AMD64, 1, 2)).load(0x1000, 0x1000, 0, nil).load(0x3000, 0x1000,
		pfR|pfW, nil)
	c := open(t, d.bytes(), Files{})
	defer c.Close()
	b := make([]byte, 8)
	if n, err := c.ReadMem(b, 0x1000); n != 0 || !errors.Is(err, mem.ErrUnmapped) {
		t.Errorf("set aside: %d bytes, %v, want that nothing is mapped", n, err)
	}
	if n, err := c.ReadMem(b, 0x3000); n != 0 || !errors.Is(err, ErrNotInCore) {
		t.Errorf("not written to the core: %d bytes, %v", n, err)
	}
}

// TestRelocatedIsNotMadeUp: what the loader wrote to and protected then looks as if nobody could have written to it.
func TestRelocatedIsNotMadeUp(t *testing.T) {
	file := program(7)
	copy(file[64+56:], draw(regs.AMD64).header(ptLoad, pfR|pfW, 4096, 4096, 4096, 4096))
	for _, page := range [][]byte{file[:4096], nil} {
		c := open(t, at1000(page).bytes(), Files{Unproved: true, Path: func(path string) (*module.File, error) {
			return &module.File{Data: file, Path: path}, nil
		}})
		b := make([]byte, 8)
		if n, err := c.ReadMem(b, 0x2000); n != 0 || !errors.Is(err, ErrNotInCore) {
			t.Errorf("read %q, %v", b[:n], err)
		}
		if n, err := c.ReadMem(b, 0x1000); n != 8 || err != nil {
			t.Errorf("the first page: %q, %v", b[:n], err)
		}
	}
}

// TestCutMemoryIsNotMadeUp: what the core should have, and does not as it is cut, is not taken from the file: it may be
// another there (relocated).
func TestCutMemoryIsNotMadeUp(t *testing.T) {
	file := program(7)
	d := at1000(file[:4096])
	d.loads[1].data = bytes.Repeat([]byte{1}, 4096)
	b := d.bytes()
	b = b[:len(b)-4096]
	c := open(t, b, Files{Path: func(path string) (*module.File, error) {
		return &module.File{Data: file, Path: path}, nil
	}})
	got := make([]byte, 8)
	if n, err := c.ReadMem(got, 0x2000); n != 0 || !errors.Is(err, ErrCut) {
		t.Errorf("read %q, %v; want ErrCut", got[:n], err)
	}
	if p := strings.Join(c.Problems(), "\n"); !strings.Contains(p, "cut short") {
		t.Errorf("problems %q", p)
	}
}

// TestCommandLine: the arguments are read from the stack, whole, if they are what the kernel says.
func TestCommandLine(t *testing.T) {
	for _, a := range []*regs.Arch{regs.AMD64, regs.I386} {
		args := []string{"./server", "--listen", strings.Repeat("x", 200), ""}
		const base, strs = 0x7ff10000, 0x7ff10800
		stack := make([]byte, 4096)
		d := draw(a)
		vector := d.word(nil, uint64(len(args)))
		at2 := strs
		for _, s := range args {
			vector = d.word(vector, uint64(at2))
			copy(stack[at2-base:], s)
			at2 += len(s) + 1
		}
		vector = d.word(vector, 0)
		for range 3 {
			vector = d.word(vector, uint64(at2)) // the environment
		}
		vector = d.word(vector, 0)
		auxv := []uint64{atPhdr, 0x1040, atRandom, strs - 16, 6, 4096, 17, 100, 3 + 100, 7}
		for _, v := range append(auxv, 0, 0) {
			vector = d.word(vector, v)
		}
		copy(stack[0x100:], vector)
		psinfo := make([]byte, 136)
		name := 40
		if a.WordSize == 4 {
			psinfo, name = psinfo[:124], 28
		}
		copy(psinfo[name:], "server")
		copy(psinfo[name+16:], strings.Join(args, " ")[:79])
		d.thread(9, 0, at(a, 1, base+0x80)).note("CORE", ntPRPSInfo, psinfo).auxv(auxv...)
		c := open(t, d.load(base, 4096, pfR|pfW, stack).bytes(), Files{})
		if !slices.Equal(c.Process.Cmdline, args) || c.Process.Comm != "server" {
			t.Errorf("%s: %q of %q", a.Name, c.Process.Cmdline, c.Process.Comm)
		}
		copy(stack[strs-base:], "./forged")
		c = open(t, d.bytes(), Files{})
		want := strings.TrimRight(strings.Join(args, " ")[:79], " ")
		if !slices.Equal(c.Process.Cmdline, []string{want}) {
			t.Errorf("%s: the stack says other than the kernel: %q", a.Name, c.Process.Cmdline)
		}
	}
}

// TestBatches: threads whose stacks are more than is held at once come in batches, the one that died first.
func TestBatches(t *testing.T) {
	a := regs.AMD64
	d := draw(a)
	const size = 1 << 20
	for i := range 100 {
		d.thread(1000-i, 6, at(a, 1, uint64(0x100000000)+uint64(i*2*size+redZone)))
	}
	zeros := make([]byte, 200<<10)
	for i := range 100 {
		d.load(uint64(0x100000000)+uint64(i*2*size), uint64(len(zeros)), pfR|pfW, zeros)
	}
	c := open(t, d.bytes(), Files{})
	var tids []int
	batches := 0
	whole := c.Batches(Wanted{}, func(s *snapshot.Snapshot) {
		batches++
		for i := range s.Threads {
			tids = append(tids, s.Threads[i].TID)
		}
	})
	if len(tids) != 100 || whole.Threads[0].TID != 1000 || whole.Threads[1].TID != 901 || whole.Batches != 1 {
		t.Errorf("%d threads in %d batches, %d and %d first", len(tids), batches, whole.Threads[0].TID,
			whole.Threads[1].TID)
	}
	if got := batch(t, c, Wanted{TIDs: []int{950, 7}}); len(got.Threads) != 1 || got.Threads[0].TID != 950 {
		t.Errorf("of one thread: %+v", got.Threads)
	}
}
