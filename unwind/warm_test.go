package unwind_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// differ says how two stacks differ, "" if they do not.
func differ(got, want unwind.Stack) string {
	if !slices.Equal(got.Frames, want.Frames) {
		return fmt.Sprintf("frames\ngot  %+v\nwant %+v", got.Frames, want.Frames)
	}
	if got.Stop != want.Stop || fmt.Sprint(got.Err) != fmt.Sprint(want.Err) {
		return fmt.Sprintf("end: got %v (%v), want %v (%v)", got.Stop, got.Err, want.Stop, want.Err)
	}
	return ""
}

// withPrograms are the recordings that have their program beside them; those of runtimes, which a room below vm walks,
// have parts of it or none.
func withPrograms(t *testing.T) (files []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(recorded, "*", "*.snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		program := path.Base(read(t, file).Process.Exe) + ".elf.gz"
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), program)); err == nil {
			files = append(files, file)
		}
	}
	if len(files) < 20 {
		t.Fatalf("%d recordings with their programs, want 20 or more", len(files))
	}
	return files
}

// A Walker that has seen all threads of a recording gives the stacks that a new one gives, at
// any limit, in the memory of other stacks.
func TestWarmWalkIsTheColdWalk(t *testing.T) {
	for _, file := range withPrograms(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".snapshot")
		t.Run(name, func(t *testing.T) {
			r := replay(t, filepath.Base(filepath.Dir(file)), name)
			warm := unwind.NewWalker(r.set, r)
			var got unwind.Stack
			for range 3 {
				warm.Renew()
				for i := range r.Threads {
					th := &r.Threads[i]
					memory := r.Reader(th, nil)
					for _, limit := range []int{0, 1, 2, 3, 5, 1000} {
						opt := unwind.Options{MaxFrames: limit}
						soil(got.Frames[:cap(got.Frames)])
						warm.WalkInto(&got, th, memory, opt)
						if d := differ(got, unwind.NewWalker(r.set, r).Walk(th, memory, opt)); d != "" {
							t.Fatalf("thread %d, limit %d: %s", i, limit, d)
						}
					}
				}
			}
		})
	}
}

// soil writes what a runtime may have left in frames whose memory is used again.
func soil(frames []unwind.Frame) {
	for i := range frames {
		frames[i] = unwind.Frame{CFA: 1, Kept: 1, Site: 1, Signal: true, Stub: true, Unsure: true, Gap: true,
			Note: "old"}
	}
}

// wordByWord is the memory of those ranges in which no two words of the stack at sp were copied together, so that
// no step is a quick one.
func wordByWord(a *regs.Arch, sp mem.Addr, ranges ...mem.Range) *mem.Overlay {
	var words []mem.Range
	for _, r := range ranges {
		size := len(r.Data)
		if uint64(sp-r.Start) < uint64(size) {
			size = a.WordSize
		}
		for i := 0; i < len(r.Data); i += size {
			words = append(words, mem.Range{Start: r.Start + mem.Addr(i), Data: r.Data[i:min(i+size, len(r.Data))]})
		}
	}
	return mem.NewOverlay(nil, words...)
}

// A walk that climbs gives the stacks that one does which reads word by word.
func TestClimbIsTheSlowWalk(t *testing.T) {
	for _, file := range withPrograms(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".snapshot")
		t.Run(name, func(t *testing.T) {
			r := replay(t, filepath.Base(filepath.Dir(file)), name)
			w := unwind.NewWalker(r.set, r)
			for _, opt := range []unwind.Options{{}, {MaxFrames: 3}, {Mode: unwind.FramePointersOnly}} {
				for i := range r.Threads {
					th := &r.Threads[i]
					memory := r.Reader(th, nil)
					ranges := slices.Concat([]mem.Range{th.Stack}, th.Copied, r.Memory)
					slow := w.Walk(th, wordByWord(th.Registers.Arch, th.Stack.Start, ranges...), opt)
					for range 2 { // the second time code has been read
						if d := differ(w.Walk(th, memory, opt), slow); d != "" {
							t.Fatalf("thread %d, %+v: %s", i, opt, d)
						}
					}
				}
			}
		})
	}
}

// Recordings end at their root: with warm tables such a walk allocates nothing.
func TestWarmWalkAllocatesNothing(t *testing.T) {
	for _, name := range []string{"chain-nofp", "chain-pac", "golang-frame", "blocked"} {
		r := replay(t, "arm64", name)
		w, th := unwind.NewWalker(r.set, r), &r.Threads[0]
		memory, s := r.Reader(th, nil), unwind.Stack{}
		n := testing.AllocsPerRun(100, func() { w.WalkInto(&s, th, memory, unwind.Options{}) })
		if n != 0 || s.Stop != unwind.Root {
			t.Errorf("%s: got %v allocations and stop %v, want 0 and %v", name, n, s.Stop, unwind.Root)
		}
	}
}

