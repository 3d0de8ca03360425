package memory

import (
	"errors"
	"flag"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/tests/harness"
)

// Full says that each single read and range fails in turn, and not one of some: a flag of the tests that link this.
var Full = flag.Bool("full", false, "do all that a test would do, not a part of it")

// ErrPlanted is why a read of [Failing] fails.
var ErrPlanted = errors.New("this read was made to fail")

// Failing is a memory whose read number At fails, counted from 1, or from there on all. N is how many were tried.
//
// What is read with it is compared with what is read of the whole memory: it must be the same, or less and say so.
type Failing struct {
	mem.Reader
	At, N int
	All   bool
}

// ReadMem implements [mem.Reader].
func (f *Failing) ReadMem(b []byte, a mem.Addr) (int, error) {
	if f.N++; f.N == f.At || f.All && f.At > 0 && f.N > f.At {
		return 0, &mem.FaultError{Addr: a, Len: len(b), Err: ErrPlanted}
	}
	return f.Reader.ReadMem(b, a)
}

// EachRead calls try with m, one read of which fails: each of n, or some most of them where not all is wanted.
func EachRead(m mem.Reader, n, most int, try func(what string, m *Failing)) {
	for at := 1; at <= n; at += stride(n, most) {
		try(fmt.Sprintf("read %d of %d fails", at, n), &Failing{Reader: m, At: at})
	}
}

// stride is how far apart are some most of n.
func stride(n, most int) int {
	if *Full {
		return 1
	}
	return max(1, n/harness.Times(most))
}

// cuts are what may be left of a range: nothing, the first half, the second half, all but the last byte.
var cuts = []func(r mem.Range) mem.Range{
	func(mem.Range) mem.Range { return mem.Range{} },
	func(r mem.Range) mem.Range { return mem.Range{Start: r.Start, Data: r.Data[:len(r.Data)/2]} },
	func(r mem.Range) mem.Range {
		return mem.Range{Start: r.Start + mem.Addr(len(r.Data)/2), Data: r.Data[len(r.Data)/2:]}
	},
	func(r mem.Range) mem.Range { return mem.Range{Start: r.Start, Data: r.Data[:max(len(r.Data), 1)-1]} },
}

// EachCut calls try with what copies list n ranges at most, as an edit of such a list: one of its ranges is missing, or
// has but the first half, the second half, or all but its last byte; each range, or some most of them where not all is
// wanted. The list that is edited stays as it is.
func EachCut(n, most int, try func(what string, edit func([]mem.Range) []mem.Range)) {
	for i := 0; i < n; i += stride(n, most) {
		for k, cut := range cuts {
			try(fmt.Sprintf("range %d of %d, cut %d", i, n, k), func(all []mem.Range) []mem.Range {
				if i >= len(all) {
					return all
				}
				left := slices.Clone(all)
				if left[i] = cut(left[i]); len(left[i].Data) == 0 {
					left = slices.Delete(left, i, i+1)
				}
				return left
			})
		}
	}
}
