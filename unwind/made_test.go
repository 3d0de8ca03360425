package unwind

import (
	"encoding/binary"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
)

// Chains of frame records that lead nowhere cost a Walker a bounded number of looks, and then a few a walk.
func TestChainsThatLeadNowhere(t *testing.T) {
	const stackAt, words = 0x7ffe0000, 1 << 13
	code := make([]byte, 0x1000)
	for i := range code {
		code[i] = 0xcc // int3
	}
	stack := make([]byte, 8*words)
	for i := 0; i < words; i += 2 {
		binary.LittleEndian.PutUint64(stack[8*i:], stackAt+8*uint64(i+2))
		binary.LittleEndian.PutUint64(stack[8*i+8:], 0x20200)
	}
	table := maps.NewTable([]maps.Mapping{{Start: 0x20000, End: 0x21000, Perm: maps.Read | maps.Exec},
		{Start: stackAt, End: stackAt + 8*words, Perm: maps.Read | maps.Write, Path: "[stack]"}})
	memory := mem.NewOverlay(nil, mem.Range{Start: 0x20000, Data: code}, mem.Range{Start: stackAt, Data: stack})
	w := NewWalker(module.NewSet(table, nil, memory), nil)
	w.records = 3 * words
	r := regs.New(regs.AMD64)
	r.Set(regs.AMD64RIP, 0x20100)
	r.Set(regs.AMD64RSP, stackAt)
	r.Set(regs.AMD64RBP, stackAt)
	th := &snapshot.Thread{TID: 1, Registers: &r, Stack: mem.Range{Start: stackAt, Data: stack}}
	for i := range 20 {
		before := w.records
		if s := w.Walk(th, memory, Options{}); len(s.Frames) != 1 || s.Stop != NoRule {
			t.Fatalf("walk %d: got %d frames and %v (%v), want 1 and %v", i, len(s.Frames), s.Stop, s.Err, NoRule)
		}
		if looked := before + recordRefill - w.records; looked > words/2 || i > 10 && looked > recordRefill {
			t.Errorf("walk %d looked at %d records, want at most %d, later %d", i, looked, words/2, recordRefill)
		}
	}
	if len(w.chain) != 0 {
		t.Errorf("%d records of a chain that was not proved are remembered", len(w.chain))
	}
}
