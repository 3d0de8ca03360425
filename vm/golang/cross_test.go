package golang_test

import (
	"debug/elf"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
)

// scheduled is what a test writes into the structures of Go's runtime.
type scheduled struct {
	low, high uint64 // of the stack of g0
	sp        uint64 // in g.sched
	curg      bool   // the m has a goroutine
	old       bool   // gobuf has the unused word ret of older releases
}

const (
	runtimeBase = 0x6fff00000000 // of the drawn structures
	// newstackReturn is the offset in runtime.morestack behind "BL runtime.newstack", asm_arm64.s:507 in
	// `go tool objdump`; the fixture has no code of the runtime.
	newstackReturn = 0x70
)

// draw lays out g0, m and g. Layout: type g, gobuf and m in runtime/runtime2.go.
func (s scheduled) draw(pc, lr, fp uint64) *memory.Image {
	i := memory.NewImage(runtimeBase, 8, binary.LittleEndian)
	i.Label("g0").Word(s.low).Word(s.high).Skip(4).Ref("m").Skip(8)
	i.Label("m").Ref("g0").Skip(10).Ref("gsignal").Ref("g0").Skip(11)
	if s.curg {
		i.Ref("g")
	} else {
		i.Word(0)
	}
	i.Skip(20)
	i.Label("gsignal").Skip(6).Ref("m").Word(0).Word(0).Skip(8)
	i.Label("g").Word(0x4000000000).Word(0x4000008000).Skip(4).Ref("m").Word(s.sp).Word(pc).Ref("g").Word(0)
	if s.old {
		i.Word(0)
	}
	return i.Word(lr).Word(fp).Word(0).Skip(4)
}

// callOf returns the address behind the call of one function in another: "BL target" is
// 0b100101 and the distance in instructions (Arm Architecture Reference Manual, C6.2.35).
func (r *replayed) callOf(t *testing.T, caller, target string) uint64 {
	t.Helper()
	from, to := r.symbol(t, caller), r.symbol(t, target)
	text := r.program.Section(".text")
	code, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	for at := from.Value; at < from.Value+from.Size; at += 4 {
		word := binary.LittleEndian.Uint32(code[at-text.Addr:])
		if word>>26 == 0b100101 && at+uint64(int64(int32(word<<6)>>6)*4) == to.Value {
			return at + 4
		}
	}
	t.Fatalf("%s does not call %s", caller, target)
	return 0
}

// TestGrowingGoroutine draws the moment in which main.beta, called by main.alpha, was found to
// need a larger stack, over the recorded stack of such a goroutine.
func TestGrowingGoroutine(t *testing.T) {
	const all = "main.beta!(context) main.alpha(pcsp) main.main(pcsp) runtime.main(pcsp) runtime.goexit.abi0(pcsp) root"
	for _, tc := range []struct {
		name   string
		runs   string // the innermost function
		change func(s *scheduled, r *regs.Registers)
		want   string
		why    string
	}{
		{"grows", "runtime.newstack", func(*scheduled, *regs.Registers) {}, all, ""},
		{"grows, older gobuf", "runtime.newstack", func(s *scheduled, _ *regs.Registers) { s.old = true }, all, ""},
		{"gave the thread away", "runtime.goschedImpl", func(*scheduled, *regs.Registers) {}, "root", ""},
		{"current g is not known", "runtime.newstack", func(_ *scheduled, r *regs.Registers) { r.Forget(28) },
			"no rule", "x28"},
		{"no g", "runtime.newstack", func(_ *scheduled, r *regs.Registers) { r.Set(28, 0x10) }, "read fault", "read g"},
		{"g of another thread", "runtime.newstack", func(s *scheduled, _ *regs.Registers) { s.high = s.low + 64 },
			"no rule", "not of this thread"},
		{"runs again", "runtime.newstack", func(s *scheduled, _ *regs.Registers) { s.sp = 0 }, "no rule", "no longer"},
		{"went to another thread", "runtime.newstack", func(s *scheduled, _ *regs.Registers) { s.curg = false },
			"no rule", "no longer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := replay(t, "arm64", "golang-systemstack")
			th := &r.Threads[0]
			was := r.walk(th)
			beta, alpha := frameOf(t, r, was, "main.beta"), frameOf(t, r, was, "main.alpha")
			sp, _ := th.Registers.SP()

			next := *th.Registers
			s := scheduled{low: uint64(sp) - 4096, high: uint64(sp) + 8192, sp: uint64(beta.CFA), curg: true}
			next.Set(28, runtimeBase)
			tc.change(&s, &next)
			next.Set(regs.ARM64.PC, r.symbol(t, tc.runs).Value)
			next.Set(regs.ARM64.LR, r.symbol(t, "runtime.morestack.abi0").Value+newstackReturn)
			next.Set(regs.ARM64.FP, 0)
			th.Registers = &next
			i := s.draw(r.callOf(t, "main.beta", "runtime.morestack_noctxt.abi0"), uint64(alpha.PC), 0)
			th.Copied = []mem.Range{i.Range()}

			got := r.walk(th)
			want := tc.runs + "(context) runtime.morestack.abi0(pcsp) " + tc.want
			if show := r.show(got); show != want {
				t.Errorf("got  %s\nwant %s", show, want)
			}
			if (tc.why == "") != (got.Err == nil) || got.Err != nil && !strings.Contains(got.Err.Error(), tc.why) {
				t.Errorf("reason: got %v, want %q in it", got.Err, tc.why)
			}
		})
	}
}

// frameOf returns the frame of a function.
func frameOf(t *testing.T, r *replayed, s unwind.Stack, name string) unwind.Frame {
	t.Helper()
	for i := range s.Frames {
		if r.name(&s.Frames[i]) == name {
			return s.Frames[i]
		}
	}
	t.Fatalf("no frame of %s in %s", name, r.show(s))
	return unwind.Frame{}
}

// symbol returns the function of that name.
func (r *replayed) symbol(t *testing.T, name string) elf.Symbol {
	t.Helper()
	i := slices.IndexFunc(r.symbols, func(y elf.Symbol) bool { return y.Name == name })
	if i < 0 {
		t.Fatalf("no symbol %s", name)
	}
	return r.symbols[i]
}
