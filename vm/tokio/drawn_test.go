package tokio

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// Where a drawn process has its memory and its code.
const (
	heapAt, heapSize = 0x100000, 0x4000
	codeAt, codeSize = 0x200000, 0x1000
	tableAt          = 0x300000 // of functions
	trailerAt        = 0x40
	idAt             = 0x28
)

var drawnTable = maps.NewTable([]maps.Mapping{
	{Start: heapAt, End: heapAt + heapSize, Perm: maps.Read | maps.Write},
	{Start: codeAt, End: codeAt + codeSize, Perm: maps.Read | maps.Exec, Path: "/program", Inode: 7},
})

// failing is a memory of which read number at fails, counted from 1.
type failing struct {
	mem.Reader
	at, n int
}

func (f *failing) ReadMem(b []byte, a mem.Addr) (int, error) {
	if f.n++; f.n == f.at {
		return 0, &mem.FaultError{Addr: a, Len: len(b), Err: mem.ErrUnmapped}
	}
	return f.Reader.ReadMem(b, a)
}

// drawn is a Runtime over a heap and code of those bytes. Its module is the test itself, of which nothing is used.
func drawn(t testing.TB, heap, code []byte, at int) (*Runtime, *failing) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip(err)
	}
	m, err := module.NewFile(&module.File{Data: data, Close: func() error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	memory := &failing{Reader: mem.NewOverlay(nil, mem.Range{Start: heapAt, Data: heap},
		mem.Range{Start: codeAt, Data: code}), at: at}
	image := module.Image{Memory: memory, Scratch: memory,
		Search: func(m *maps.Mapping, yield func(at mem.Addr, b []byte) bool) error {
			if m.Start == heapAt {
				yield(heapAt, heap)
			}
			return nil
		}}
	r := newRuntime(m, ports[uint16(elf.EM_X86_64)], image)
	r.table = drawnTable
	r.vtables = []vtable{{at: tableAt, poll: codeAt, dealloc: codeAt + 0x800, take: codeAt + 0x900, trailer: trailerAt,
		id: idAt}}
	r.takes = map[mem.Addr]bool{codeAt + 0x900: true}
	return r, memory
}

// putTask draws a task.
func putTask(heap []byte, at, state, id, prev, next uint64) {
	b := heap[at-heapAt:]
	for offset, w := range map[int]uint64{headerState: state, headerVtable: tableAt, headerOwner: 5, idAt: id,
		trailerAt + trailerPrev: prev, trailerAt + trailerNext: next} {
		binary.LittleEndian.PutUint64(b[offset:], w)
	}
}

const (
	waits = 1<<stateRefs | 8
	ended = waits | stateComplete
)

// three is a heap with three tasks in a list, and others that are none: one that has ended, one that was freed, so that
// nothing leads back to it, a copy on a stack that no runtime owns, and one without references.
func three() []byte {
	heap := make([]byte, heapSize)
	putTask(heap, heapAt+0x100, waits, 11, 0, heapAt+0x200)
	putTask(heap, heapAt+0x200, waits, 12, heapAt+0x100, heapAt+0x300)
	putTask(heap, heapAt+0x300, waits|stateNotified, 13, heapAt+0x200, 0)
	putTask(heap, heapAt+0x400, ended, 14, 0, 0)
	putTask(heap, heapAt+0x500, waits, 15, heapAt+0x200, heapAt+0x300)
	putTask(heap, heapAt+0x600, waits, 16, 0, 0)
	binary.LittleEndian.PutUint64(heap[0x600+headerOwner:], 0)
	putTask(heap, heapAt+0x700, 8, 17, 0, 0)
	return heap
}

// drawnThread is a thread in whose place tasks are run.
func drawnThread() *snapshot.Snapshot {
	return &snapshot.Snapshot{Threads: []snapshot.Thread{{TP: heapAt + 0x3000, HasTP: true}}}
}

func listed(t testing.TB, r *Runtime) (ids []uint64, states map[uint64]string) {
	t.Helper()
	fibers, _ := r.Fibers(drawnThread())
	states = map[uint64]string{}
	for _, f := range fibers {
		ids, states[f.ID] = append(ids, f.ID), f.State
		var s unwind.Stack
		r.FiberStack(f.ID, &s)
	}
	return ids, states
}

// TestFind: the tasks that live are found, and nothing else; with any read failing some of them.
func TestFind(t *testing.T) {
	code := append([]byte("\xb8\x01\x00\x00\x00\xc3"), make([]byte, codeSize-6)...)
	r, memory := drawn(t, three(), code, 0)
	ids, states := listed(t, r)
	if fmt.Sprint(ids) != "[11 12 13]" || states[13] != "ready to run" {
		t.Fatalf("%v, %v", ids, states)
	}
	for at := 1; at <= memory.n; at++ {
		r, _ := drawn(t, three(), code, at)
		ids, _ := listed(t, r)
		for _, id := range ids {
			if id < 11 || id > 13 {
				t.Errorf("read %d fails: task %d is listed, %v", at, id, ids)
			}
		}
	}
}

// TestFindByNeighbours: a task that came where the search had been already is found by those that it is linked with.
func TestFindByNeighbours(t *testing.T) {
	heap := three()
	r, _ := drawn(t, heap, make([]byte, codeSize), 0)
	r.image.Search = func(m *maps.Mapping, yield func(at mem.Addr, b []byte) bool) error {
		if m.Start == heapAt {
			yield(heapAt+0x300, heap[0x300:])
		}
		return nil
	}
	if ids, _ := listed(t, r); fmt.Sprint(ids) != "[11 12 13]" {
		t.Errorf("tasks %v are listed, want 11 to 13", ids)
	}
}

// TestBounds: what is no table of functions is none.
func TestBounds(t *testing.T) {
	r, _ := drawn(t, nil, nil, 0)
	var text uint64
	for _, s := range r.m.Segments() {
		if elf.ProgFlag(s.Flags)&elf.PF_X != 0 {
			text = uint64(r.m.Addr(s.Addr)) + 64
		}
	}
	good := []uint64{text, text, text, text, text, text, text, 0x180, 0x20, 0x28}
	if _, ok := r.vtable(good); !ok {
		t.Fatal("a table is not one")
	}
	for i, w := range map[int]uint64{0: 0, 6: 8, 7: 0x28, 8: 0x10, 9: 0x18} {
		bad := append([]uint64{}, good...)
		bad[i] = w
		if _, ok := r.vtable(bad); ok {
			t.Errorf("word %d may be %#x", i, w)
		}
	}
	if _, ok := r.vtable(append(append([]uint64{}, good[:7]...), maxTask, 0x20, 0x28)); ok {
		t.Error("a task may be of any size")
	}
}

// FuzzFibers lists tasks of any memory, and runs any code for them: no panic, an end, and no task that is not there.
func FuzzFibers(f *testing.F) {
	f.Add([]byte{}, []byte("\xb8\x01\x00\x00\x00\xc3"), uint16(0))
	f.Add([]byte{1, 2, 3}, []byte("\xe8\x00\x00\x00\x00\x48\x8b\x07\xff\xe0"), uint16(0x110))
	f.Add([]byte{0xff, 0xff}, []byte("\xeb\xfe"), uint16(0x140))
	f.Fuzz(func(t *testing.T, edit, code []byte, at uint16) {
		heap := three()
		copy(heap[int(at)%len(heap):], edit)
		before := bytes.Clone(heap)
		r, _ := drawn(t, heap, append(bytes.Clone(code), make([]byte, codeSize)...)[:codeSize], 0)
		ids, _ := listed(t, r)
		if len(ids) > heapSize/16 || !bytes.Equal(heap, before) {
			t.Errorf("%d tasks, or the memory has changed", len(ids))
		}
	})
}

// TestNames: the future in the name of what drops a task, and the name of an async function.
func TestNames(t *testing.T) {
	const drop, core = "core::ptr::drop_in_place<", "tokio::runtime::task::core::"
	for name, want := range map[string]string{
		drop + core + "CoreStage<tasks::peer::{{closure}}>>":                "tasks::peer",
		drop + core + "Cell<a::b<c, d>::{{closure}}, alloc::sync::Arc<e>>>": "a::b<c, d>",
		drop + core + "Trailer>":                                            "",
		drop + core + "Stage<fn(u8) -> u8>>":                                "fn(u8) -> u8",
	} {
		if got := futureOf(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"tasks::nap::{async_fn#0}": "tasks::nap", "tasks::main::{closure#0}": "tasks::main",
		"{async_fn#0}": "{async_fn#0}", "a::{{closure}}::{{closure}}": "a",
	} {
		if got := plainName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
