package unwind

import (
	"cmp"
	"slices"

	"github.com/fpstack/fpstack/code/arm64"
	"github.com/fpstack/fpstack/code/pclntab"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// Go makes system calls in functions without a frame, whose caller is in the link register alone: runtime.futex and
// Syscall6. Of a thread that sleeps and was not stopped that is not known. But what calls them is Go, and each function
// of Go that calls another has its own return address at SP. The call before that leads to the function; this has few
// calls, mostly one, that lead to the one without a frame, and each wrote its arguments to the stack. If one call alone
// is left by all this, it is the one.
//
// Source: cmd/compile/abi-internal.md, "arm64 architecture" and "Stack layout"; a value of a function never holds one
// that takes its arguments on the stack, but a wrapper of it.

// leafKey is a function without a frame at a PC, and one that may have called it, at link addresses.
type leafKey struct {
	m          *module.Module
	pc, caller uint64
}

// leafCall is a call of the one by the other.
type leafCall struct {
	back  module.Vaddr   // behind it
	wrote []arm64.Stored // before it
}

// stepLeaf steps out of a function of Go without a frame whose return address is in a register that is not known.
func (c *cursor) stepLeaf(s *site) bool {
	sp, ok := c.regs.SP()
	if !ok || c.arch != regs.ARM64 || s.origin != PCSP || !s.interrupted || !s.held || c.checkCFA(sp, &s.table) != nil {
		return false
	}
	v, err := c.word(sp)
	if err != nil {
		return false
	}
	to := c.returnSite(c.code(v))
	if to == nil || to.module != s.module || to.call.kind != directCall {
		return false
	}
	var found *leafCall
	calls := c.leafCalls(s.module, uint64(s.module.Vaddr(s.pc)), uint64(s.module.Vaddr(to.call.to)))
	for i := range calls {
		if !c.isWritten(sp, calls[i].wrote) {
			continue
		}
		if found != nil {
			return false
		}
		found = &calls[i]
	}
	if found == nil {
		return false
	}
	next := c.regs
	next.Set(c.arch.PC, uint64(s.module.Addr(found.back)))
	next.Forget(c.arch.LR)
	return c.advance(sp, &next, Code) == nil
}

// isWritten reports whether these words are on the stack, as far as they can be read.
func (c *cursor) isWritten(sp mem.Addr, words []arm64.Stored) bool {
	return !slices.ContainsFunc(words, func(w arm64.Stored) bool {
		v, err := c.word(sp + mem.Addr(w.Off))
		want := uint64(w.Value)
		if w.IsSP {
			want += uint64(sp)
		}
		return err == nil && v != want
	})
}

// leafCalls lists the calls of the function at pc, which must keep no frame up to there, by the one that begins at
// caller; none where that may have called it in another way.
func (c *cursor) leafCalls(m *module.Module, pc, caller uint64) []leafCall {
	key := leafKey{m, pc, caller}
	if calls, ok := c.w.leaves[key]; ok {
		return calls
	}
	t, bias, ok := c.codeAt(m.Addr(module.Vaddr(pc)), m)
	code, isARM64 := t.instructions.(*arm64.Code)
	if !ok || !isARM64 || bias != m.Base() {
		return nil
	}
	c.earn(t.budget)
	calls := readLeafCalls(code, c.w.table(m).pcln, pc, caller)
	if err := t.budget.Err(); err != nil {
		c.refused = cmp.Or(c.refused, err)
		return nil // not remembered: later there may be time for it
	}
	if len(c.w.leaves) >= maxPaths {
		clear(c.w.leaves)
	}
	c.w.leaves[key] = calls
	return calls
}

func readLeafCalls(code *arm64.Code, table *pclntab.Table, pc, caller uint64) []leafCall {
	leaf, ok := table.Func(pc)
	f, known := table.Func(caller)
	if !ok || !known || f.Entry != caller {
		return nil
	}
	row, ok := code.FromEntry(leaf.Entry, leaf.End, pc)
	if !ok || row.RA.Kind != cfi.Unspecified || row.CFA.Reg != uint64(regs.ARM64SP) || row.CFA.N != 0 {
		return nil
	}
	all, ok := code.Calls(f.Entry, f.End)
	if !ok {
		return nil
	}
	var calls []leafCall
	for _, call := range all {
		depth, ok := f.SPDelta(call.At)
		switch {
		case !ok:
			return nil
		case depth == 0: // of more stack, before there is a frame
		case call.To == leaf.Entry && keepsReturn(code, f, call.At, int64(depth)):
			c := leafCall{back: module.Vaddr(call.At + arm64.Size)}
			if code.OnlyReads(leaf.Entry, pc) { // else the arguments may have been overwritten
				c.wrote = code.Written(f.Entry, f.End, call.At)
			}
			calls = append(calls, c)
		default:
			g, ok := table.Func(call.To)
			if !ok || call.To == leaf.Entry || !code.Stays(g.Entry, g.End) {
				return nil
			}
		}
	}
	return calls
}

// keepsReturn reports whether the return address of f is at SP at the call at, in a frame of that depth.
func keepsReturn(code *arm64.Code, f pclntab.Func, at uint64, depth int64) bool {
	row, ok := code.FromEntry(f.Entry, f.End, at)
	return ok && row.CFA.Reg == uint64(regs.ARM64SP) && row.CFA.N == depth && row.RA.Kind == cfi.Offset &&
		row.RA.N == -depth
}
