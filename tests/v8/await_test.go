//go:build linux

package v8

import (
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tracer"
)

// TestAwait: a dump has the async functions that wait for the running one, as Error.stack says, between it and what
// has resumed it. What a recording copies shows none.
func TestAwait(t *testing.T) {
	for _, version := range versions(t) {
		if !*full && !slices.Contains(quickMajors, majorOf(version)) {
			continue
		}
		for _, m := range modes(majorOf(version)) {
			if *full || slices.Contains(quickModes, m.name) {
				t.Run(version+"/"+m.name, func(t *testing.T) { checkAwait(t, start(t, version, m.flags, "await.js")) })
			}
		}
	}
}

func checkAwait(t *testing.T, x *target) {
	if len(x.Awaits) < 5 {
		t.Fatalf("the script says that %d functions wait", len(x.Awaits))
	}
	for range 20 {
		s, err := x.Snapshot(t.Context(), tracer.StopOptions{Copiers: x.Runtimes.DumpCopiers()})
		if err != nil {
			t.Fatal(err)
		}
		x.Set.Update(s.Maps)
		x.Walker.Renew()
		for _, short := range s.Problems {
			t.Log(short)
		}
		x.compareAwaits(t, &x.Stacks(s)[0])
	}
	recorded := x.Stacks(x.Stop(t))[0]
	if slices.ContainsFunc(recorded.Frames, func(f profile.Frame) bool { return f.Async }) {
		t.Error("a sample of a recording has functions that are not on the stack")
	}
}

func (x *target) compareAwaits(t *testing.T, s *profile.Stack) {
	var got []*profile.Frame
	before := ""
	for i := range s.Frames {
		switch f := &s.Frames[i]; {
		case f.Async:
			got = append(got, f)
		case len(got) == 0 && f.File != "" && !f.Stub:
			before = f.Func
		}
	}
	if len(got) != len(x.Awaits) || before != "inner" {
		x.describe(t, s)
		t.Fatalf("%d functions wait for %s, want %d for inner", len(got), before, len(x.Awaits))
	}
	for i, f := range got {
		w := x.Awaits[i]
		name, marked := strings.CutPrefix(f.Func, profile.AsyncPrefix)
		if !marked || last(name) != w.function || f.File != w.file || f.Line != w.line || f.Note != "" {
			t.Errorf("%d: %s %s:%d (%s), want async %s %s:%d", i, f.Func, f.File, f.Line, f.Note, w.function,
				w.file, w.line)
		}
	}
}
