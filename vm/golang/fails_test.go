package golang_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/golang"
)

// cut says what of a stack is neither as in the whole one nor missing with a mark, "" for nothing.
func cut(got, whole *unwind.Stack) string {
	marked := got.Stop != unwind.Root
	at := 0
	for i := range got.Frames {
		f := &got.Frames[i]
		marked = marked || f.Note != "" || f.Gap
		n := slices.IndexFunc(whole.Frames[at:], func(w unwind.Frame) bool { return w.PC == f.PC && w.SP == f.SP })
		if n != 0 && !marked {
			return fmt.Sprintf("frame %d at %#x is another's", i, uint64(f.PC))
		}
		at += n + 1
	}
	if at < len(whole.Frames) && !marked {
		return fmt.Sprintf("%d frames of %d, and nothing says so", len(got.Frames), len(whole.Frames))
	}
	return ""
}

// TestEveryReadFails: whatever was not copied of a thread that is on its system stack, or grows the goroutine's, its
// stack is whole or ends with a reason.
func TestEveryReadFails(t *testing.T) {
	for _, name := range []string{"golang-frame", "golang-leaf", "golang-systemstack"} {
		r := replay(t, "arm64", name)
		for i := range r.Threads {
			th := r.Threads[i]
			whole := r.walk(&th)
			try := func(what string, th *snapshot.Thread) {
				got := r.walk(th)
				if wrong := cut(&got, &whole); wrong != "" {
					t.Errorf("%s: thread %d %s: %s\ngot  %s\nwant %s", name, th.TID, what, wrong, r.show(got),
						r.show(whole))
				}
			}
			memory.EachCut(len(th.Copied), len(th.Copied), func(what string, edit func([]mem.Range) []mem.Range) {
				less := th
				less.Copied = edit(th.Copied)
				try(what, &less)
			})
			for n := 0; n < len(th.Stack.Data); n += 64 {
				less := th
				less.Stack.Data = th.Stack.Data[:n]
				try(fmt.Sprintf("with %d bytes of its stack", n), &less)
			}
		}
	}
}

// listed is what a list of goroutines shows of one, with its stack.
type listed struct {
	text  string
	stack unwind.Stack
	why   string // what is missing
}

// list lists the goroutines of a snapshot of a program whose memory is read before the stop by m.
func (r *replayed) list(t *testing.T, m mem.Reader) (all map[uint64]listed, err error) {
	t.Helper()
	pc, _ := r.Threads[0].Registers.PC()
	g, err := golang.New(r.set.Find(pc), module.Image{Memory: m})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.OpenFibers(); err != nil {
		return nil, err
	}
	fibers, err := g.Fibers(r.Snapshot)
	all = map[uint64]listed{}
	for i := range fibers {
		f := &fibers[i]
		one := listed{text: fmt.Sprint(f.State, f.CreatedBy, f.Creator, f.Locked, f.System, f.Waits), why: f.Missing}
		if f.Thread.Registers != nil {
			one.stack = r.walk(&f.Thread)
		}
		all[f.ID] = one
	}
	return all, err
}

// TestEveryReadOfListFails: whatever was not copied of the goroutines, or not read before the stop, those that are
// listed are as they are, or say what is missing, and that some are missing is said.
func TestEveryReadOfListFails(t *testing.T) {
	r := replay(t, "amd64", "goroutines")
	all := r.Over(nil, slices.Concat(r.Memory, r.Running)...)
	count := &memory.Failing{Reader: all}
	whole, err := r.list(t, count)
	if err != nil || len(whole) < 7 || count.N < 10 {
		t.Fatalf("%d goroutines, %d reads, %v", len(whole), count.N, err)
	}
	check := func(what string, got map[uint64]listed, err error) {
		if len(got) < len(whole) && err == nil {
			t.Errorf("%s: %d goroutines of %d, and nothing says so", what, len(got), len(whole))
		}
		for id, g := range got {
			want, ok := whole[id]
			if !ok || g.text != want.text {
				t.Errorf("%s: goroutine %d is %s, want %s", what, id, g.text, want.text)
			} else if wrong := cut(&g.stack, &want.stack); wrong != "" && g.why == "" {
				t.Errorf("%s: goroutine %d: %s", what, id, wrong)
			}
		}
	}
	memory.EachRead(all, count.N, count.N, func(what string, m *memory.Failing) {
		got, err := r.list(t, m)
		check(what, got, err)
	})
	copied := r.Whole
	memory.EachCut(len(copied), len(copied), func(what string, edit func([]mem.Range) []mem.Range) {
		r.Whole = edit(copied)
		got, err := r.list(t, all)
		check(what, got, err)
	})
	t.Logf("%d reads, %d ranges", count.N, len(copied))
}
