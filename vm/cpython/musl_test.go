package cpython

import (
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
)

// TestMuslWaiters: with musl a thread that waits for the GIL sleeps on a word of its own stack, in a node of a list
// that begins in the GIL.
func TestMuslWaiters(t *testing.T) {
	const gilAt, futexCall, condHead = mem.Addr(0x9000), 202, 40
	const first, second, third = mem.Addr(0x7000_0100), mem.Addr(0x7100_0200), mem.Addr(0x7200_0300)
	waiter := func(tid int, node, next mem.Addr) snapshot.Thread {
		r := regs.New(regs.AMD64)
		r.Set(regs.AMD64OrigRAX, futexCall)
		r.Set(regs.AMD64RDI, uint64(node+muslBarrier))
		stack := mem.Range{Start: node &^ 0xfff, Data: make([]byte, 0x1000)}
		putWords(stack, node+muslNext, uint64(next))
		return snapshot.Thread{TID: tid, Arch: regs.AMD64, Registers: &r, Stack: stack}
	}
	held := mem.Range{Start: gilAt, Data: make([]byte, gilQueue)}
	putWords(held, gilAt, 0x123450, 1)
	putWords(held, gilAt+condHead, uint64(first))
	s := &snapshot.Snapshot{Threads: []snapshot.Thread{waiter(1, first, second), waiter(2, second, 0),
		waiter(3, third, 0)}} // the third waits for something else
	s.Threads[0].Copied = []mem.Range{held}
	r := newRuntime(samples(t)[0].runtime.layout, module.Image{})
	if got := r.waiters(&gil{at: gilAt}, s, nil); !got[1] || !got[2] || got[3] {
		t.Errorf("%v wait", got)
	}
	putWords(s.Threads[1].Stack, second+muslNext, uint64(first)) // a circle
	if got := r.waiters(&gil{at: gilAt}, s, nil); !got[1] || !got[2] || got[3] {
		t.Errorf("in a circle: %v wait", got)
	}
	s.Threads[0].Stack.Data = nil // the chain is cut: who is behind is not known
	if got := r.waiters(&gil{at: gilAt}, s, nil); got[2] || got[3] {
		t.Errorf("of a chain that is cut: %v wait", got)
	}
}
