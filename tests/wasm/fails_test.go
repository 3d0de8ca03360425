//go:build linux && amd64

package wasm

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// step is a frame of a stack as far as a runtime and the walk say what it is.
type step struct {
	pc, cfa mem.Addr
	name    string // as WebAssembly, "" for none
}

// walk walks the stack of th by runtimes of their own that know of the process what m has.
func (h *target) walk(snap *snapshot.Snapshot, th *snapshot.Thread, m mem.Reader) (unwind.Stack, []step, error) {
	image := h.image
	image.Memory = m
	runtimes := vm.NewTable(vm.Kinds, nil).Process(image)
	runtimes.Scan(h.set)
	w := unwind.NewWalker(h.set, h.names)
	w.Use(runtimes)
	s := w.Walk(th, snap.Reader(th, m), unwind.Options{})
	var steps []step
	for i := range s.Frames {
		f := &s.Frames[i]
		out := step{pc: f.PC, cfa: f.CFA}
		if r, ok := f.Runtime.(resolve.SiteNamer); ok && f.Site != 0 {
			for _, n := range r.Frames(f.Site) {
				out.name += fmt.Sprintf("%s+%#x %s@%#x;", n.Func, n.Offset, n.File, n.ModuleAddr)
			}
		}
		steps = append(steps, out)
	}
	return s, steps, runtimes.Err()
}

// lesser is a name as far as it is known without what an image may lack, which is told: places, names of any bytes.
func lesser(name string) string {
	frame, _, _ := strings.Cut(name, "@")
	return strings.ReplaceAll(frame, "na\u00efve name<with, spaces>", "na?ve?name<with,?spaces>")
}

// later is the memory of a process in which another module has come to the place of one: its names are others.
type later struct{ mem.Reader }

func (l later) ReadMem(b []byte, a mem.Addr) (int, error) {
	n, err := l.Reader.ReadMem(b, a)
	for _, name := range []string{"import_", "recurse", "again_", "step", "foo"} {
		copy(b[:n], bytes.ReplaceAll(b[:n], []byte(name), []byte(strings.ToUpper(name))))
	}
	return n, err
}

// less says what of a stack is neither as in the whole one nor missing with a mark, "" for nothing.
func less(s *unwind.Stack, got, whole []step, problem error) string {
	marked := problem != nil || s.Stop != unwind.Root
	at := 0
	for i := range got {
		f := &s.Frames[i]
		marked = marked || f.Note != "" || f.Gap
		n := slices.IndexFunc(whole[at:], func(w step) bool { return w.pc == got[i].pc && w.cfa == got[i].cfa })
		switch {
		case n < 0 && !marked:
			return fmt.Sprintf("frame %d, %#x, is another's", i, uint64(f.PC))
		case n < 0:
			continue
		case n > 0 && !marked:
			return fmt.Sprintf("frames before %d are missing without a mark", i)
		}
		at += n + 1
		switch want := whole[at-1].name; {
		case got[i].name == "" && want != "" && f.Note == "" && problem == nil:
			return fmt.Sprintf("frame %d has no name, and does not say why", i)
		case got[i].name != "" && got[i].name != want && !f.Unsure &&
			(problem == nil && f.Note == "" || lesser(got[i].name) != lesser(want)):
			return fmt.Sprintf("frame %d is %s, want %s", i, got[i].name, want)
		}
	}
	if at < len(whole) && !marked {
		return "its end is missing without a mark"
	}
	return ""
}

// TestEveryReadFails: whichever read of the target fails, and whatever was not copied in the stop, what is shown of a
// stack is as it is, or less and marked.
func TestEveryReadFails(t *testing.T) {
	for _, mode := range []string{"names", "again", "fibersleep"} {
		t.Run(mode, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, v string) {
				h := start(t, "host-v"+v, mode)
				snap, err := h.p.Snapshot(context.Background(), tracer.StopOptions{TIDs: []int{h.pid},
					Copiers: h.runtimes.Copiers()})
				if err != nil {
					t.Fatal(err)
				}
				h.everyReadFails(snap, &snap.Threads[0])
			})
		})
	}
}

func (h *target) everyReadFails(snap *snapshot.Snapshot, th *snapshot.Thread) {
	reads := &memory.Failing{Reader: h.image.Memory}
	s, whole, err := h.walk(snap, th, reads)
	named := slices.ContainsFunc(whole, func(s step) bool { return s.name != "" })
	if err != nil || s.Stop != unwind.Root || !named {
		h.t.Fatalf("not whole: %v %v %v", err, s.Stop, whole)
	}
	cases := 0
	try := func(what string, th *snapshot.Thread, m mem.Reader) {
		cases++
		s, got, err := h.walk(snap, th, m)
		if wrong := less(&s, got, whole, err); wrong != "" {
			h.t.Errorf("%s: %s\n%s\nwant\n%s", what, wrong, show(&s, got, err), show(nil, whole, nil))
		}
	}
	memory.EachCut(len(th.Copied), 24, func(what string, edit func([]mem.Range) []mem.Range) {
		less := *th
		less.Copied = edit(th.Copied)
		try(what, &less, h.image.Memory)
		try(what+", nor what is read later", &less, &memory.Failing{Reader: h.image.Memory, At: 1, All: true})
		if len(less.Copied) == len(th.Copied) {
			try(what+", and another module is there later", &less, later{h.image.Memory})
		}
	})
	memory.EachRead(h.image.Memory, reads.N, 40, func(what string, m *memory.Failing) {
		try(what, th, m)
		try(what+", and those behind it", th, &memory.Failing{Reader: m.Reader, At: m.At, All: true})
	})
	h.t.Logf("%d cases, %d reads, %d ranges", cases, reads.N, len(th.Copied))
}

// show is a stack for messages.
func show(s *unwind.Stack, steps []step, problem error) string {
	var b strings.Builder
	for i, p := range steps {
		fmt.Fprintf(&b, "  %2d %#x %#x %s", i, uint64(p.pc), uint64(p.cfa), p.name)
		if s != nil {
			fmt.Fprintf(&b, " {%v %s}", s.Frames[i].Origin, s.Frames[i].Note)
		}
		b.WriteByte('\n')
	}
	if s != nil {
		fmt.Fprintf(&b, "  %v %v; %v", s.Stop, s.Err, problem)
	}
	return b.String()
}
