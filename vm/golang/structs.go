package golang

import (
	"encoding/binary"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// wordSize is that of the programs whose structures are read: those of 32 bits are not.
const wordSize = 8

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
func (w *words) read(v *view.View, a uint64, n int) error {
	b, ok := v.Bytes(mem.Addr(a), n*wordSize)
	if !ok {
		return v.Fault()
	}
	for i := range n {
		w[i] = binary.LittleEndian.Uint64(b[i*wordSize:])
	}
	return nil
}

// holds reports whether sp is in the stack of the g whose words these are.
func (w *words) holds(sp uint64) bool { return sp >= w[gStackLo] && sp <= w[gStackHi] }

// mayBeG reports whether v, a word of the m whose system stack has the g at system, can be the address of another g.
func mayBeG(v, system uint64) bool { return v != 0 && v != system && v%wordSize == 0 }

// machine is the m that a g belongs to.
type machine struct {
	at     uint64
	words  words
	system uint64 // its g0
	stack  words  // of that
}

// machineOf reads the m that g belongs to.
func machineOf(g uint64, v *view.View) (*machine, error) {
	var w words
	if err := w.read(v, g, gWords); err != nil {
		return nil, fmt.Errorf("read g: %w", err)
	}
	m := &machine{at: w[gM]}
	if err := m.words.read(v, m.at, mWords); err != nil {
		return nil, fmt.Errorf("read m: %w", err)
	}
	m.system = m.words[mG0]
	if err := m.stack.read(v, m.system, gWords); err != nil {
		return nil, fmt.Errorf("read g0: %w", err)
	}
	if m.stack[gM] != m.at {
		return nil, fmt.Errorf("g %#x is not of this thread", g)
	}
	return m, nil
}
