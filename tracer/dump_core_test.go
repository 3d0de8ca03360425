//go:build linux

package tracer

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot/corefile"
)

// TestCoreWriter: all threads are stopped while it runs, with their registers, and memory can be read.
func TestCoreWriter(t *testing.T) {
	c := start(t, "threads", 1000, 30)
	p := openTarget(t, c.pid())
	calls := 0
	s := takeSnapshot(t, p, StopOptions{Core: func(got *corefile.Process, m corefile.Memory) {
		calls++
		if len(got.Threads) != 1001 || got.Threads[0].TID != c.pid() || got.Comm != "threads" || len(got.Auxv) < 64 ||
			len(got.Mappings) < 1000 || got.Filter == 0 || got.Parent == 0 {
			t.Errorf("%d threads, the first %d, %d mappings, %+v", len(got.Threads), got.Threads[0].TID,
				len(got.Mappings), got.Comm)
		}
		a, ok := regs.Lookup(got.Arch.Name)
		for i := range got.Threads {
			one := &got.Threads[i]
			if state := stateOf(t, one.TID); state != 't' {
				t.Fatalf("thread %d is in state %c while its core is written", one.TID, state)
			}
			r, err := a.Decode(one.General)
			if sp, known := r.SP(); !ok || err != nil || !known || sp != one.SP || len(one.Sets) == 0 {
				t.Fatalf("thread %d: SP %#x, %v, %d further register sets", one.TID, sp, err, len(one.Sets))
			}
			if n, err := m.ReadMem(make([]byte, 16), one.SP); n != 16 {
				t.Fatalf("stack of thread %d: %v", one.TID, err)
			}
		}
		checkHeld(t, got, m)
	}})
	if calls != 1 || len(s.Problems) > 0 || len(s.Threads) != 1001 {
		t.Errorf("called %d times; %d threads, %q", calls, len(s.Threads), s.Problems)
	}
}

// checkHeld fails unless of the stack of the last thread the used end is held, and not the whole.
func checkHeld(t *testing.T, got *corefile.Process, m corefile.Memory) {
	t.Helper()
	sp := got.Threads[len(got.Threads)-1].SP
	for i := range got.Mappings {
		u := &got.Mappings[i]
		if !u.Contains(sp) {
			continue
		}
		from, to := m.Held(u.Start, u.End)
		if to <= from || from <= u.Start || u.Anonymous == 0 || u.Flags == "" {
			t.Errorf("of the stack %#x-%#x the first pages held are %#x-%#x, %d bytes were written to", u.Start, u.End,
				from, to, u.Anonymous)
		}
		held := uint64(0)
		for ; from < u.End; from, to = m.Held(to, u.End) {
			held += uint64(to - from)
		}
		if held != u.Anonymous {
			t.Errorf("%d bytes are held, smaps shows %d", held, u.Anonymous)
		}
		return
	}
	t.Errorf("no mapping has the stack pointer %#x", sp)
}

// TestCoreWriterIsGivenUp: one that hangs, panics or goes on when it should end holds nobody.
func TestCoreWriterIsGivenUp(t *testing.T) {
	c := start(t, "threads", 3, 1)
	p := openTarget(t, c.pid())
	never := make(chan struct{})
	defer close(never)
	began := time.Now()
	s := takeSnapshot(t, p, StopOptions{CoreTime: 50 * time.Millisecond,
		Core: func(*corefile.Process, corefile.Memory) { <-never }})
	if took := time.Since(began); took > patience/2 || len(s.Threads) != 4 ||
		!strings.Contains(strings.Join(s.Problems, "; "), "not written in time") {
		t.Errorf("%v, %d threads, %q", took, len(s.Threads), s.Problems)
	}
	s = takeSnapshot(t, p, StopOptions{Core: func(*corefile.Process, corefile.Memory) { panic("of the test") }})
	if len(s.Threads) != 4 || !strings.Contains(strings.Join(s.Problems, "; "), "of the test") {
		t.Errorf("%d threads, %q", len(s.Threads), s.Problems)
	}
	ctx, cancel := context.WithCancel(context.Background())
	began = time.Now()
	if _, err := p.Snapshot(ctx, StopOptions{CoreTime: time.Hour, Core: func(*corefile.Process, corefile.Memory) {
		cancel()
		<-never
	}}); err == nil || time.Since(began) > patience {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	checkFree(t, c.pid())
	for _, opt := range []StopOptions{{Rolling: true}, {TIDs: []int{c.pid()}}} {
		opt.Core = func(*corefile.Process, corefile.Memory) { t.Error("not all threads are stopped") }
		takeSnapshot(t, p, opt)
	}
}
