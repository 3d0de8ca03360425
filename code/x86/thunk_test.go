package x86_test

import (
	"testing"

	"github.com/fpstack/fpstack/code/x86"
	"github.com/fpstack/fpstack/unwind/cfi"
)

func TestThunkReturn(t *testing.T) {
	//  0: e8 07 00 00 00     call c
	//  5: f3 90              pause
	//  7: 0f ae e8           lfence
	//  a: eb f9              jmp  5
	//  c: 48 8d 64 24 08     lea  8(%rsp), %rsp
	// 11: c3                 ret
	thunk := []byte("\xe8\x07\x00\x00\x00\xf3\x90\x0f\xae\xe8\xeb\xf9\x48\x8d\x64\x24\x08\xc3")
	code := &x86.Code{Start: 0x1000, Data: thunk, Mode64: true}
	for at := uint64(0); at <= uint64(len(thunk)); at++ {
		row, ok := code.ThunkReturn(0x1000 + at)
		if want := at == 0x11; ok != want {
			t.Errorf("ThunkReturn(%#x): got %v, want %v", 0x1000+at, ok, want)
		}
		if ok && (row.CFA.Kind != cfi.Register || row.CFA.Reg != 7 || row.CFA.N != 8 || row.RA.N != -8) {
			t.Errorf("row at the return: got CFA %+v, RA %+v, want rsp+8, CFA-8", row.CFA, row.RA)
		}
	}
}
