//go:build linux

package wasm

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
)

// walk walks the stack of th by runtimes of their own that know of the process what m has.
func (h *target) walk(snap *snapshot.Snapshot, th *snapshot.Thread, m mem.Reader) (unwind.Stack, []walked.Step, error) {
	return walked.Steps(h.set, h.image, m, snap, th, func(f *profile.Frame) string {
		return fmt.Sprintf("%s+%#x %s@%#x", f.Func, f.Offset, f.File, f.ModuleAddr)
	})
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
	named := slices.ContainsFunc(whole, func(s walked.Step) bool { return s.Name != "" })
	if err != nil || s.Stop != unwind.Root || !named {
		h.t.Fatalf("not whole: %v %v %v", err, s.Stop, whole)
	}
	facts := func(th *snapshot.Thread) []string {
		return h.runtimes.ThreadFacts(&snapshot.Snapshot{Threads: []snapshot.Thread{*th}})[th.TID].Facts
	}
	all, cases := facts(th), 0
	if len(all) != 1 {
		h.t.Errorf("of which store it is: %q", all)
	}
	try := func(what string, th *snapshot.Thread, m mem.Reader) {
		cases++
		s, got, err := h.walk(snap, th, m)
		if wrong := walked.Less(&s, got, whole, err, lesser); wrong != "" {
			h.t.Errorf("%s: %s\n%s\nwant\n%s", what, wrong, walked.Show(&s, got, err), walked.Show(nil, whole, nil))
		}
		if f := facts(th); len(f) > 0 && !slices.Equal(f, all) {
			h.t.Errorf("%s: %q, want %q or nothing", what, f, all)
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
