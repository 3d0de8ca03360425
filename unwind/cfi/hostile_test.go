package cfi

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/fpstack/fpstack/tests/hostile"
	"github.com/fpstack/fpstack/work"
)

// tableWithin is the .eh_frame of a hostile object as a Table with a budget.
func tableWithin(t *testing.T, object []byte, b *work.Budget) *Table {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		t.Fatal(err)
	}
	s := f.Section(".eh_frame")
	data, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{EHFrame: Section{Addr: s.Addr, Data: data}, WordSize: 8, Order: binary.LittleEndian, Budget: b})
}

// Rows of a million instructions are refused when all together take too much.
func TestRowsAreBounded(t *testing.T) {
	table := tableWithin(t, hostile.Program(1<<20), work.New(100<<20, 1<<30))
	var err error
	n := uint64(0)
	for ; err == nil && n < 1000; n++ {
		_, err = table.Row(hostile.TextAt + n)
	}
	if !errors.Is(err, work.ErrSpent) || n < 3 || n > 20 {
		t.Errorf("after %d rows: got %v, want %v after some", n, err, work.ErrSpent)
	}
}

// A section that is walked takes from the budget too, and what it lacks is reported.
func TestWalkIsBounded(t *testing.T) {
	object := hostile.Entries(1 << 20)
	for _, tt := range []struct {
		name          string
		steps, memory int64
		want          error
	}{
		{"enough", 1 << 30, 1 << 30, ErrNoFDE},
		{"few steps", 1 << 16, 1 << 30, work.ErrSpent},
		{"no memory", 1 << 30, 1 << 10, work.ErrMemory},
	} {
		_, err := tableWithin(t, object, work.New(tt.steps, tt.memory)).Row(hostile.TextAt)
		if !errors.Is(err, ErrNoFDE) || !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
}
