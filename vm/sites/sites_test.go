package sites

import (
	"errors"
	"testing"

	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/work"
)

// What is asked for stays, however much comes and goes beside it; what is forgotten is given back.
func TestRecentForgets(t *testing.T) {
	b := work.New(0, 1<<20)
	r := NewRecent[int, string](b, 100*(entrySize+8))
	r.Keep(-1, "asked for", 8)
	r.Keep(-2, "left alone", 8)
	for i := range 10_000 {
		if !r.Keep(i, "new", 8) {
			t.Fatalf("%d was not kept", i)
		}
		if v, ok := r.Get(-1); !ok || v != "asked for" {
			t.Fatalf("behind %d others what is asked for all the time is gone", i)
		}
		if v, ok := r.Get(i); !ok || v != "new" {
			t.Fatalf("%d is gone at once", i)
		}
	}
	if _, ok := r.Get(-2); ok {
		t.Error("what nobody asks for is kept for ever")
	}
	if n := r.Len(); n > 100 || n < 50 || r.Forgotten() != 10_002-n {
		t.Errorf("%d are kept and %d forgotten, want 50 to 100 and the rest", n, r.Forgotten())
	}
	_, left := b.Left()
	if held := int64(r.Len()) * (entrySize + 8); left != 1<<20-held {
		t.Errorf("%d bytes are left, want all but the %d of what is kept", left, held)
	}
	r.Keep(-1, "again", 16)
	if v, _ := r.Get(-1); v != "again" {
		t.Errorf("kept again: got %q", v)
	}
	r.Clear()
	if _, left := b.Left(); left != 1<<20 || r.Len() != 0 {
		t.Errorf("cleared: %d bytes are left of %d", left, 1<<20)
	}
}

// Others may take the memory of a run: what is new comes before what is old.
func TestRecentWithoutMemory(t *testing.T) {
	b := work.New(0, 10*entrySize)
	r := NewRecent[int, int](b, 8*entrySize)
	for i := range 6 { // the half of four turns
		r.Keep(i, i, 0)
	}
	b.Hold(4 * entrySize) // what is left
	if !r.Keep(7, 7, 0) {
		t.Fatal("not kept, though an older half could be forgotten")
	}
	if _, ok := r.Get(0); ok {
		t.Error("the older half is kept")
	}
	if v, ok := r.Get(5); !ok || v != 5 {
		t.Error("the newer half is gone")
	}
	_, left := b.Left()
	b.Hold(left)
	r.forget()
	if r.Keep(8, 8, 0) {
		t.Error("kept without memory")
	}
}

func TestTable(t *testing.T) {
	type method struct{ token, generation int }
	tab := NewTable[method, string](nil, 1<<14)
	a := tab.Add(method{1, 1}, "first", 10)
	if n, ok := tab.Find(method{1, 1}); !ok || n != a {
		t.Errorf("found %d, %t, want %d", n, ok, a)
	}
	if _, ok := tab.Find(method{1, 2}); ok {
		t.Error("what was put at the same place later is the same")
	}
	tab.Set(a, "better", 10)
	if v, _ := tab.Get(a); v != "better" {
		t.Errorf("got %q, want the better name", v)
	}
	c := tab.Add(method{2, 1}, "known later", 10)
	tab.Unlink(method{2, 1})
	if _, ok := tab.Find(method{2, 1}); ok {
		t.Error("what was unlinked is found")
	}
	if v, _ := tab.Get(c); v != "known later" {
		t.Errorf("what was unlinked is called %q", v)
	}
	given := map[unwind.Site]bool{a: true, c: true}
	for i := range 10_000 {
		n := tab.Add(method{i, 7}, "many", 10)
		if n == 0 || given[n] {
			t.Fatalf("place %d has number %d, which is none or another's", i, n)
		}
		given[n] = true
	}
	if _, ok := tab.Get(a); ok {
		t.Error("what nobody asks for is kept for ever")
	}
	if _, ok := tab.Find(method{1, 1}); ok {
		t.Error("a number without a name is given")
	}
	if n := tab.Add(method{1, 1}, "first", 10); given[n] || n == 0 {
		t.Errorf("met again: number %d was another's", n)
	}
	if tab.Err() != nil {
		t.Errorf("all have numbers: %v", tab.Err())
	}
}

func TestTableRefuses(t *testing.T) {
	b := work.New(0, 1)
	tab := NewTable[int, int](b, 1<<14)
	if n := tab.Add(1, 1, 0); n != 0 || !errors.Is(tab.Err(), ErrNoRoom) {
		t.Errorf("without memory: got %d, %v", n, tab.Err())
	}
	tab = NewTable[int, int](nil, 1<<14)
	tab.last = 1<<32 - 1
	if n := tab.Add(1, 1, 0); n != 0 || !errors.Is(tab.Err(), ErrNoRoom) {
		t.Errorf("without a number: got %d, %v", n, tab.Err())
	}
}

// To peek is no use: what is peeked at alone is forgotten as if nobody had asked.
func TestPeek(t *testing.T) {
	r := NewRecent[int, string](nil, 10*(entrySize+8))
	r.Keep(-1, "peeked at", 8)
	seen := 0
	for i := range 100 {
		if v, ok := r.Peek(-1); ok && v == "peeked at" {
			seen++
		}
		r.Keep(i, "new", 8)
	}
	if seen == 0 || seen > 20 {
		t.Errorf("it was there %d times of 100", seen)
	}
}
