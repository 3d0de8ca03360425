package golang

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
)

// drawn is a memory that is read by pieces.
type drawn struct {
	mem.Range
	calls, bytes int
}

func (d *drawn) ReadPieces(pieces []snapshot.Piece) error {
	d.calls++
	for i := range pieces {
		if b, ok := d.Bytes(pieces[i].Addr, len(pieces[i].Data)); ok {
			pieces[i].Got = copy(pieces[i].Data, b)
			d.bytes += len(b)
		}
	}
	return nil
}

// drawThread draws the words of a thread that is on its system stack, and of its goroutine, of whose stack 2 KiB are
// in use.
func drawThread() *memory.Image {
	i := memory.NewImage(0x10000, 8, binary.LittleEndian)
	i.Label("slot").Ref("g0").Label("tp")
	i.Label("g0").Word(0x7f0000).Word(0x7f4000).Skip(4).Ref("m").Word(0x7f3000).Skip(6)
	i.Label("m").Ref("g0").Skip(10).Ref("gsignal").Skip(11).Ref("g").Skip(16)
	i.Label("gsignal").Word(0x7e0000).Word(0x7e8000).Skip(4).Ref("m").Word(0).Skip(6)
	i.Label("g").Ref("low").Ref("high").Skip(4).Ref("m").Ref("used").Skip(6)
	i.Label("low").Skip(256).Label("used").Skip(256).Label("high").Word(0)
	return i
}

