package golang

import (
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
)

// Words of struct g, struct gobuf and struct m in runtime/runtime2.go of Go 1.26. In older releases
// an unused word (ret), always 0, is before lr. Where m.curg is changes from release to
// release, so that it is looked for; what is found is checked.
const (
	gStackLo, gStackHi, gM, gSched = 0, 1, 6, 7
	bufSP, bufPC, bufLR            = 0, 1, 4
	gWords                         = gSched + 7

	mG0    = 0
	mFirst = 8  // the first that may be curg: morebuf before it has a g for a moment
	mWords = 40 // curg is number 23

	mSignal, mSignalOld = 9, 10 // the g of handlers; the second where gobuf has the unused word
)

// words are those of a structure, as many as are known.
type words [mWords]uint64

// read fills the first n words of w from a.
func (w *words) read(memory mem.Reader, arch *regs.Arch, a mem.Addr, n int) error {
	var b [mWords * 8]byte
	if _, err := memory.ReadMem(b[:n*arch.WordSize], a); err != nil {
		return err
	}
	w.decode(b[:], arch, n)
	return nil
}

// decode fills the first n words of w from b.
func (w *words) decode(b []byte, arch *regs.Arch, n int) {
	for i := range n {
		if arch.WordSize == 4 {
			w[i] = uint64(arch.Order.Uint32(b[4*i:]))
		} else {
			w[i] = arch.Order.Uint64(b[8*i:])
		}
	}
}

// holds reports whether sp is in the stack of the g whose words these are.
func (w *words) holds(sp uint64) bool { return sp >= w[gStackLo] && sp <= w[gStackHi] }

// mayBeG reports whether v, a word of the m whose system stack has the g at system, can be the address of another g.
func mayBeG(v, system uint64, arch *regs.Arch) bool {
	return v != 0 && v != system && v%uint64(arch.WordSize) == 0
}

// machine is the m that a g belongs to.
type machine struct {
	at     uint64
	words  words
	system uint64 // its g0
}

// machineOf reads the m that g belongs to, and checks that sp is in the system stack of that.
func machineOf(g, sp uint64, memory mem.Reader, arch *regs.Arch) (*machine, error) {
	var w words
	if err := w.read(memory, arch, mem.Addr(g), gWords); err != nil {
		return nil, fmt.Errorf("read g: %w", err)
	}
	m := &machine{at: w[gM]}
	if err := m.words.read(memory, arch, mem.Addr(m.at), mWords); err != nil {
		return nil, fmt.Errorf("read m: %w", err)
	}
	m.system = m.words[mG0]
	if err := w.read(memory, arch, mem.Addr(m.system), gWords); err != nil {
		return nil, fmt.Errorf("read g0: %w", err)
	}
	if w[gM] != m.at || !w.holds(sp) {
		return nil, fmt.Errorf("g %#x is not of this thread", g)
	}
	return m, nil
}
