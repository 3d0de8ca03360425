package symbol

import (
	"testing"

	"github.com/fpstack/fpstack/maps/module"
)

// A Table that is asked for ever more addresses forgets, and answers as a new one does: whole
// batches too that hold more than it keeps.
func TestLookupForgets(t *testing.T) {
	m := load(t, libc(t))
	text, ok := m.Section(".text")
	if !ok {
		t.Fatal("no .text")
	}
	table, named := New(m), 0
	for _, batch := range []int{1, 1, 1, 1000, maxKnown, maxKnown + 1000, 1000} {
		addrs := make([]module.Vaddr, batch)
		for i := range addrs {
			addrs[i] = text.Addr + module.Vaddr(uint64(i)*7919%text.Size)
		}
		got, err := table.Lookup(addrs)
		if err != nil {
			t.Fatal(err)
		}
		if len(table.known) > maxKnown {
			t.Fatalf("a batch of %d: %d answers are kept, want at most %d", batch, len(table.known), maxKnown)
		}
		want, err := New(m).Lookup(addrs)
		if err != nil {
			t.Fatal(err)
		}
		for i := range addrs {
			switch {
			case (got[i] == nil) != (want[i] == nil), got[i] != nil && *got[i] != *want[i]:
				t.Fatalf("a batch of %d, address %#x: got %+v, want %+v", batch, addrs[i], got[i], want[i])
			case got[i] != nil:
				named++
			}
		}
	}
	if named == 0 {
		t.Error("no address has a name")
	}
}
