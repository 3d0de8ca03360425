package coreclr

import (
	"encoding/binary"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// drawn is memory that is made of a pattern: each word is 0, a small number or an address in it.
type drawn struct {
	mem.Range
	reads int
}

const (
	drawnStart = 0x100000
	drawnSize  = 1 << 18
)

func draw(pattern []byte) *drawn {
	d := &drawn{Range: mem.Range{Start: drawnStart, Data: make([]byte, drawnSize)}}
	for i := uint64(0); i < drawnSize && len(pattern) > 0; i += wordSize {
		h := (i + wordSize) * 0x9e3779b97f4a7c15
		b := uint64(pattern[h>>32%uint64(len(pattern))])
		w := drawnStart + (h>>20^b<<9)%drawnSize&^7
		switch b & 3 {
		case 0:
			w = b >> 2 & 0xf
		case 1:
			w = b>>2 | (h&0xffff)<<32
		}
		binary.LittleEndian.PutUint64(d.Data[i:], w)
	}
	return d
}

func (d *drawn) word(a mem.Addr) uint64 { return binary.LittleEndian.Uint64(d.Data[a-drawnStart:]) }

// ReadMem implements mem.Reader.
func (d *drawn) ReadMem(b []byte, a mem.Addr) (int, error) {
	d.reads++
	if a < drawnStart || a >= drawnStart+drawnSize {
		return 0, &mem.FaultError{Addr: a}
	}
	n := copy(b, d.Data[a-drawnStart:])
	if n < len(b) {
		return n, &mem.FaultError{Addr: a + mem.Addr(n)}
	}
	return n, nil
}

// FuzzMemory: whatever the memory of a process holds, sections, threads, names, locks, joins, code and methods are read
// in bounded work.
func FuzzMemory(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 6, 10, 2, 2, 2, 2}, uint8(0))
	f.Add([]byte{2}, uint8(1))
	f.Add([]byte{6, 2, 0x12}, uint8(2))
	f.Add([]byte{0xfe, 0xfd, 8, 4, 0x22}, uint8(3))
	f.Add([]byte{0, 1, 2, 3, 6, 10, 2, 2, 2, 2}, uint8(4))
	f.Fuzz(func(t *testing.T, pattern []byte, which uint8) {
		d := draw(pattern)
		version := []Version{{8, 0, 30}, {9, 0, 5}, {10, 0, 9}}[which%3]
		o := &object{port: []*port{&onAMD64, &onARM64}[which/3%2], version: version}
		l, err := layoutOf(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := newRuntime(o, drawnStart, l, module.Image{Memory: d})
		r.table = maps.NewTable([]maps.Mapping{{Start: drawnStart, End: drawnStart + drawnSize,
			Perm: maps.Read | maps.Exec}})
		stack := make([]byte, 4096)
		for i := 0; i < len(stack); i += wordSize {
			binary.LittleEndian.PutUint64(stack[i:], d.word(drawnStart+mem.Addr(i)))
		}
		arch := o.port.arch
		rs := regs.New(arch)
		rs.Set(arch.PC, d.word(drawnStart+8))
		rs.Set(arch.SP, drawnStart)
		th := snapshot.Thread{TID: 7, Arch: arch, Registers: &rs,
			Stack: mem.Range{Start: drawnStart, Data: stack}}
		s := &snapshot.Snapshot{Threads: []snapshot.Thread{th}}
		r.readSections()
		r.Start(&th, d)
		r.ThreadFacts(s)
		r.locksOf(s, func(int) *unwind.Stack { return nil })
		joinedBy(&th, drawnStart+4096, r.byThread(s))
		r.Cross([]unwind.Frame{{PC: drawnStart + 64, Interrupted: true}}, &rs, d)
		walked := unwind.Stack{Frames: []unwind.Frame{{PC: mem.Addr(d.word(drawnStart + 8)), Interrupted: true}}}
		for i := range mem.Addr(64) {
			walked.Frames = append(walked.Frames, unwind.Frame{PC: mem.Addr(d.word(drawnStart + i*wordSize))})
		}
		r.Identify(&th, &walked, d)
		for _, f := range walked.Frames {
			if region, ok := r.Region(f.LookupPC()); ok {
				r.Row(region, f.LookupPC(), f.Interrupted)
			}
			r.Frames(f.Site)
		}
		r.Locks(s, func(int) *unwind.Stack { return &walked })
		r.precompiled(&section{start: drawnStart, end: drawnStart + drawnSize, module: drawnStart + 0x1000},
			drawnStart+0x2000)
		if most := 5 << 20; d.reads > most {
			t.Fatalf("%d reads", d.reads)
		}
	})
}
