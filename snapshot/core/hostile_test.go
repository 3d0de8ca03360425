package core

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/work"
)

// holes is a file of zeros but for some pieces.
type holes struct {
	size   int64
	pieces map[int64][]byte
}

func (h *holes) ReadAt(b []byte, off int64) (int, error) {
	if off >= h.size {
		return 0, io.EOF
	}
	b = b[:min(int64(len(b)), h.size-off)]
	clear(b)
	for at, piece := range h.pieces {
		if from := max(at, off); from < off+int64(len(b)) && from < at+int64(len(piece)) {
			copy(b[from-off:], piece[from-at:])
		}
	}
	return len(b), nil
}

// exercise does all that is done with a core.
func exercise(r io.ReaderAt, size int64, files Files, b *work.Budget) (*Core, error) {
	c, err := Open(r, size, files, b)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var buf [64]byte
	image := c.Image()
	for i, m := range c.Maps.All() {
		if i == 1000 {
			break
		}
		_, _ = c.ReadMem(buf[:], m.Start)
		_, _ = c.ReadMem(buf[:], m.End-8)
		if m.IsFile() {
			_, _ = image.Mapping(&m)
		}
	}
	c.Batches(Wanted{Copiers: []snapshot.Copier{copyAtSP{}}}, func(*snapshot.Snapshot) {})
	c.Notes()
	return c, nil
}

// copyAtSP is a Copier.
type copyAtSP struct{}

func (copyAtSP) Copy(t *snapshot.Thread, f *snapshot.Fetcher) {
	sp, _ := t.Registers.SP()
	f.Fetch(snapshot.Want{Addr: sp, Len: 100}, snapshot.Want{Addr: mem.Addr(t.TID), Len: 16})
}

// TestHostile: cores that say too much of themselves cost neither memory nor time. They are refused, or what is there
// is shown and the rest reported.
func TestHostile(t *testing.T) {
	le := binary.LittleEndian
	thread := func() *drawing { return draw(regs.AMD64).thread(1, 11, at(regs.AMD64, 0x1000, 0x20100)) }
	plain := thread().load(0x20000, 0x1000, pfR|pfW, make([]byte, 4096)).bytes()
	edit := func(off int, v ...byte) []byte {
		b := bytes.Clone(plain)
		copy(b[off:], v)
		return b
	}
	many := func(n uint32) io.ReaderAt { // segments, as a file of holes that says it has so many
		b := bytes.Clone(plain)
		le.PutUint16(b[56:], pnXNum)
		le.PutUint64(b[40:], 1<<20)
		s0 := make([]byte, 64)
		le.PutUint32(s0[44:], n)
		return &holes{1 << 40, map[int64][]byte{0: b, 1 << 20: s0}}
	}
	overlapping := thread()
	for range 60_000 {
		overlapping.load(0x20000, 1<<40, pfR|pfW, nil)
	}
	cutting := thread()
	var entries []fileEntry
	for i := range 300_000 {
		start := mem.Addr(0x100000 + i*0x2000)
		entries = append(entries, fileEntry{start, start + 0x1000, 0, "/f" + string(rune('a'+i%20))})
	}
	cutting.files(entries...).load(0x1000, 1<<46, pfR|pfW, nil)
	manyFiles := thread()
	for i := range entries {
		entries[i].path = strings.Repeat("x", i%100) + string(rune('0'+i%1000))
	}
	manyFiles.files(entries...)
	circle := thread().auxv(atEntry, 0x1000, atExecFn, 0x20800)
	stack := make([]byte, 4096)
	copy(stack[0x800:], "/bin/x\x00")
	circle.load(0x20000, 0x1000, pfR|pfW, stack)
	huge := thread()
	for i := range 20_000 {
		huge.thread(i+2, 0, at(regs.AMD64, 1, 0x20100))
	}
	huge.load(0x20000, 1<<40, pfR|pfW, make([]byte, 4096))
	for _, row := range []struct {
		name string
		r    io.ReaderAt
		size int64
		most int // MB that are taken one after the other
	}{
		{"four thousand million segments", many(1<<32 - 1), 1 << 40, 100},
		{"a million segments", many(1 << 20), 1 << 40, 100},
		{"segments that overlap", bytes.NewReader(overlapping.bytes()), int64(len(overlapping.bytes())), 100},
		{"a segment cut by files", bytes.NewReader(cutting.bytes()), int64(len(cutting.bytes())), 500},
		{"as many files as entries", bytes.NewReader(manyFiles.bytes()), int64(len(manyFiles.bytes())), 500},
		{"notes without an end", bytes.NewReader(edit(64+32, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)), 1 << 50,
			100},
		{"notes of nothing", &holes{1 << 50, map[int64][]byte{0: edit(64+32, 0, 0, 0, 0, 0, 0, 0, 0x7f)}}, 1 << 50,
			300},
		{"headers of 64 KiB", bytes.NewReader(edit(54, 0xff, 0xff)), int64(len(plain)), 100},
		{"stacks of a terabyte", bytes.NewReader(huge.bytes()), int64(len(huge.bytes())), 2000},
		{"the list of the loader", bytes.NewReader(circle.bytes()), int64(len(circle.bytes())), 100},
	} {
		t.Run(row.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			b := work.New(work.Steps, work.Memory)
			_, err := exercise(row.r, row.size, Files{Path: func(string) (*module.File, error) {
				return nil, errors.New("none")
			}}, b)
			runtime.ReadMemStats(&after)
			steps, _ := b.Left()
			t.Logf("%v; %d steps, %d MB in all, %v", err, work.Steps-steps, (after.TotalAlloc-before.TotalAlloc)>>20,
				time.Since(began))
			if used := int((after.TotalAlloc - before.TotalAlloc) >> 20); used > row.most {
				t.Errorf("%d MB were taken one after the other, at most %d are wanted", used, row.most)
			}
		})
	}
}

