package cfi

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestAugmentations(t *testing.T) {
	code := slices.Concat(u64(0x1000), u64(0x10))
	for _, tt := range []struct {
		augmentation string
		data         []byte // of the CIE, length included
		fde          []byte // behind the range
		signal, bKey bool
		mte, lsda    bool
	}{
		{augmentation: ""},
		{augmentation: "eh"},
		{augmentation: "z", data: []byte{0}, fde: []byte{0}},
		{augmentation: "zR", data: []byte{1, peAbsPtr}, fde: []byte{0}},
		{augmentation: "zR", data: []byte{3, peAbsPtr, 0xee, 0xee}, fde: []byte{2, 0xee, 0xee}},
		{augmentation: "zRS", data: []byte{1, peAbsPtr}, fde: []byte{0}, signal: true},
		{augmentation: "S", signal: true},
		{augmentation: "zRB", data: []byte{1, peAbsPtr}, fde: []byte{0}, bKey: true},
		{augmentation: "zRG", data: []byte{1, peAbsPtr}, fde: []byte{0}, mte: true},
		{augmentation: "zPLR", data: []byte{7, peIndirect | pePCRel | peSData4, 1, 2, 3, 4, pePCRel | peSData4,
			peAbsPtr},
			fde: []byte{4, 1, 0, 0, 0}, lsda: true},
		{augmentation: "zPLR", data: []byte{7, peIndirect | pePCRel | peSData4, 1, 2, 3, 4, pePCRel | peSData4,
			peAbsPtr},
			fde: []byte{4, 0, 0, 0, 0}},
		{augmentation: "zLR", data: []byte{2, peOmit, peAbsPtr}, fde: []byte{4, 1, 0, 0, 0}},
		{augmentation: "zLR", data: []byte{2, peIndirect | peFuncRel | peUData4, peAbsPtr}, fde: []byte{4, 1, 0, 0, 0},
			lsda: true},
	} {
		t.Run(tt.augmentation, func(t *testing.T) {
			s := section{addr: 0x2000}
			cie := s.cie(1, tt.augmentation, nil, slices.Concat(tt.data, []byte{opDefCFA, 7, 8})...)
			s.entry(cie, slices.Concat(code, tt.fde, []byte{opDefCFAOffset, 24}))
			table := New(s.config())
			f, err := table.FDE(0x1000)
			if err != nil {
				t.Fatal(err)
			}
			c := f.CIE
			if c.Signal != tt.signal || c.BKey != tt.bKey || c.MTE != tt.mte || f.HasLSDA != tt.lsda {
				t.Errorf("got signal %t, B key %t, MTE %t, LSDA %t; want %+v", c.Signal, c.BKey, c.MTE, f.HasLSDA, tt)
			}
			if c.Augmentation != tt.augmentation || c.RAReg != 16 || c.CodeAlign != 1 || c.DataAlign != -8 {
				t.Errorf("got %+v", c)
			}
			row, err := table.Row(0x1000)
			if err != nil || row.CFA.N != 24 || row.Signal != tt.signal {
				t.Errorf("got row %+v, %v; want CFA r7+24, signal %t", row, err, tt.signal)
			}
		})
	}
}

func TestCIEVersions(t *testing.T) {
	long := []byte{0x90, 0x01} // register 144 as ULEB128
	for _, tt := range []struct {
		name  string
		debug bool
		wide  bool
		cie   []byte
		fde   []byte
		raReg uint64
	}{
		{"version 1 has one byte for the register", false, false, []byte{1, 0, 1, 0x78, 0x90},
			slices.Concat(u64(0x1000), u64(0x10)), 0x90},
		{"version 3", true, false, slices.Concat([]byte{3, 0, 1, 0x78}, long), slices.Concat(u64(0x1000), u64(0x10)),
			144},
		{"version 4", true, false, slices.Concat([]byte{4, 0, 8, 0, 1, 0x78}, long),
			slices.Concat(u64(0x1000), u64(0x10)), 144},
		{"version 4, addresses of 4 bytes", true, false, slices.Concat([]byte{4, 0, 4, 0, 1, 0x78}, long),
			slices.Concat(u32(0x1000), u32(0x10)), 144},
		{"version 4 with segments", true, false, slices.Concat([]byte{4, 0, 8, 2, 1, 0x78}, long),
			slices.Concat([]byte{0, 0}, u64(0x1000), u64(0x10)), 144},
		{"64-bit lengths in .debug_frame", true, true, slices.Concat([]byte{3, 0, 1, 0x78}, long),
			slices.Concat(u64(0x1000), u64(0x10)), 144},
		{"64-bit lengths in .eh_frame", false, true, []byte{1, 0, 1, 0x78, 16}, slices.Concat(u64(0x1000), u64(0x10)),
			16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := section{addr: 0x2000, debug: tt.debug, wide: tt.wide}
			s.entry(-1, slices.Concat([]byte{3, 0, 1, 0x78, 1, opDefCFA, 6, 16})) // not the one that is meant
			cie := s.entry(-1, slices.Concat(tt.cie, []byte{opDefCFA, 7, 8}))
			s.entry(cie, tt.fde)
			row, err := New(s.config()).Row(0x100f)
			if err != nil || row.RAReg != tt.raReg || row.CFA.Reg != 7 || row.Start != 0x1000 || row.End != 0x1010 {
				t.Errorf("got %+v, %v; want register %d, CFA r7+8, [0x1000,0x1010)", row, err, tt.raReg)
			}
		})
	}
}

func TestBadCIE(t *testing.T) {
	for _, tt := range []struct {
		name string
		cie  []byte
		want string
	}{
		{"unknown letter", []byte{1, 'z', 'X', 0, 1, 0x78, 16, 0},
			`parse CIE at .eh_frame+0x0: augmentation "zX" not supported`},
		{"letter without z", []byte{1, 'R', 0, 1, 0x78, 16, 0}, `augmentation "R" not supported`},
		{"z not first", []byte{1, 'S', 'z', 0, 1, 0x78, 16, 0}, `augmentation "Sz" not supported`},
		{"version 2", []byte{2, 0, 1, 0x78, 16}, "version 2 not supported"},
		{"augmentation without end", slices.Concat([]byte{1}, slices.Repeat([]byte{'z'}, 100)),
			"augmentation has no end"},
		{"augmentation data cut off", []byte{1, 'z', 'R', 0, 1, 0x78, 16, 9, 0}, "data ends early"},
		{"letters need more data", []byte{1, 'z', 'L', 'R', 0, 1, 0x78, 16, 1, 0, 0}, "exceeds its length by 1"},
		{"address size 3", []byte{4, 0, 3, 0, 1, 0x78, 16}, "address size 3"},
		{"segment size 1", []byte{4, 0, 8, 1, 1, 0x78, 16}, "segment size 1"},
		{"bad instruction", []byte{1, 0, 1, 0x78, 16, 0x3f}, "instruction 0x3f at +0xd"},
		{"no instruction", []byte{1, 0, 1, 0x78, 16}, "no rule for the CFA"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := section{addr: 0x2000}
			s.fde(s.entry(-1, tt.cie), 0x1000, 0x10)
			table := New(s.config())
			for range 2 { // the second answer comes from the cache
				row, err := table.Row(0x1000)
				if row != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("got %+v, %v; want %q", row, err, tt.want)
				}
				var format *FormatError
				if !errors.As(err, &format) || format.Section != ".eh_frame" {
					t.Fatalf("got %#v, want a *FormatError in .eh_frame", err)
				}
			}
		})
	}
}
