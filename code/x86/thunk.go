package x86

import "github.com/fpstack/fpstack/unwind/cfi"

// ThunkReturn finds the row at the return of a return thunk, "lea WORD(SP), SP; ret": gcc's
// tables still count the inner call there, whose return address the lea has dropped. pc is
// exact.
//
// Source: gcc -mfunction-return=thunk, output_return_thunk in gcc/config/i386/i386.cc;
// linux/arch/x86/lib/retpoline.S.
func (c *Code) ThunkReturn(pc uint64) (cfi.Row, bool) {
	drop := "\x8d\x64\x24\x04"
	if c.Mode64 {
		drop = "\x48\x8d\x64\x24\x08"
	}
	n := uint64(len(drop))
	b := c.at(pc - n)
	if uint64(len(b)) <= n || string(b[:n]) != drop || b[n] != 0xc3 {
		return cfi.Row{}, false
	}
	return c.plainRow(pc, 1, rsp, c.word()), true
}
