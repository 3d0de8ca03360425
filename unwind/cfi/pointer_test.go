package cfi

import (
	"slices"
	"strings"
	"testing"
)

// TestPointerEncodings reads FDEs of [0x1010, 0x1020) in every encoding a code address can
// have. The section lies at 0x2000, text base 0x1000, data base 0x3000.
func TestPointerEncodings(t *testing.T) {
	const start, size = 0x1010, 0x10
	relative := func(n int) func(base, place uint64) []byte {
		return func(base, place uint64) []byte { return append(u64(start - base)[:n:n], u64(size)[:n]...) }
	}
	for _, tt := range []struct {
		name  string
		enc   byte
		bytes func(base, place uint64) []byte
	}{
		{"absptr", peAbsPtr, relative(8)},
		{"uleb128", peULEB128, func(base, _ uint64) []byte { return uleb(uleb(nil, start-base), size) }},
		{"udata2", peUData2, relative(2)},
		{"udata4", peUData4, relative(4)},
		{"udata8", peUData8, relative(8)},
		{"sleb128", peSLEB128, func(base, _ uint64) []byte { return sleb(sleb(nil, int64(start-base)), size) }},
		{"sdata2", peSData2, relative(2)},
		{"sdata4", peSData4, relative(4)},
		{"sdata8", peSData8, relative(8)},
		{"aligned", peAligned, func(_, place uint64) []byte {
			return slices.Concat(make([]byte, -place%8), u64(start), u64(size))
		}},
		{"pcrel sdata2", pePCRel | peSData2, relative(2)},
		{"pcrel sdata4", pePCRel | peSData4, relative(4)},
		{"pcrel absptr", pePCRel | peAbsPtr, relative(8)},
		{"textrel udata4", peTextRel | peUData4, relative(4)},
		{"textrel uleb128", peTextRel | peULEB128,
			func(base, _ uint64) []byte { return uleb(uleb(nil, start-base), size) }},
		{"datarel sdata4", peDataRel | peSData4, relative(4)},
		{"datarel sleb128", peDataRel | peSLEB128,
			func(base, _ uint64) []byte { return sleb(sleb(nil, int64(start-base)), size) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := section{addr: 0x2000}
			cie := s.cie(1, "zR", nil, slices.Concat([]byte{1, tt.enc}, []byte{opDefCFA, 7, 8})...)
			base := map[byte]uint64{pePCRel: s.place(), peTextRel: 0x1000, peDataRel: 0x3000}[tt.enc&peApplication]
			if tt.enc == peAligned {
				base = 0
			}
			s.entry(cie, append(tt.bytes(base, s.place()), 0))
			cfg := s.config()
			cfg.TextBase, cfg.DataBase = 0x1000, 0x3000
			f, err := New(cfg).FDE(0x101f)
			if err != nil || f.Start != start || f.End != start+size {
				t.Errorf("got [%#x,%#x), %v; want [%#x,%#x)", f.Start, f.End, err, start, start+size)
			}
		})
	}
}

func TestPointersOf32Bits(t *testing.T) {
	s := section{addr: 0x1000}
	cie := s.cie(1, "zR", nil, 1, pePCRel|peSData4, opDefCFA, 4, 4)
	start := uint64(0xfffff000)
	s.entry(cie, slices.Concat(u32(start-s.place()), u32(0x100), []byte{0}))
	cfg := s.config()
	cfg.WordSize = 4
	f, err := New(cfg).FDE(0xfffff010)
	if err != nil || f.Start != start || f.End != start+0x100 {
		t.Errorf("got [%#x,%#x), %v; want [%#x,%#x)", f.Start, f.End, err, start, start+0x100)
	}
}

func TestRefusedPointers(t *testing.T) {
	for _, tt := range []struct {
		name string
		enc  byte
		want string
	}{
		{"indirect", peIndirect | pePCRel | peSData4, "pointer encoding 0x9b not supported for a code address"},
		{"function relative", peFuncRel | peSData4, "pointer encoding 0x4b not supported for a code address"},
		{"omitted", peOmit, "pointer encoding 0xff not supported"},
		{"unknown format", 0x05, "pointer encoding 0x05 not supported"},
		{"unknown application", 0x6b, "pointer encoding 0x6b not supported"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := section{addr: 0x2000}
			cie := s.cie(1, "zR", nil, 1, tt.enc, opDefCFA, 7, 8)
			s.entry(cie, slices.Concat(u64(0x1000), u64(0x10), []byte{0}))
			_, err := New(s.config()).Row(0x1000)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
