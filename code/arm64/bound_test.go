package arm64

import (
	"bytes"
	"errors"
	"testing"

	"github.com/fpstack/fpstack/work"
)

// TestCodeBudget: all answers about code made to be expensive together take no more than the budget, and say so.
func TestCodeBudget(t *testing.T) {
	for _, test := range []struct {
		name string
		code []byte
	}{
		{"branches", words(0x54000000, 0x54000040)},
		{"calls far ahead", words(0x94004000, 0xa9bf7bfd)},
		{"switches and ends", words(0x54000040, 0xd61f0120, 0xd65f03c0)},
		{"stores with branches", words(0xf81f0ffe, 0x54000040, 0xa9bf53f3)},
	} {
		b := work.New(10<<20, 0)
		c := &Code{Data: bytes.Repeat(test.code, 1<<18), Budget: b}
		answers := 0
		for b.Err() == nil && answers < 1<<16 {
			c.FromEntry(0, 0, 0xffff)
			c.Forward(0x8000, false)
			c.Records(0, c.End(), false)
			answers++
		}
		if !errors.Is(b.Err(), work.ErrSpent) {
			t.Errorf("%s: %d answers: got %v, want %v", test.name, answers, b.Err(), work.ErrSpent)
		}
		if _, ok := c.FromEntry(0, 0, 4); ok {
			t.Errorf("%s: an answer without a budget", test.name)
		}
	}
}
