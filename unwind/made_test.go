package unwind

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/work"
)

// A chain of frame records is looked at as far as the budget of the run allows, and if it ends there that is reported.
func TestChainsAreCharged(t *testing.T) {
	const stackAt, words, base = 0x7ffe0000, 1 << 13, 0x20000
	code := make([]byte, 0x1000)
	for i := range code {
		code[i] = 0xcc // int3
	}
	stack := make([]byte, 8*words)
	for i := 0; i < words; i += 2 {
		binary.LittleEndian.PutUint64(stack[8*i:], stackAt+8*uint64(i+2))
		binary.LittleEndian.PutUint64(stack[8*i+8:], base+0x200)
	}
	table := maps.NewTable([]maps.Mapping{{Start: base, End: base + 0x1000, Perm: maps.Read | maps.Exec},
		{Start: stackAt, End: stackAt + 8*words, Perm: maps.Read | maps.Write, Path: "[stack]"}})
	memory := mem.NewOverlay(nil, mem.Range{Start: base, Data: code}, mem.Range{Start: stackAt, Data: stack})
	r := regs.New(regs.AMD64)
	r.Set(regs.AMD64RIP, base+0x100)
	r.Set(regs.AMD64RSP, stackAt)
	r.Set(regs.AMD64RBP, stackAt)
	th := &snapshot.Thread{TID: 1, Registers: &r, Stack: mem.Range{Start: stackAt, Data: stack}}
	stopped := errors.New("a signal came")
	for _, tc := range []struct {
		name   string
		budget func() *work.Budget
		want   error
	}{
		{"none", func() *work.Budget { return nil }, nil},
		{"enough", func() *work.Budget { return work.New(work.Steps, work.Memory) }, nil},
		{"stopped", func() *work.Budget { b := work.New(work.Steps, work.Memory); b.Stop(stopped); return b }, stopped},
	} {
		set := module.NewSet(table, module.Image{Memory: memory})
		set.Charge(tc.budget())
		w := NewWalker(set, nil)
		s := w.Walk(th, memory, Options{})
		if len(s.Frames) != 1 || (s.Stop != NoRule) != (tc.want != nil) || tc.want != nil &&
			!errors.Is(s.Err, tc.want) || tc.want == nil && strings.Contains(s.Err.Error(), "was not read") {
			t.Errorf("%s: got %d frames and %v (%v), want 1 and %v", tc.name, len(s.Frames), s.Stop, s.Err, tc.want)
		}
		if len(w.chain) != 0 {
			t.Errorf("%s: %d records of a chain that was not proved are remembered", tc.name, len(w.chain))
		}
	}
}
