//go:build linux

package wasm

import (
	"context"
	"debug/elf"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
)

// TestStores: of each thread it is said of which store its WebAssembly is, which the host knows: the context that it
// calls functions in is at the same place of each store.
func TestStores(t *testing.T) {
	eachVersion(t, func(t *testing.T, v string) {
		h := start(t, "host-v"+v, "threads")
		variable := contextVariable(t, filepath.Join(folder, "host-v"+v))
		const tries = 20
		offsets, said := map[uint64]bool{}, 0
		for i := 0; i < tries && said < 3; i++ {
			snap, err := h.p.Snapshot(context.Background(), tracer.StopOptions{Copiers: h.runtimes.Copiers()})
			if err != nil {
				t.Fatal(err)
			}
			h.set.Update(snap.Maps)
			facts := h.runtimes.ThreadFacts(snap)
			for i := range snap.Threads {
				th := &snap.Threads[i]
				var store uint64
				if f := facts[th.TID].Facts; len(f) > 1 {
					t.Errorf("thread %d is of several stores: %q", th.TID, f)
				} else if len(f) == 1 {
					fmt.Sscanf(f[0], "WebAssembly of store 0x%x", &store)
					of, err := mem.Uint(h.memory, th.TP+mem.Addr(variable), 8, th.Arch.Order)
					if err != nil {
						t.Fatal(err)
					}
					offsets[store-of], said = true, said+1
				}
			}
		}
		for at := range offsets {
			if len(offsets) > 1 || at > 8<<10 {
				t.Errorf("stores are %#x from what the host knows them by", at)
			}
		}
		if said < 3 {
			t.Errorf("of %d threads in %d stops a store is said", said, tries)
		}
	})
}

// TestNoStore: where WebAssembly has returned, nothing is said of a store.
func TestNoStore(t *testing.T) {
	eachVersion(t, func(t *testing.T, v string) {
		h := start(t, "host-v"+v, "returned")
		for range 5 {
			s := h.sample(h.pid)[0]
			f := h.runtimes.ThreadFacts(&snapshot.Snapshot{Threads: []snapshot.Thread{*s.thread}})
			if len(f) > 0 {
				t.Errorf("%v", f)
			}
		}
	})
}

// contextVariable is where a thread of that program has its variable "context", from its thread pointer on.
// Source: ELF Handling For Thread-Local Storage: variant I on arm64, whose thread pointer has two words before the
// variables, variant II on x86-64.
func contextVariable(t *testing.T, path string) int64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Progs {
		for _, s := range symbols {
			if p.Type == elf.PT_TLS && s.Name == "context" && elf.ST_TYPE(s.Info) == elf.STT_TLS {
				if f.Machine == elf.EM_AARCH64 {
					return int64(s.Value + max(16, p.Align))
				}
				return int64(s.Value) - int64((p.Memsz+p.Align-1)/p.Align*p.Align)
			}
		}
	}
	t.Fatalf("%s has no variable context", path)
	return 0
}
