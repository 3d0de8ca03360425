package wasmtime

import (
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// TestLeavesByJump tells tail calls from jumps inside of a function.
func TestLeavesByJump(t *testing.T) {
	for _, tc := range []struct {
		name string
		code string
		at   int
		want bool
	}{
		{"to a function before", "\x5d\xe9\xf0\xff\xff\xff", 1, true},
		{"to one behind", "\x5d\xe9\x00\x10\x00\x00", 1, true},
		{"inside", "\x90\xe9\x00\x00\x00\x00\x90\x90", 1, false},
		{"by a register, behind pop rbp", "\x5d\x41\xff\xe3", 1, true},
		{"by a register, behind add rsp", "\x48\x83\xc4\x30\xff\xe0", 4, true},
		{"by a register, of a table", "\x4c\x01\xd8\xff\xe0", 3, false},
		{"a return", "\x5d\xc3", 1, false},
		{"cut off", "\x5d\xe9\x00", 1, false},
	} {
		if got := leavesByJump([]byte(tc.code), tc.at); got != tc.want {
			t.Errorf("%s: got %v", tc.name, got)
		}
	}
}

// instructions of arm64
const (
	saves   = 0xa9bf7bfd // stp x29, x30, [sp, #-16]!
	sets    = 0x910003fd // mov x29, sp
	takes   = 0xd10083ff // sub sp, sp, #32
	gives   = 0x910083ff // add sp, sp, #32
	loads   = 0xa8c17bfd // ldp x29, x30, [sp], #16
	auth    = 0xd50323bf // autiasp
	retA    = 0xd65f0bff // retaa
	ret     = 0xd65f03c0
	calls   = 0x94000400 // bl, far
	jumps   = 0x14000400 // b, far
	goesOn  = 0x14000001 // b, to the next
	jumpsBy = 0xd61f0200 // br x16
)

// TestRowsOfARM64: at each instruction of a function that was interrupted the caller is where the instructions before,
// or what is left of it, say.
func TestRowsOfARM64(t *testing.T) {
	const base = textAt
	sp := uint64(regs.ARM64SP)
	type row struct {
		cfa, ra int64 // CFA from SP, RA from there: 0 in x30
	}
	entered, framed := row{0, 0}, row{16, -8}
	for _, tc := range []struct {
		name string
		code []uint32
		want []row // where each instruction begins
	}{
		{"a call and a return", []uint32{saves, sets, takes, calls, gives, loads, ret},
			[]row{entered, framed, framed, {48, -8}, {48, -8}, framed, entered}},
		{"a signed return address", []uint32{saves, sets, loads, auth, ret},
			[]row{entered, framed, framed, entered, entered}},
		{"parameters are taken off the stack", []uint32{saves, sets, loads, gives, retA},
			[]row{entered, framed, framed, {32, 0}, entered}},
		{"a tail call", []uint32{saves, sets, loads, jumps}, []row{entered, framed, framed, entered}},
		{"a tail call by a register, with fewer parameters", []uint32{saves, sets, loads, gives, jumpsBy},
			[]row{entered, framed, framed, {32, 0}, entered}},
		{"a jump in the middle", []uint32{saves, sets, goesOn, loads, ret},
			[]row{entered, framed, framed, framed, entered}},
		{"another exit behind it", []uint32{saves, sets, loads, ret, calls, loads, ret},
			[]row{entered, framed, framed, entered}},
	} {
		var b []byte
		for _, i := range tc.code {
			b = order.AppendUint32(b, i)
		}
		for i, want := range tc.want {
			pc := base + mem.Addr(4*i)
			got, ok := byCodeARM64(b, base, pc, nil)
			if !ok {
				t.Errorf("%s: no row at %d", tc.name, i)
				continue
			}
			kind := cfi.Offset
			if want.ra == 0 {
				kind = cfi.Unspecified
			}
			if got.CFA.Kind != cfi.Register || got.CFA.Reg != sp || got.CFA.N != want.cfa || got.RA.Kind != kind ||
				got.RA.N != want.ra || got.RAReg != uint64(regs.ARM64LR) || got.Start != uint64(pc) {
				t.Errorf("%s: at %d CFA %+v, RA %+v; want %+v", tc.name, i, got.CFA, got.RA, want)
			}
		}
	}
}

// TestCopyLink: the function that the link register leads back to is copied though no word of the stack does.
func TestCopyLink(t *testing.T) {
	g, _ := hostARM64.stage(t, func(*memory.Image) {})
	copied := func() bool {
		var f snapshot.Fetcher
		f.Run([]snapshot.Copier{g.r}, g.thread, g.memory)
		for _, r := range g.thread.Copied {
			if r.Start == imageBase {
				return true
			}
		}
		return false
	}
	if copied() {
		t.Error("a header was copied for a thread without WebAssembly")
	}
	g.thread.Copied = nil
	g.thread.Registers.Set(regs.ARM64LR, alpha|hostARM64.signature)
	if !copied() {
		t.Error("the header was not copied")
	}
}

// TestCopyParent: the stack that a fiber was resumed from is copied, by what each machine saves there.
func TestCopyParent(t *testing.T) {
	for _, m := range []machine{hostAMD64, hostARM64} {
		const parent = mem.Addr(0x12000) // in the heap of the stage
		g, _ := m.stage(t, func(*memory.Image) {})
		saved := ports[m.elf].saved
		heap := g.heap[parent-heapAt:]
		order.PutUint64(heap[8*saved-8:], alpha|m.signature)
		end := 0x1000 - 0x100
		g.thread.Stack.Data = make([]byte, end)
		order.PutUint64(g.thread.Stack.Data[end-16:], uint64(parent))
		var f snapshot.Fetcher
		f.Run([]snapshot.Copier{g.r}, g.thread, g.memory)
		above := false
		for _, r := range g.thread.Copied {
			above = above || r.Start == parent+mem.Addr(8*saved)
		}
		if !above {
			t.Errorf("%s: copied %v", m.arch.Name, g.thread.Copied)
		}
	}
}
