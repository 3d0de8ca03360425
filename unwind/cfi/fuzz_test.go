package cfi

import (
	"encoding/binary"
	"errors"
	"testing"
)

// FuzzRow puts the same bytes where each section would be: a result or an error, not both,
// and a row that covers what was asked for.
func FuzzRow(f *testing.F) {
	s, offsets := threeFDEs()
	h := headerOf(&s, offsets, starts, peDataRel|peSData4)
	debug := section{debug: true, wide: true}
	debug.fde(debug.cie(4, "", nil, opDefCFA, 7, 8), 0x1000, 0x100, opRememberState, opAdvanceLoc|1, opRestoreState)
	z := section{addr: 0x8000}
	z.entry(z.cie(1, "zRS", nil, 1, pePCRel|peSData4, opDefCFAExpression, 1, dwLit0),
		[]byte{0, 0x90, 0xff, 0xff, 0, 1, 0, 0, 0})
	f.Add(s.data, h.Data, debug.data, uint64(0x1000), byte(0))
	f.Add(z.data, []byte{}, []byte{}, uint64(0x1010), byte(1))
	f.Add(s.data, []byte{1, peOmit, peOmit, peOmit}, debug.data, uint64(0x1401), byte(2))
	f.Fuzz(func(t *testing.T, eh, hdr, debug []byte, pc uint64, kind byte) {
		cfg := Config{
			EHFrame: Section{0x8000, eh}, EHFrameHdr: Section{0x7000, hdr}, DebugFrame: Section{0, debug},
			WordSize: 8, Order: binary.LittleEndian, AArch64: kind&4 != 0,
		}
		if kind&1 != 0 {
			cfg.WordSize = 4
		}
		if kind&2 != 0 {
			cfg.Order = binary.BigEndian
		}
		table := New(cfg)
		row, err := table.Row(pc)
		var format *FormatError
		switch {
		case (row == nil) == (err == nil):
			t.Fatalf("row %+v with error %v", row, err)
		case err != nil && !errors.Is(err, ErrNoFDE) && !errors.As(err, &format):
			t.Fatalf("error of no known type: %v", err)
		case row == nil:
			return
		}
		if pc < row.Start || pc >= row.End {
			t.Fatalf("row [%#x,%#x) does not cover %#x", row.Start, row.End, pc)
		}
		fde, _ := table.FDE(pc)
		for _, at := range []uint64{row.Start, row.End - 1} {
			if same, err := table.FDE(at); err != nil || same.Section != fde.Section || same.Offset != fde.Offset {
				continue // entries overlap
			}
			other, err := table.Row(at)
			if err != nil || other.Start != row.Start || other.End != row.End || other.CFA.Kind != row.CFA.Kind {
				t.Fatalf("row at %#x: %+v, at %#x: %+v, %v", pc, row, at, other, err)
			}
		}
	})
}

func FuzzEval(f *testing.F) {
	f.Add([]byte{0x77, 8, 0x70, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, uint64(1), byte(0))
	f.Add([]byte{dwSkip, 0xfd, 0xff}, uint64(2), byte(1))
	f.Add([]byte{dwDup, dwDup, dwDiv, dwRot, dwPick, 0, dwDerefSize, 4}, uint64(0x1000), byte(2))
	f.Fuzz(func(t *testing.T, expr []byte, cfa uint64, kind byte) {
		word, order := 8, binary.ByteOrder(binary.LittleEndian)
		if kind&1 != 0 {
			word = 4
		}
		if kind&2 != 0 {
			order = binary.BigEndian
		}
		v, err := Eval(expr, []uint64{cfa}, machine, order, word)
		if err != nil && v != 0 || truncate(v, word) != v {
			t.Fatalf("value %#x with error %v and %d bytes", v, err, word)
		}
	})
}
