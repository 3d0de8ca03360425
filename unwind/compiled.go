package unwind

import (
	"encoding/binary"
	"math"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// compiled is a row in the form in which a walk applies it. Its registers are the architecture's, and what
// nearly all rows consist of, words at fixed distances from the CFA, is apart from the rest. A row is compiled
// once, when its PC is first met. No row: the zero value.
type compiled struct {
	*cfi.Row
	origin Origin
	base   regs.Reg // the CFA is base + CFA.N; NoReg where it is found in another way
	lands  bool     // see landsExceptions
	// The words of the caller that stand at fixed distances from the CFA lie in span bytes, low from there.
	// A span of math.MaxUint64: too far from each other to be read at once.
	low   int64
	span  uint64
	ra    int64       // the return address, from low
	words []savedWord // the other registers
	rest  []ownRule   // registers that are found in another way
}

// savedWord is a register of the caller and where it stands, from compiled.low.
type savedWord struct {
	reg regs.Reg
	at  int64
}

// ownRule is a rule that needs more than a word at a fixed place.
type ownRule struct {
	reg  regs.Reg
	rule cfi.RegRule
}

// maxSpan bounds the distance between words that are read at once.
const maxSpan = 1 << 20

// compile returns the compiled form of row, which origin gave.
func compile(row *cfi.Row, origin Origin, a *regs.Arch) compiled {
	r := compiled{Row: row, origin: origin, base: regs.NoReg, lands: landsExceptions(row, a)}
	if row.CFA.Kind == cfi.Register {
		if base, ok := a.FromDWARF(row.CFA.Reg); ok {
			r.base = base
		}
	}
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	within := func(n int64) { low, high = min(low, n), max(high, n) }
	if row.RA.Kind == cfi.Offset {
		within(row.RA.N)
	}
	for i := range row.Regs {
		rule := &row.Regs[i]
		reg, ok := a.FromDWARF(rule.Reg)
		switch {
		case !ok, reg == a.PC, rule.Rule.Kind == cfi.SameValue, rule.Rule.Kind == cfi.Unspecified:
		case rule.Rule.Kind != cfi.Offset, reg == a.SP:
			r.rest = append(r.rest, ownRule{reg, *rule})
		default:
			r.words = append(r.words, savedWord{reg, rule.Rule.N})
			within(rule.Rule.N)
		}
	}
	if low > high {
		return r
	}
	r.low, r.ra, r.span = low, row.RA.N-low, uint64(high)-uint64(low)+uint64(a.WordSize)
	if r.span > maxSpan {
		r.span = math.MaxUint64
	}
	for i := range r.words {
		r.words[i].at -= low
	}
	return r
}

// wordsOf returns the bytes of r's words in the copied window, nil if they are not all there.
func (c *cursor) wordsOf(r *compiled, cfa mem.Addr) []byte {
	from := uint64(cfa) + uint64(r.low) - uint64(c.window.Start)
	size := uint64(len(c.window.Data))
	if from > size || r.span > size-from {
		return nil
	}
	return c.window.Data[from : from+r.span]
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