// TestLoaderInCircle: a list of libraries that leads to its begin ends, and each is there once.
func TestLoaderInCircle(t *testing.T) {
	a := regs.AMD64
	file := program(7)
	dyn := draw(a)
	file = append(file[:0:0], file...)
	copy(file[64+2*56:], dyn.header(ptDynamic, pfR, 4096, 4096, 64, 64)) // in place of the note
	stack := make([]byte, 4096)
	put := func(off int, words ...uint64) {
		for i, w := range words {
			a.Order.PutUint64(stack[off+8*i:], w)
		}
	}
	put(0, 1, 0x20100)                             // r_debug
	put(0x100, 0x300000, 0x20400, 0, 0x20200)      // a library
	put(0x200, 0x300000, 0x20400, 0, 0x20100, 0x9) // again, and back
	copy(stack[0x400:], "/lib/l.so\x00")
	copy(stack[0x800:], "/bin/x\x00")
	d := draw(a).thread(1, 0, at(a, 1, 0x20000)).auxv(atEntry, 0x100000, atExecFn, 0x20800, atPhdr, 0x100040)
	dynamic := make([]byte, 4096)
	a.Order.PutUint64(dynamic, dtDebug)
	a.Order.PutUint64(dynamic[8:], 0x20000)
	d.load(0x20000, 4096, pfR|pfW, stack).load(0x101000, 4096, pfR|pfX, dynamic)
	opened := 0
	c := open(t, d.bytes(), Files{Unproved: true, Path: func(path string) (*module.File, error) {
		opened++
		return &module.File{Data: file, Path: path}, nil
	}})
	if c.Process.Exe != "/bin/x" || c.Maps.Find(0x301000) == nil || c.Maps.Find(0x301000).Path != "/lib/l.so" ||
		c.Maps.Find(0x101000).Path != "/bin/x" {
		t.Errorf("%q, %+v", c.Process.Exe, c.Maps.All())
	}
	if opened > maxLibraries+1 {
		t.Errorf("%d files were opened", opened)
	}
}

func FuzzOpen(f *testing.F) {
	for _, a := range regs.All {
		d := draw(a).thread(78, 11, at(a, 0x1000, 0x20100)).note("CORE", ntSigInfo, make([]byte, 128))
		d.note("CORE", ntPRPSInfo, make([]byte, 136)).note("LINUX", a.TLSNote(), make([]byte, 48))
		d.auxv(atPhdr, 0x1040, atRandom, 0x20800, atExecFn, 0x20900, atEntry, 0x1000)
		f.Add(d.files(fileEntry{0x1000, 0x2000, 0, "/bin/x"}, fileEntry{0x3000, 0x4000, 0x1000, "/bin/x (deleted)"}).
			load(0x1000, 0x1000, pfR|pfX, program(1)[:4096]).load(0x20000, 0x1000, pfR|pfW, make([]byte, 4096)).bytes())
	}
	f.Add(at1000(program(2)[:4096]).bytes())
	file := program(1)
	f.Fuzz(func(t *testing.T, b []byte) {
		files := Files{Unproved: len(b)%2 == 0, Path: func(path string) (*module.File, error) {
			return &module.File{Data: file, Path: path}, nil
		}}
		c, err := exercise(bytes.NewReader(b), int64(len(b)), files, work.New(1<<26, 64<<20))
		if (c == nil) == (err == nil) {
			t.Errorf("%v, %v", c, err)
		}
	})
}

// TestSparse: a core of 20 GB, nearly all of it holes, takes no more memory than a small one.
func TestSparse(t *testing.T) {
	d := draw(regs.AMD64).thread(1, 11, at(regs.AMD64, 0x1000, 0x100000000+20<<30-0x1000))
	d.load(0x100000000, 20<<30, pfR|pfW, nil)
	b := d.bytes()
	binary.LittleEndian.PutUint64(b[64+56+32:], 20<<30) // all of it is in the file
	word := []byte("the word")
	file := &holes{int64(len(b)) + 20<<30, map[int64][]byte{0: b, int64(len(b)) + 20<<30 - 64: word}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c, err := Open(file, file.size, Files{}, work.New(work.Steps, work.Memory))
	if err != nil || len(c.Problems()) > 0 {
		t.Fatal(err, c.Problems())
	}
	got := make([]byte, len(word))
	if _, err := c.ReadMem(got, 0x100000000+20<<30-64); err != nil || !bytes.Equal(got, word) {
		t.Errorf("read %q, %v", got, err)
	}
	c.Batches(Wanted{}, func(s *snapshot.Snapshot) {
		if n := len(s.Threads[0].Stack.Data); n != 0x1000+redZone {
			t.Errorf("the stack has %d bytes", n)
		}
	})
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 8 {
		t.Errorf("%d MB were taken", used)
	}
}
