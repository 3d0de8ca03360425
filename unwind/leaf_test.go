package unwind_test

import (
	"debug/elf"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// unstopped is t as it is known without a stop.
func unstopped(t *snapshot.Thread) *snapshot.Thread {
	u := *t
	u.Registers, u.Arch = nil, regs.ARM64
	u.Stack.Data = slices.Clone(t.Stack.Data)
	return &u
}

// sleepers are the threads of golang-leaf that sleep in runtime.futex.
func (r *replayed) sleepers(t *testing.T) (all []*snapshot.Thread) {
	t.Helper()
	for i := range r.Threads {
		th := &r.Threads[i]
		if s := r.walk(th); th.Syscall != nil && r.name(&s.Frames[0]) == "runtime.futex.abi0" {
			all = append(all, th)
		}
	}
	if len(all) == 0 {
		t.Fatal("no thread sleeps in runtime.futex")
	}
	return all
}

// Of a sleeper that was not stopped the link register is not known. The frames of one in runtime.futex, which has no
// frame, are those that its registers give.
func TestReplayARM64LeafOfSleeper(t *testing.T) {
	for _, file := range []string{"golang-leaf", "golang-frame", "golang-systemstack"} {
		r := replay(t, "arm64", file)
		for _, th := range r.sleepers(t) {
			want, got := r.walk(th), r.walk(unstopped(th))
			if got.Stop != unwind.Root || len(got.Frames) != len(want.Frames) {
				t.Errorf("%s, thread %d (%v):\ngot  %s\nwant %s", file, th.TID, got.Err, r.show(got), r.show(want))
				continue
			}
			for i, f := range got.Frames {
				// A call that a stop ended begins again.
				w := want.Frames[i]
				if f.PC != w.PC && i > 0 || f.SP != w.SP || f.CFA != w.CFA || f.Note != "" {
					t.Errorf("%s, thread %d, frame %d: got %+v, want %+v", file, th.TID, i, f, w)
				}
			}
			r.checkCalls(t, got)
		}
	}
}

// What does not prove the caller of such a function leaves the stack cut.
func TestReplayARM64LeafNotProved(t *testing.T) {
	const blr, nop, ret = 0xd63f0060, 0xd503201f, 0xd65f03c0
	const stpZero, stpSP = 0xa901ffff, 0xa901ffe0 // stp xzr, xzr, [sp, #24] and stp x0, xzr, [sp, #24]
	for _, tc := range []struct {
		name   string
		change func(r *replayed, th *snapshot.Thread)
	}{
		{"two calls that wrote the same", func(r *replayed, _ *snapshot.Thread) {
			r.replace("runtime.futexsleep", stpSP, stpZero)
		}},
		{"a call that wrote something else", func(_ *replayed, th *snapshot.Thread) { putWord(th, 24, 8) }},
		{"another word at SP", func(_ *replayed, th *snapshot.Thread) { putWord(th, 0, 8) }},
		{"return address of another function at SP", func(r *replayed, th *snapshot.Thread) {
			s := r.walk(th)
			putWord(th, 0, uint64(s.Frames[3].PC))
		}},
		{"a call through a register beside it", func(r *replayed, _ *snapshot.Thread) {
			r.replace("runtime.futexsleep", nop, blr)
		}},
		{"a caller that keeps its return address elsewhere", func(r *replayed, _ *snapshot.Thread) {
			r.replace("runtime.futexsleep", 0xf81b0ffe, 0xd10143ff) // str x30, [sp, #-80]!: sub sp, sp, #80
		}},
		{"a function that has called others", func(r *replayed, _ *snapshot.Thread) {
			r.replace("runtime.futex.abi0", 0xf94007e0, 0x94000000) // ldr x0, [sp, #8]: bl
		}},
		{"a function that has a frame", func(r *replayed, _ *snapshot.Thread) {
			r.replace("runtime.futex.abi0", 0xf94007e0, 0xd10083ff) // ldr x0, [sp, #8]: sub sp, sp, #32
		}},
		{"a function that writes its arguments, and two calls", func(r *replayed, _ *snapshot.Thread) {
			r.replace("runtime.futex.abi0", 0xf94007e0, 0xf9000fe0) // ldr x0, [sp, #8]: str x0, [sp, #24]
		}},
		{"no code of the caller", func(r *replayed, _ *snapshot.Thread) {
			r.replace("runtime.futexsleep", 0xf81b0ffe, ret)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := replay(t, "arm64", "golang-leaf")
			th := unstopped(r.sleepers(t)[0])
			if s := r.walk(th); s.Stop != unwind.Root {
				t.Fatalf("unchanged: %s (%v)", r.show(s), s.Err)
			}
			tc.change(r, th)
			if s := r.walk(th); len(s.Frames) != 1 || s.Stop != unwind.NoRule {
				t.Errorf("got %s (%v), want its innermost frame alone", r.show(s), s.Err)
			}
		})
	}
}

// putWord writes a word into the copied stack of t, off bytes from SP.
func putWord(t *snapshot.Thread, off mem.Addr, v uint64) {
	binary.LittleEndian.PutUint64(t.Stack.Data[t.Syscall.SP+off-t.Stack.Start:], v)
}

// replace puts another instruction in the place of the first old one of a function.
func (r *replayed) replace(name string, old, instruction uint32) {
	y := r.symbols[slices.IndexFunc(r.symbols, func(y elf.Symbol) bool { return y.Name == name })]
	at := y.Value
	for r.instruction(at) != old {
		at += 4
	}
	text := r.program.Section(".text")
	binary.LittleEndian.PutUint32(r.file[text.Offset+at-text.Addr:], instruction)
}