// Code that no file holds is replaced in place, as by a just-in-time compiler.
func TestCodeReplacedInPlace(t *testing.T) {
	popRet := []byte{0x5d, 0xc3}                       // pop rbp; ret
	addRet := []byte{0x48, 0x83, 0xc4, 0x10, 0xc3}     // add rsp, 16; ret
	noCall := []byte{0x90, 0x90, 0x90, 0x90, 0x90}     // five nops
	call := []byte{0xe8, 0, 0, 0, 0}                   // call next
	trap := []byte{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0x0f} // begins as a signal trampoline does
	for _, tc := range []struct {
		name          string
		at            int // where code is replaced
		before, after []byte
		want, now     string
	}{
		{"the function at the top ends in another way", 0x800, popRet, addRet,
			"0x10800(context) 0x10100(code) 0x10200(frame pointer) no rule",
			"0x10800(context) 0x10300(code) 0x10200(frame pointer) no rule"},
		{"a call is no longer there", 0x100 - 5, call, noCall,
			"0x10800(context) 0x10100(code) 0x10200(frame pointer) no rule",
			"0x10800(context) 0x10200(frame pointer) no rule"},
		{"a call is there now", 0x100 - 5, noCall, call,
			"0x10800(context) 0x10200(frame pointer) no rule",
			"0x10800(context) 0x10100(code) 0x10200(frame pointer) no rule"},
		{"a trampoline is there now", 0x800, popRet, restoreRT,
			"0x10800(context) 0x10100(code) 0x10200(frame pointer) no rule",
			"0x10800(context) 0xdead4b1ddead4b1d(context) read fault"},
		{"other bytes, the same meaning", 0x810, trap, call,
			"0x10800(context) 0x10100(code) 0x10200(frame pointer) no rule",
			"0x10800(context) 0x10100(code) 0x10200(frame pointer) no rule"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDrawn(regs.AMD64)
			d.call(0x100)
			d.call(0x200)
			d.call(0x300)
			d.put(0x800, popRet...).put(tc.at, tc.before...)
			// At 0x10800 "pop rbp; ret" returns to 0x10100, "add rsp, 16; ret" to 0x10300, and
			// rbp is "fp" behind both; the record there leads to 0x10200. At 0x10100 and 0x10300
			// int3 stands: the frame pointer counts. A trampoline finds PC 168 bytes above SP.
			d.stack.Ref("fp").Word(0x10100).Word(0x10300).Label("fp").Word(0).Word(0x10200).Skip(40)
			table := maps.NewTable([]maps.Mapping{
				{Start: codeBase, End: codeEnd, Perm: maps.Read | maps.Write | maps.Exec},
				{Start: stackBase, End: stackEnd, Perm: maps.Read | maps.Write, Path: "[stack]"},
			})
			stack := d.stack.Range()
			memory := mem.NewOverlay(mem.NewOverlay(nil, mem.Range{Start: codeBase, Data: d.code}), stack)
			r := regs.New(regs.AMD64)
			r.Set(regs.AMD64RIP, 0x10800)
			r.Set(regs.AMD64RSP, stackBase+0x1000)
			r.Set(regs.AMD64RBP, uint64(d.stack.Addr("fp")))
			th := &snapshot.Thread{TID: 1, Registers: &r, Stack: stack}
			set := module.NewSet(table, module.Image{Memory: memory})
			w := unwind.NewWalker(set, nil)
			var s unwind.Stack
			for range 3 {
				w.WalkInto(&s, th, memory, unwind.Options{})
				if got := show(s); got != tc.want {
					t.Fatalf("before:\ngot  %s\nwant %s (%v)", got, tc.want, s.Err)
				}
			}
			d.put(tc.at, tc.after...)
			for range 3 {
				w.Renew()
				w.WalkInto(&s, th, memory, unwind.Options{})
				if got := show(s); got != tc.now {
					t.Fatalf("after:\ngot  %s\nwant %s (%v)", got, tc.now, s.Err)
				}
			}
		})
	}
}

// Mappings change under a Walker: what is no longer executable is no return address.
func TestMappingsChange(t *testing.T) {
	d := newDrawn(regs.AMD64)
	d.stack.Label("fp").Ref("fp2").Word(d.call(0x100)).Label("fp2").Word(0).Word(d.call(0x200))
	with := func(perm maps.Perm) *maps.Table {
		return maps.NewTable([]maps.Mapping{
			{Start: codeBase, End: codeEnd, Perm: perm},
			{Start: stackBase, End: stackEnd, Perm: maps.Read | maps.Write, Path: "[stack]"},
		})
	}
	stack := d.stack.Range()
	memory := mem.NewOverlay(mem.NewOverlay(nil, mem.Range{Start: codeBase, Data: d.code}), stack)
	r := regs.New(regs.AMD64)
	r.Set(regs.AMD64RIP, 0x10800)
	r.Set(regs.AMD64RSP, stackBase+0x1000)
	r.Set(regs.AMD64RBP, uint64(d.stack.Addr("fp")))
	th := &snapshot.Thread{TID: 1, Registers: &r, Stack: stack}
	set := module.NewSet(with(maps.Read|maps.Exec), module.Image{Memory: memory})
	w := unwind.NewWalker(set, nil)
	for i, row := range []struct {
		perm maps.Perm
		want string
	}{
		{maps.Read | maps.Exec, "0x10800(context) 0x10100(frame pointer) 0x10200(frame pointer) no rule"},
		{maps.Read, "0x10800(context) no rule"},
		{maps.Read | maps.Exec, "0x10800(context) 0x10100(frame pointer) 0x10200(frame pointer) no rule"},
	} {
		set.Update(with(row.perm))
		if s := w.Walk(th, memory, unwind.Options{}); show(s) != row.want {
			t.Errorf("mappings %d:\ngot  %s\nwant %s (%v)", i, show(s), row.want, s.Err)
		}
	}
}
