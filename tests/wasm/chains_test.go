//go:build linux

package wasm

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// TestChains stops hosts in each mode at random times and compares each stack with those that it can be.
func TestChains(t *testing.T) {
	for _, tc := range []struct {
		mode    string
		samples int
		chain   [][]string
		more    [][]string
	}{
		{mode: "work", samples: 200, chain: [][]string{workChain, {"host_call", "run_work", "main"}}},
		{mode: "sleep", samples: 5, chain: [][]string{importChain, {"host_call", "run_sleep", "main"}}},
		{mode: "spin", samples: 50, chain: [][]string{importChain, {"host_call", "run_spin", "main"}}},
		{mode: "names", samples: 5, chain: [][]string{namesChain, {"host_call", "run_names", "main"}}},
		{mode: "again", samples: 5, chain: [][]string{importChain, againChain, {"host_call", "run_again", "main"}}},
		{mode: "againwork", samples: 200,
			chain: [][]string{workChain, againChain, {"host_call", "run_again_work", "main"}}},
		{mode: "two", samples: 100,
			chain: [][]string{workChain, {"other_leaf", "other_work", "host_call", "run_two", "main"}}},
		{mode: "twosleep", samples: 5,
			chain: [][]string{importChain, {"other_leaf", "other_import", "host_call", "run_two_sleep", "main"}}},
		{mode: "file", samples: 100, chain: [][]string{workChain, {"host_call", "run_file", "main"}}},
		{mode: "fiber", samples: 200, chain: [][]string{workChain, {"run_async", "run_fiber", "main"}}},
		{mode: "fibersleep", samples: 5, chain: [][]string{importChain, {"run_async", "run_fiber_sleep", "main"}}},
		{mode: "returned", samples: 5, chain: [][]string{{"host_leaf", "run_returned", "main"}}},
		{mode: "returnedbelow", samples: 5, chain: [][]string{{"host_returned", "run_returned_below", "main"}}},
		{mode: "tail", samples: 300, chain: [][]string{{"tail_even", "tail_main", "host_call", "run_tail", "main"}},
			more: [][]string{{"tail_odd", "tail_main", "host_call", "run_tail", "main"}}},
	} {
		known := truth{}
		known.add(tc.chain...)
		if tc.more != nil {
			known.add(tc.more...)
		}
		t.Run(tc.mode, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, v string) {
				h := start(t, "host-v"+v, tc.mode, filepath.Join(t.TempDir(), "module.cwasm"))
				h.compare(known, tc.samples)
			})
		})
	}
}

// compare samples the main thread at random moments, n times and once more for each sample of which not all was copied:
// that is of the chain too, and says what is not sure.
func (h *target) compare(known truth, n int) {
	h.t.Helper()
	const patience = 5 // times as many
	wrong, short, cut := 0, 0, 0
	for i := 0; i < n+cut && i < patience*n; i++ {
		time.Sleep(rand.N(2 * time.Millisecond))
		s := &h.sample(h.pid)[0]
		whole, err := known.check(s)
		if err == nil {
			err = h.offsets(s)
		}
		notes := s.notes()
		switch {
		case s.delayed, len(notes) > 0 && strings.Contains(notes[0], "it was not copied"):
			cut++
		case err == nil && len(notes) > 0:
			h.t.Errorf("notes: %q\n%s", notes, s.text())
		case err == nil:
			err = h.waypoints(s)
		}
		if err != nil {
			if wrong++; wrong < 4 {
				h.t.Error(err)
			}
		} else if !whole && !s.delayed {
			short++
			h.t.Logf("short: %s %s", s.named.Stop, s.named.Detail)
		}
	}
	h.t.Logf("%d right, %d wrong, %d short, of %d more not all was copied", n-wrong-short, wrong, short, cut)
	if wrong > 0 || short > 0 || cut > (patience-1)*n {
		h.t.Error("want all right")
	}
}

// TestMixed takes 1,000 samples of a host that goes through all kinds of activations.
func TestMixed(t *testing.T) {
	base := []string{"host_call", "run_mixed", "main"}
	known := truth{}
	known.add(importChain, base)
	known.add(namesChain, base)
	known.add(workChain, base)
	known.add(importChain, againChain, base)
	known.add(workChain, againChain, base)
	eachVersion(t, func(t *testing.T, v string) { start(t, "host-v"+v, "mixed").compare(known, 1000) })
}

// TestWithoutTables takes them of hosts without unwind tables.
func TestWithoutTables(t *testing.T) {
	known := truth{}
	known.add(importChain, againChain, []string{"host_call", "run_again", "main"})
	eachVersion(t, func(t *testing.T, v string) {
		h := start(t, "host-v"+v+"-notables", "again")
		whole, err := known.check(&h.sample(h.pid)[0])
		if err != nil || !whole {
			t.Errorf("whole %v: %v", whole, err)
		}
	})
}

