package unwind

import (
	"encoding/binary"
	"math"

	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// compiled is a row in the form in which a walk applies it. Its registers are the architecture's, and what
// nearly all rows consist of, words at fixed distances from the CFA, is apart from the rest. A row is compiled
// once, when its PC is first met. No row: the zero value.
type compiled struct {
	*cfi.Row
	origin Origin
	base   regs.Reg // the CFA is base + offset; NoReg where it is found in another way
	signal bool     // Row.Signal
	lands  bool     // see landsExceptions
	inject bool     // see found.injected
	record bool     // it is no row but a frame record: see recordRow
	offset int64
	// Where the return address and all registers with a rule are words at fixed distances from the CFA, these are in
	// span bytes, low from there. Else span is math.MaxUint64: they are not read at once.
	low   int64
	span  uint64
	ra    int64        // where the return address is, from low
	words []regs.Saved // registers that are saved at fixed distances from the CFA
	rest  []ownRule    // registers that are found in another way
}

// ownRule is a rule that needs more than a word at a fixed place.
type ownRule struct {
	reg  regs.Reg
	rule cfi.RegRule
}

// maxSpan bounds the distance between words that are read at once.
const maxSpan = 1 << 20

// compile returns the compiled form of row, which origin gave.
func (c *cursor) compile(row *cfi.Row, origin Origin) compiled {
	a := c.arch
	r := compiled{Row: row, origin: origin, base: regs.NoReg, signal: row.Signal,
		lands: landsExceptions(row, a), low: row.RA.N}
	if row.CFA.Kind == cfi.Register {
		if base, ok := a.FromDWARF(row.CFA.Reg); ok {
			r.base, r.offset = base, row.CFA.N
		}
	}
	high := r.low
	r.words = c.w.room(len(row.Regs))
	for i := range row.Regs {
		rule := &row.Regs[i]
		reg, ok := a.FromDWARF(rule.Reg)
		switch {
		case !ok, reg == a.PC, rule.Rule.Kind == cfi.SameValue, rule.Rule.Kind == cfi.Unspecified:
		case rule.Rule.Kind != cfi.Offset, reg == a.SP, int64(int32(rule.Rule.N)) != rule.Rule.N:
			r.rest = append(r.rest, ownRule{reg, *rule})
		default:
			r.words = append(r.words, regs.Saved{Reg: reg, At: int32(rule.Rule.N)})
			r.low, high = min(r.low, rule.Rule.N), max(high, rule.Rule.N)
		}
	}
	r.ra, r.span = row.RA.N-r.low, uint64(high)-uint64(r.low)+uint64(a.WordSize)
	if r.span > maxSpan || row.RA.Kind != cfi.Offset || len(r.rest) != 0 || r.signal || r.lands {
		r.span = math.MaxUint64
	}
	return r
}

// wordBlock is how many words of rows are allocated at once.
const wordBlock = 64

// room returns an empty slice for n words.
func (w *Walker) room(n int) []regs.Saved {
	if len(w.spare) < n {
		w.spare = make([]regs.Saved, max(n, wordBlock))
	}
	words := w.spare[:0:n]
	w.spare = w.spare[n:]
	return words
}

// little is the byte order of the memory in the window.
var little binary.ByteOrder = binary.LittleEndian

// wordOf decodes the word that b begins with.
func (c *cursor) wordOf(b []byte) uint64 {
	if c.arch.WordSize == 4 {
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}
