//go:build linux

package wasm

import (
	"slices"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/wasmtime"
)

// TestWarmFramesAreNotRead: a stack that was walked before costs no read of the process besides what was copied in the
// stop, also when time has passed.
func TestWarmFramesAreNotRead(t *testing.T) {
	for _, mode := range []string{"sleep", "again", "fibersleep"} {
		eachVersion(t, func(t *testing.T, v string) {
			h := start(t, "host-v"+v, mode)
			first := h.sample(h.pid)[0]
			again := h.sample(h.pid)[0]
			before := h.memory.reads
			h.walker.Renew()
			memory := (&snapshot.Snapshot{}).Reader(again.thread, h.memory)
			stack := h.walker.Walk(again.thread, memory, unwind.Options{})
			if n := h.memory.reads - before; n != 0 || before == 0 {
				t.Errorf("%s: %d reads before, %d of a warm walk; want some and none", mode, before, n)
			}
			if named := h.names.Stack(&stack); len(named.Frames) != len(again.named.Frames) {
				t.Errorf("%d frames, then %d", len(again.named.Frames), len(named.Frames))
			}
			if !slices.Equal(first.chain(), again.chain()) {
				t.Errorf("got %q, then %q", first.chain(), again.chain())
			}
		})
	}
}

// BenchmarkNames30000 reads the image of a module with 30,000 functions and names all of them, as the first sample of a
// process does at most.
func BenchmarkNames30000(b *testing.B) {
	h := start(b, "host-v44", "many")
	for b.Loop() {
		r := wasmtime.New(h.image)
		if present, err := r.Scan(h.set); !present || err != nil {
			b.Fatal(present, err)
		}
		n := 0
		if r.Functions(func(_, _ mem.Addr, name string) bool { n++; return name != "" }); n < 30000 {
			b.Fatalf("%d functions", n)
		}
	}
}

// BenchmarkScanKnown looks for modules where all are known.
func BenchmarkScanKnown(b *testing.B) {
	h := start(b, "host-v44", "many")
	r := wasmtime.New(h.image)
	r.Scan(h.set)
	for b.Loop() {
		r.Scan(h.set)
	}
}

// BenchmarkWalk walks and identifies a warm stack with 8 frames of WebAssembly of 21, native the same from the host's
// call on.
func BenchmarkWalk(b *testing.B) {
	h := start(b, "host-v44", "sleep")
	s := h.sample(h.pid)[0]
	memory := mem.NewOverlay(nil, append([]mem.Range{s.thread.Stack}, s.thread.Copied...)...)
	var stack unwind.Stack
	for b.Loop() {
		h.walker.WalkInto(&stack, s.thread, memory, unwind.Options{})
	}
	b.ReportMetric(float64(len(stack.Frames)), "frames")
}
