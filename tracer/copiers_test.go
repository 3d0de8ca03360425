//go:build linux

package tracer

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

type copyFunc func(t *snapshot.Thread, f *snapshot.Fetcher)

func (c copyFunc) Copy(t *snapshot.Thread, f *snapshot.Fetcher) { c(t, f) }

// chainFrom copies a chain of pointers from at on, and what is not mapped.
func chainFrom(at mem.Addr) copyFunc {
	return func(_ *snapshot.Thread, f *snapshot.Fetcher) {
		f.Fetch(snapshot.Want{Addr: 0x10, Len: 8})
		for next := at; f.Fetch(snapshot.Want{Addr: next, Len: wordSize}); {
			b, _ := f.Bytes(next, wordSize)
			next = mem.Addr(binary.LittleEndian.Uint64(b))
		}
	}
}

// checkChain wants the three words of testdata/target.c, chain.
func checkChain(t *testing.T, th *snapshot.Thread, first mem.Addr) {
	t.Helper()
	if len(th.Copied) != 3 || len(th.Shortfalls) > 0 {
		t.Fatalf("copied %d ranges, want 3: %v", len(th.Copied), th.Shortfalls)
	}
	if last := binary.LittleEndian.Uint64(th.Copied[2].Data); th.Copied[0].Start != first || last<<32 != 0x55667788<<32 {
		t.Errorf("from %#x to %#x", th.Copied[0].Start, last)
	}
	if !th.HasTP || th.TP == 0 {
		t.Errorf("thread pointer %#x, known %v", th.TP, th.HasTP)
	}
}

// TestCopiers has a chain of pointers copied in a dump, in a stop of a recording, and of a sleeper.
func TestCopiers(t *testing.T) {
	c := start(t, "target", "chain")
	var first uint64
	if _, err := fmt.Fscanf(c.out, "0x%x\n", &first); err != nil {
		t.Fatal(err)
	}
	waitState(t, c.pid(), 'S')
	p := openTarget(t, c.pid())
	copiers := []snapshot.Copier{chainFrom(mem.Addr(first))}
	for _, opt := range []StopOptions{{Copiers: copiers}, {Copiers: copiers, Rolling: true}} {
		s := look(t, p, opt)
		checkChain(t, &s.Threads[0], mem.Addr(first))
	}
	l, w := openLooker(t, LookOptions{}), openWatch(t, p, c.pid())
	table := mapsOf(t, p)
	got := Copy{Copiers: copiers}
	for range 3 {
		stopOne(t, l, w, &got, table)
		checkChain(t, &got.Thread, mem.Addr(first))
		waitState(t, c.pid(), 'S')
		for err := error(ErrRan); err != nil; {
			if err = w.Peek(&got, table); err != nil && err != ErrRan {
				t.Fatal(err)
			}
		}
		checkChain(t, &got.Thread, mem.Addr(first))
	}
}

func TestCopierThatMisbehaves(t *testing.T) {
	c := start(t, "threads", 3, 1)
	p := openTarget(t, c.pid())
	hold := make(chan bool)
	defer close(hold)
	for name, f := range map[string]copyFunc{
		"panics":       func(*snapshot.Thread, *snapshot.Fetcher) { panic("of the test") },
		"never ends":   func(*snapshot.Thread, *snapshot.Fetcher) { <-hold },
		"wants it all": func(_ *snapshot.Thread, f *snapshot.Fetcher) { f.Fetch(snapshot.Want{Addr: 0x1000, Len: 1 << 30}) },
	} {
		for try := 0; ; try++ {
			s := look(t, p, StopOptions{Copiers: []snapshot.Copier{f}})
			told := strings.Join(s.Problems, "")
			late := strings.Contains(told, "not copied within")
			for i := range s.Threads {
				th := &s.Threads[i]
				told += fmt.Sprint(th.Shortfalls)
				if len(th.Copied) != 0 || th.Registers == nil || len(th.Stack.Data) == 0 {
					t.Errorf("%s: thread %d: %d ranges, %d bytes of stack, %q", name, th.TID, len(th.Copied), len(th.Stack.Data), th.NotStopped)
				}
			}
			want := map[string]string{"panics": "of the test", "never ends": "not copied within", "wants it all": snapshot.ErrSpent.Error()}[name]
			if late && want != "not copied within" && try < 50 {
				continue // other programs have the CPUs
			}
			if !strings.Contains(told, want) || s.Stopped > 10*time.Second {
				t.Errorf("%s: told %q, want %q; stopped %v", name, told, want, s.Stopped)
			}
			break
		}
	}
}
