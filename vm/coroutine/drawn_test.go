package coroutine

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/work"
)

// Where a drawn process has its code and its heap.
const (
	codeAt, headers  = 0x400000, harness.ObjectHeaders
	heapAt, heapSize = 0x100000, 0x2000
)

// moduleOf is an object that has that code, linked at codeAt behind its headers.
func moduleOf(t testing.TB, code []byte) *module.Module {
	t.Helper()
	b := harness.Object(elf.EM_X86_64, codeAt, code, 0)
	m, err := module.NewFile(&module.File{Data: b, Close: func() error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Functions of a coroutine as Clang makes them: the number of the place is the byte at 24 of the frame.
//
//	resume:  cmpb $1,24(%rdi); je 1f; movb $1,24(%rdi); ret; 1: movq $0,(%rdi); ret
//	destroy: cmpb $1,24(%rdi); ret
var drawnCode = []byte{
	0x80, 0x7f, 24, 1, 0x74, 5, 0xc6, 0x47, 24, 1, 0xc3, 0x48, 0xc7, 0x07, 0, 0, 0, 0, 0xc3, 0x90,
	0x80, 0x7f, 24, 1, 0xc3,
}

const (
	resumeAt  = codeAt + headers
	resumeEnd = resumeAt + 20
	destroyAt = resumeAt + 20
	waitsAt   = resumeAt + 11
	indexAt   = 24
)

// drawn is a Runtime over that code and heap, of which read number fails fails.
func drawn(t testing.TB, code, heap []byte, fails int, steps int64) *Runtime {
	return drawnBy(t, code, heap, fails, steps, func() ([]byte, error) { return heap, nil })
}

// drawnBy is the same where each search gets what look returns.
func drawnBy(t testing.TB, code, heap []byte, fails int, steps int64, look func() ([]byte, error)) *Runtime {
	memory := &failing{Reader: mem.NewOverlay(nil, mem.Range{Start: heapAt, Data: heap}), at: fails}
	budget := work.New(steps, 1<<28)
	r := newRuntime(moduleOf(t, code), &onAMD64, module.Image{Memory: memory, Scratch: memory, Budget: budget,
		Search: func(m *maps.Mapping, yield func(at mem.Addr, b []byte) bool) error {
			if m.Start != heapAt {
				return nil
			}
			b, err := look()
			if err == nil {
				yield(heapAt, b)
			}
			return err
		}})
	r.table = maps.NewTable([]maps.Mapping{
		{Start: heapAt, End: heapAt + heapSize, Perm: maps.Read | maps.Write},
		{Start: codeAt, End: codeAt + 0x1000, Perm: maps.Read | maps.Exec, Path: "/program", Inode: 7}})
	k := kind{resume: span{resumeAt, resumeEnd}, destroy: []mem.Addr{destroyAt}, linkage: "_Z4workv"}
	k.index = r.indexOf(&k)
	r.kinds = []kind{k}
	return r
}

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

// putFrame draws a frame, which malloc gave 64 bytes for: with its number, and a pointer in its promise.
func putFrame(heap []byte, at, ends, number, promise uint64) {
	b := heap[at-heapAt-8:]
	for i, w := range []uint64{0x51, resumeAt, ends, promise, number} {
		binary.LittleEndian.PutUint64(b[8*i:], w)
	}
}

// drawnHeap has a coroutine that waits for another, and what is none: with another second word, and one that was freed.
func drawnHeap() []byte {
	heap := make([]byte, heapSize)
	word := func(at, w uint64) { binary.LittleEndian.PutUint64(heap[at-heapAt:], w) }
	putFrame(heap, heapAt+0x108, destroyAt, 1, 0)
	word(heapAt+0x108+40, heapAt+0x208) // what it awaits
	putFrame(heap, heapAt+0x208, destroyAt, 1, heapAt+0x108)
	putFrame(heap, heapAt+0x308, destroyAt+1, 1, 0)
	putFrame(heap, heapAt+0x408, destroyAt, 1, 0)
	word(heapAt+0x408, heapAt+0x10)
	putFrame(heap, heapAt+0x508, destroyAt, 1, 0)
	word(heapAt+0x1000, heapAt+0x208) // who lets the first go on
	return heap
}

// listed is what r lists.
func listed(r *Runtime) (string, error) {
	fibers, err := r.Fibers(&snapshot.Snapshot{})
	out := ""
	for i := range fibers {
		var s unwind.Stack
		r.FiberStack(fibers[i].ID, &s)
		out += fmt.Sprintf("%d [%s] ", len(s.Frames), fibers[i].State)
	}
	return out, err
}

// TestDrawn: frames of a coroutine that waits for another, and of one to which nothing leads.
func TestDrawn(t *testing.T) {
	r := drawn(t, drawnCode, drawnHeap(), 0, 1<<30)
	if want := (field{indexAt, 1}); r.kinds[0].index != want {
		t.Errorf("the number is at %+v, want %+v", r.kinds[0].index, want)
	}
	if way := r.goesOn(&r.kinds[0], 1); len(way) == 0 || way[0].pc != waitsAt {
		t.Errorf("it goes on at %+v, want %#x", way, waitsAt)
	}
	got, err := listed(r)
	const want = "2 [what it awaits is not known] 1 [nothing leads to it: abandoned, or freed] "
	if got != want || err != nil {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

// TestHolders: that nothing leads to a coroutine is said after two searches of all memory that agree.
func TestHolders(t *testing.T) {
	const alone = "nothing leads to it"
	with := func() []byte {
		heap := drawnHeap()
		binary.LittleEndian.PutUint64(heap[0x1800:], heapAt+0x508)
		return heap
	}
	type look func() ([]byte, error)
	moved := func() ([]byte, error) { return with(), nil }
	cut := func() ([]byte, error) { return nil, work.ErrSpent }
	for _, tc := range []struct {
		name  string
		looks [3]look // for frames, and twice for what leads to them
		alone bool
	}{
		{"nothing does", [3]look{}, true},
		{"the first missed what moved", [3]look{2: moved}, false},
		{"the first is cut", [3]look{1: cut}, false},
		{"the second is cut", [3]look{2: cut}, false},
	} {
		n := 0
		r := drawnBy(t, drawnCode, drawnHeap(), 0, 1<<30, func() ([]byte, error) {
			if n++; n <= len(tc.looks) && tc.looks[n-1] != nil {
				return tc.looks[n-1]()
			}
			return drawnHeap(), nil
		})
		if got, _ := listed(r); strings.Contains(got, alone) != tc.alone {
			t.Errorf("%s: %s", tc.name, got)
		}
	}
}

// TestEveryReadFails: whichever read fails, or wherever the budget ends, there is less, and it is said.
func TestEveryReadFails(t *testing.T) {
	whole := map[string]bool{"": true, "2": true, "1": true}
	check := func(r *Runtime, what string) {
		t.Helper()
		got, err := listed(r)
		for _, f := range strings.Split(strings.TrimSpace(got), "] ") {
			if depth, _, _ := strings.Cut(f, " "); !whole[depth] {
				t.Errorf("%s: a chain of %s", what, f)
			}
		}
		if !strings.HasPrefix(got, "2") && err == nil {
			t.Errorf("%s: %q, and nothing is said", what, got)
		}
	}
	for at := 1; at < 16; at++ {
		r := drawn(t, drawnCode, drawnHeap(), at, 1<<30)
		got, err := listed(r)
		if !strings.HasPrefix(got, "2") && err == nil {
			t.Errorf("read %d fails: %q, and nothing is said", at, got)
		}
	}
	for steps := int64(1 << 8); steps < 1<<20; steps += steps / 4 {
		check(drawn(t, drawnCode, drawnHeap(), 0, steps), fmt.Sprintf("%d steps", steps))
	}
}

// FuzzCode: on any code the search for functions and the dry runs end, within their bounds.
func FuzzCode(f *testing.F) {
	f.Add(drawnCode)
	f.Add([]byte{0x48, 0x8d, 0x05, 0, 0, 0, 0, 0x48, 0x89, 0x07, 0xeb, 0xfe})
	f.Add([]byte{0x66, 0x83, 0x4f, 0x2c, 1, 0xe9, 0, 0, 0, 0, 0x0f, 0xb7, 0x47, 0x2c, 0xa8, 1, 0xff, 0x24, 0xc7})
	f.Fuzz(func(t *testing.T, code []byte) {
		if len(code) == 0 || len(code) > 1<<12 {
			return
		}
		r := drawn(t, code, drawnHeap(), 0, 1<<24)
		k := &r.kinds[0]
		k.resume.end = k.resume.start + mem.Addr(len(code))
		for _, size := range []int{0, 1, 2} {
			k.index = field{indexAt, size}
			for n := range uint64(3) {
				r.goesOn(k, n)
				r.stores(k, k.resume, n)
			}
		}
		r.instructions(k.resume)
		starts := map[module.Vaddr]module.Vaddr{codeAt + headers: codeAt + headers + module.Vaddr(len(code)),
			codeAt + headers + 1: codeAt + headers + module.Vaddr(len(code))}
		takenOnAMD64(code, codeAt+headers, starts)
		l := looking{r: r, starts: starts, order: []module.Vaddr{codeAt + headers, codeAt + headers + 1},
			index: map[module.Vaddr]field{}, tried: map[[2]module.Vaddr]bool{}}
		l.try(codeAt+headers, codeAt+headers+1)
	})
}

// FuzzHeap: any heap gives frames that are in it, and ends.
func FuzzHeap(f *testing.F) {
	f.Add(drawnHeap())
	f.Fuzz(func(t *testing.T, heap []byte) {
		if len(heap) > heapSize {
			return
		}
		r := drawn(t, drawnCode, append(heap, make([]byte, heapSize-len(heap))...), 0, 1<<26)
		if fibers, _ := r.Fibers(&snapshot.Snapshot{}); len(fibers) > heapSize/headSize {
			t.Errorf("%d coroutines", len(fibers))
		}
	})
}

// TestNames: the name of a coroutine in those of its functions, the type of what it awaits, and types as are shown.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"_Z10load_orderPZ10load_orderiE21_Z10load_orderi": "_Z10load_orderi",
		"_Z3fooPZ3fooiE13_Z3fooi":                         "_Z3fooi",
		"_Z3fooPZ3fooiE14_Z3fooi":                         "_Z3fooPZ3fooiE14_Z3fooi", // of another length
		"no":                                              "no",
	} {
		if got := ofFrame(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got, ok := awaiterOf("a::lock<int>::await_resume() const", awaitResume); got != "a::lock<int>" || !ok {
		t.Errorf("%q, %v", got, ok)
	}
	if _, ok := awaiterOf("await_resume", awaitResume); ok {
		t.Error("a function of no type has one")
	}
	if got := plain("a::b<c<d>, (e)1>::f(g)"); got != "a::b::f" {
		t.Error(got)
	}
	if got := plain(strings.Repeat("long", 100)); len(got) > maxType+len("…") {
		t.Errorf("%d bytes", len(got))
	}
	const of = "boost::asio::async_result<X>::initiate<"
	for name, want := range map[string]string{
		of + "boost::asio::basic_waitable_timer<Y>::initiate_async_wait>": "awaits a timer",
		of + "boost::asio::basic_stream_socket<Y>::initiate_async_send>":  "awaits a socket",
		of + "nothing>": "",
		"mine::initiate<basic_waitable_timer<Y>>": "",
	} {
		if w, _ := ofAsio(name); w.Text != want {
			t.Errorf("%s: %q, want %q", name, w.Text, want)
		}
	}
}