// TestCopy: what leads to the goroutine is copied, with the part of its stack that is in use; once it is known where
// m has its goroutine by five short calls, and without an allocation.
func TestCopy(t *testing.T) {
	i := drawThread()
	m := &drawn{Range: i.Range()}
	r := &Runtime{tls: -8}
	th := &snapshot.Thread{Arch: regs.AMD64, TP: i.Addr("tp"), HasTP: true, Syscall: &snapshot.Syscall{SP: 0x7f2000}}
	f := snapshot.Fetcher{Budget: snapshot.CopyBudget}
	f.Budget.Time = time.Hour
	copiers := []snapshot.Copier{r}
	run := func() { m.calls, m.bytes = 0, 0; f.Run(copiers, th, m) }
	run()
	run()
	if n := int(r.curg.Load()); n != 23 {
		t.Errorf("the goroutine of m is word %d, want 23", n)
	}
	got := mem.NewOverlay(nil, th.Copied...)
	for _, want := range []struct {
		label string
		bytes int
	}{{"slot", 8}, {"g0", 112}, {"m", 320}, {"g", 112}, {"used", 2048}} {
		if !got.Holds(i.Addr(want.label), want.bytes) {
			t.Errorf("%d bytes of %s are not copied", want.bytes, want.label)
		}
	}
	if got.Holds(i.Addr("low"), 8) {
		t.Error("a part of the stack is copied that is not in use")
	}
	if m.calls > 5 || m.bytes > 3<<10 || len(th.Shortfalls) > 0 {
		t.Errorf("%d calls, %d bytes, %v; want at most 5 calls and 3 KiB", m.calls, m.bytes, th.Shortfalls)
	}
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// TestCopyBelow: where a function keeps the frame pointer of its caller below its stack pointer, that is copied too: of
// the goroutine's stack while the thread is on the system stack, and the other way round.
func TestCopyBelow(t *testing.T) {
	for _, current := range []string{"g0", "g"} {
		i := memory.NewImage(0x10000, 8, binary.LittleEndian)
		i.Label("tp").Skip(2).Ref(current)
		for _, g := range []string{"g0", "g"} {
			i.Label(g)
			if g == current {
				i.Word(0x7f0000).Word(0x7f4000)
			} else {
				i.Ref("low").Ref("high")
			}
			i.Skip(4).Ref("m").Ref("used").Skip(6)
		}
		i.Label("m").Ref("g0").Skip(10).Ref("gsignal").Skip(11).Ref("g").Skip(16)
		i.Label("gsignal").Word(0x7e0000).Word(0x7e8000).Skip(4).Ref("m").Word(0).Skip(6)
		i.Label("low").Skip(256).Label("used").Skip(256).Label("high").Word(0)
		th := &snapshot.Thread{Arch: regs.ARM64, TP: i.Addr("tp"), HasTP: true,
			Syscall: &snapshot.Syscall{SP: 0x7f2000}}
		f := snapshot.Fetcher{Budget: snapshot.CopyBudget}
		f.Budget.Time = time.Hour
		f.Run([]snapshot.Copier{&Runtime{tls: 16, port: &arm64}}, th, &drawn{Range: i.Range()})
		got := mem.NewOverlay(nil, th.Copied...)
		if used := i.Addr("used"); !got.Holds(used-8, 8+2048) || got.Holds(used-16, 16) {
			t.Errorf("on the stack of %s: 2056 bytes from %#x on are not what was copied", current, uint64(used-8))
		}
	}
}

// TestCopyOfForeign: nothing but the words that tell so is copied of a thread that runs no Go code.
func TestCopyOfForeign(t *testing.T) {
	i := memory.NewImage(0x10000, 8, binary.LittleEndian).Label("slot").Ref("none").Label("tp").Skip(100).Label(
		"none").Skip(100)
	m := &drawn{Range: i.Range()}
	th := &snapshot.Thread{Arch: regs.AMD64, TP: i.Addr("tp"), HasTP: true}
	var f snapshot.Fetcher
	f.Run([]snapshot.Copier{&Runtime{tls: -8}}, th, m)
	if m.bytes > 8+112 || m.calls > 3 {
		t.Errorf("%d calls, %d bytes", m.calls, m.bytes)
	}
}

// TestCopyOfDeepStack: of a stack that is deeper than the budget the innermost part is copied, and that there is more
// is said.
func TestCopyOfDeepStack(t *testing.T) {
	i := drawThread()
	m := &drawn{Range: i.Range()}
	th := &snapshot.Thread{Arch: regs.AMD64, TP: i.Addr("tp"), HasTP: true, Syscall: &snapshot.Syscall{SP: 0x7f2000}}
	f := snapshot.Fetcher{Budget: snapshot.CopyBudget}
	f.Budget.Time, f.Budget.Bytes = time.Hour, 8+112+320+2*112+1024
	f.Run([]snapshot.Copier{&Runtime{tls: -8}}, th, m)
	got := mem.NewOverlay(nil, th.Copied...)
	if used := i.Addr("used"); !got.Holds(used, 512) || got.Holds(used, 2048) {
		t.Errorf("copied %v, want the begin of the 2048 bytes at %#x", th.Copied, uint64(used))
	}
	if len(th.Shortfalls) != 1 {
		t.Errorf("shortfalls %v, want one", th.Shortfalls)
	}
}

// TestCopyOfCallers: of a thread on its goroutine's stack the part of the system stack is copied that C left in use
// when it called Go, bounded; also in a handler of a signal, which has another stack again.
func TestCopyOfCallers(t *testing.T) {
	const words, goStack, signalStack = maxCallers/8 + 100, 0x7f2000, 0x7e4000
	for _, tc := range []struct {
		name string
		sp   string // what g0 says
		on   mem.Addr
		want int // bytes
		most int // calls
	}{
		{"C called Go", "called", goStack, 64, 7},
		{"deep in C", "deep", goStack, maxCallers, 7},
		{"nothing in use", "end", goStack, 0, 7},
		{"g0 says nothing", "none", goStack, 0, 7},
		{"C called Go, in a handler", "called", signalStack, 64, 9},
	} {
		i := memory.NewImage(0x10000, 8, binary.LittleEndian)
		i.Label("slot").Ref("g").Label("tp")
		i.Label("g0").Ref("low").Ref("end").Skip(4).Ref("m").Ref(tc.sp).Skip(6)
		i.Label("m").Ref("g0").Skip(10).Ref("gsignal").Skip(11).Ref("g").Skip(16)
		i.Label("gsignal").Word(0x7e0000).Word(0x7e8000).Skip(4).Ref("m").Word(0).Skip(6)
		i.Label("g").Word(0x7f0000).Word(0x7f4000).Skip(4).Ref("m").Word(0).Skip(6)
		i.Label("none").Label("low").Skip(8).Label("deep").Skip(words).Label("called").Skip(8).Label("end").Word(0)
		m := &drawn{Range: i.Range()}
		th := &snapshot.Thread{Arch: regs.AMD64, TP: i.Addr("tp"), HasTP: true,
			Syscall: &snapshot.Syscall{SP: tc.on}}
		f := snapshot.Fetcher{Budget: snapshot.CopyBudget}
		f.Budget.Time = time.Hour
		f.Run([]snapshot.Copier{&Runtime{tls: -8}}, th, m)
		got, at := mem.NewOverlay(nil, th.Copied...), i.Addr(tc.sp)
		missing := tc.want > 0 && (!got.Holds(at, tc.want) || m.calls > tc.most)
		if missing || got.Holds(at, tc.want+1) || len(th.Shortfalls) > 0 {
			t.Errorf("%s: %d bytes in %d ranges by %d calls, %v; want %d bytes at %#x", tc.name, m.bytes,
				len(th.Copied), m.calls, th.Shortfalls, tc.want, uint64(at))
		}
	}
}

// BenchmarkCopy is what Copy adds to a stop, without the reads themselves.
func BenchmarkCopy(b *testing.B) {
	i := drawThread()
	m := &drawn{Range: i.Range()}
	r := &Runtime{tls: -8}
	th := &snapshot.Thread{Arch: regs.AMD64, TP: i.Addr("tp"), HasTP: true, Syscall: &snapshot.Syscall{SP: 0x7f2000}}
	var f snapshot.Fetcher
	copiers := []snapshot.Copier{r}
	for b.Loop() {
		f.Run(copiers, th, m)
	}
}
