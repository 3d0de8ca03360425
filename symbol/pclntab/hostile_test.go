package pclntab

import (
	"bytes"
	"debug/elf"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/hostile"
	"github.com/fpstack/fpstack/work"
)

// opened opens the table of a hostile object and tells how long that took.
func opened(t *testing.T, size int, b *work.Budget) (*Table, time.Duration) {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(hostile.Pclntab(size)))
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	table, err := Open(sectionsOf(f), b)
	took := time.Since(begun)
	if err != nil {
		t.Fatal(err)
	}
	return table, took
}

// Data that is full of pointers to the table, beside as many relocations, takes time in
// proportion to the file.
func TestModuledataIsLinear(t *testing.T) {
	median := func(size int) time.Duration {
		var all []time.Duration
		for range 5 {
			_, took := opened(t, size, nil)
			all = append(all, took)
		}
		slices.Sort(all)
		return all[2]
	}
	if few, many := median(128<<10), median(2<<20); many > 4*16*few {
		t.Errorf("16 times the file takes %v instead of %v", many, few)
	}
}

// Without a budget functions have names still, and inlined calls say why they are missing.
func TestOpenWithoutBudget(t *testing.T) {
	b := work.New(1000, 0)
	table, _ := opened(t, 64<<10, b)
	if err := table.InlineErr(); !errors.Is(err, work.ErrSpent) {
		t.Errorf("got %v, want %v", err, work.ErrSpent)
	}
	if _, ok := table.Func(hostile.TextAt); !ok {
		t.Error("no function where the code is")
	}
}
