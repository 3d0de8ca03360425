package x86

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/work"
)

// A function that a symbol calls a gigabyte long takes no more than one of 2 MB.
func TestKnownBoundsAreClamped(t *testing.T) {
	took := func(size int) time.Duration {
		c := &Code{Data: bytes.Repeat([]byte{0xe8, 0x10, 0, 0, 0, 0x50, 0x58, 0x90}, size/8), Mode64: true}
		var all []time.Duration
		for range 5 {
			begun := time.Now()
			c.FromEntry(0, c.End(), 1000)
			all = append(all, time.Since(begun))
		}
		slices.Sort(all)
		return all[2]
	}
	if small, large := took(2<<20), took(128<<20); large > 8*small {
		t.Errorf("64 times the code takes %v instead of %v", large, small)
	}
}

// All answers together take no more than the budget, and say so.
func TestCodeBudget(t *testing.T) {
	b := work.New(10<<20, 0)
	c := &Code{Data: bytes.Repeat([]byte{0x75, 0x00, 0x53}, 1<<20), Mode64: true, Budget: b}
	answers := 0
	for b.Err() == nil && answers < 1<<20 {
		c.FromEntry(0, 0, 0xffff)
		c.Forward(0x8000)
		answers++
	}
	if !errors.Is(b.Err(), work.ErrSpent) {
		t.Errorf("%d answers: got %v, want %v", answers, b.Err(), work.ErrSpent)
	}
	if _, ok := c.FromEntry(0, 0, 4); ok {
		t.Error("an answer without a budget")
	}
	b.Earn(10 << 20)
	if _, ok := c.FromEntry(0, 0, 4); !ok {
		t.Error("no answer with one")
	}
}
