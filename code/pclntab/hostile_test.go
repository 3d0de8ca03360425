package pclntab

import (
	"bytes"
	"debug/elf"
	"errors"
	"testing"

	"github.com/fpstack/fpstack/tests/hostile"
	"github.com/fpstack/fpstack/work"
)

// opened opens the table of a hostile object.
func opened(t *testing.T, size int, b *work.Budget) *Table {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(hostile.Pclntab(size)))
	if err != nil {
		t.Fatal(err)
	}
	table, err := Open(sectionsOf(f), b)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// Data that is full of pointers to the table, beside as many relocations, takes work in
// proportion to the file.
func TestModuledataIsLinear(t *testing.T) {
	steps := func(size int) int64 {
		b := work.New(1<<40, 1<<40)
		opened(t, size, b)
		left, _ := b.Left()
		whole, _ := work.New(1<<40, 1<<40).Left()
		return whole - left
	}
	if few, many := steps(128<<10), steps(2<<20); few == 0 || many > 2*16*few {
		t.Errorf("16 times the file takes %d steps instead of %d", many, few)
	}
}

// Without a budget functions have names still, and inlined calls say why they are missing.
func TestOpenWithoutBudget(t *testing.T) {
	b := work.New(1000, 0)
	table := opened(t, 64<<10, b)
	if err := table.InlineErr(); !errors.Is(err, work.ErrSpent) {
		t.Errorf("got %v, want %v", err, work.ErrSpent)
	}
	if _, ok := table.Func(hostile.TextAt); !ok {
		t.Error("no function where the code is")
	}
}