// TestThreads samples all threads of a host at one moment.
func TestThreads(t *testing.T) {
	known := truth{}
	known.add(workChain, []string{"host_call", "thread"})
	known.add(importChain, []string{"host_call", "thread"})
	eachVersion(t, func(t *testing.T, v string) {
		h := start(t, "host-v"+v, "threads")
		met := 0
		for range 30 {
			for _, s := range h.sample() {
				if c := s.chain(); !slices.Contains(c, "thread") || !slices.Contains(c, "host_call") {
					continue
				}
				met++
				if whole, err := known.check(&s); !whole {
					t.Fatalf("%v\n%s", err, s.text())
				}
			}
		}
		if met < 100 {
			t.Errorf("%d stacks of threads that run modules, want some hundred", met)
		}
	})
}

// TestLoads: two modules that differ in names alone take turns at one address. A name is that of the module which ran,
// or the frame says why it has none.
func TestLoads(t *testing.T) {
	eachVersion(t, func(t *testing.T, v string) {
		h := start(t, "host-v"+v, "loads")
		named, unsure := map[string]int{}, 0
		for range 1000 {
			time.Sleep(rand.N(time.Millisecond))
			s := &h.sample(h.pid)[0]
			for _, f := range s.named.Frames {
				sure := s.named.Complete && f.Kind == profile.Wasm && !f.Unsure && strings.Contains(f.Func, "_")
				if sure {
					word, _, _ := strings.Cut(f.Func, "_")
					if !slices.Contains(s.chain(), "run_"+word+"_loaded") {
						t.Fatalf("a name of the other module:\n%s", s.text())
					}
					named[word]++
				}
				if f.Note != "" && !sure { // one that is named may say that its offset is not known
					unsure++
				}
			}
		}
		t.Logf("names %v, %d frames unsure", named, unsure)
		if named["work"] < 500 || named["wurk"] < 500 || unsure > named["work"]+named["wurk"] {
			t.Errorf("names %v, %d frames unsure", named, unsure)
		}
	})
}

// waypoints compares the places that the runtime knows with the frames that tables led to: each place is a frame, with
// the same frame pointer, and each frame of WebAssembly that has called the host on this stack is a place.
func (h *target) waypoints(s *sampled) error {
	var points []unwind.Waypoint
	for _, r := range h.runtimes.All() {
		if w, ok := r.(unwind.Waypointer); ok {
			memory := (&snapshot.Snapshot{}).Reader(s.thread, nil)
			points = append(points, w.Waypoints(s.thread, s.stack.Frames[:1], memory)...)
		}
	}
	var want, got []string
	for i := range s.stack.Frames {
		f := &s.stack.Frames[i]
		inner := s.stack.Frames[max(0, i-1)]
		if f.SP >= s.thread.Stack.Start && f.SP < s.thread.Stack.End() && h.kind(s, i) == profile.Wasm &&
			i > 1 && h.kind(s, i-1) == profile.JIT && inner.CFA == f.SP { // i 1: on the way to the host or back
			want = append(want, fmt.Sprintf("%#x at %#x", f.PC, f.SP))
		}
	}
	for i := range points {
		pc, _ := points[i].Registers.PC()
		sp, _ := points[i].Registers.SP()
		got = append(got, fmt.Sprintf("%#x at %#x", pc, sp))
	}
	// As an activation is made or taken down the store has not what those around it are known by.
	less := len(got) < len(want) && slices.Equal(got, want[len(want)-len(got):])
	if !slices.Equal(got, want) && !(less && changesActivations(s)) {
		return fmt.Errorf("the runtime knows the places %q, the stack has %q\n%s", got, want, s.text())
	}
	return nil
}

// changesActivations reports whether a thread is in what wasmtime does around a call into WebAssembly.
func changesActivations(s *sampled) bool {
	around := []string{"CallThreadState", "catch_traps", "call_unchecked_raw"}
	return slices.ContainsFunc(s.named.Frames[:min(2, len(s.named.Frames))], func(f profile.Frame) bool {
		return slices.ContainsFunc(around, func(name string) bool { return strings.Contains(f.Func, name) })
	})
}

// offsets checks that each frame that called another is at a call in the file of its module.
func (h *target) offsets(s *sampled) error {
	const call, returnCall = 0x10, 0x12
	for _, f := range s.named.Frames {
		if f.Kind != profile.Wasm || f.Interrupted || f.Note != "" {
			continue
		}
		code := h.module
		if strings.HasPrefix(f.Func, "other_") {
			code = h.other
		}
		if f.ModuleAddr >= uint64(len(code)) || code[f.ModuleAddr] != call && code[f.ModuleAddr] != returnCall {
			return fmt.Errorf("%s is at %#x of its module, where no call is", f.Func, f.ModuleAddr)
		}
	}
	return nil
}

// kind is that of the physical frame with number index.
func (h *target) kind(s *sampled, index int) profile.Kind {
	for i := range s.named.Frames {
		if f := &s.named.Frames[i]; f.Index == index && !f.Inlined {
			return f.Kind
		}
	}
	return profile.Unknown
}
