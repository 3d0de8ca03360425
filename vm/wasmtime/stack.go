package wasmtime

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
)

// words is a copied stack from the stack pointer on, word by word.
type words struct {
	start mem.Addr
	data  []byte
	// signature has the bits of return addresses that are none of the address: see [regs.StripPAC].
	signature uint64
}

// stackOf returns the copied stack of t from its stack pointer on, and its PC.
func stackOf(t *snapshot.Thread) (w words, pc mem.Addr) {
	var sp mem.Addr
	switch {
	case t.Registers != nil:
		sp, _ = t.Registers.SP()
		pc, _ = t.Registers.PC()
	case t.Syscall != nil:
		sp, pc = t.Syscall.SP, t.Syscall.PC
	}
	from := sp - t.Stack.Start
	if sp%8 != 0 || sp < t.Stack.Start || uint64(from) > uint64(len(t.Stack.Data)) {
		return words{}, pc
	}
	return words{sp, t.Stack.Data[from:], t.PACMask}, pc
}

// linkOf is what the link register of t leads back to, where there is one: until a function has made its frame record
// its caller may be nowhere else.
func linkOf(t *snapshot.Thread) (mem.Addr, bool) {
	if t.Registers == nil {
		return 0, false
	}
	link, ok := t.Registers.Get(t.Arch.LR)
	return mem.Addr(regs.StripPAC(link, t.PACMask)), ok
}

// maxWords bounds how much of a stack is searched: 512 KiB.
const maxWords = 64 << 10

func (w words) count() int { return min(len(w.data)/8, maxWords) }

func (w words) at(i int) mem.Addr { return mem.Addr(order.Uint64(w.data[8*i:])) }

// code is word number i as a return address.
func (w words) code(i int) mem.Addr { return mem.Addr(regs.StripPAC(uint64(w.at(i)), w.signature)) }

// index returns the number of the word at a, false if it is none of them.
func (w words) index(a mem.Addr) (int, bool) {
	i := uint64(a-w.start) / 8
	return int(i), a >= w.start && a%8 == 0 && i < uint64(w.count())
}

func (w words) addr(i int) mem.Addr { return w.start + mem.Addr(8*i) }
