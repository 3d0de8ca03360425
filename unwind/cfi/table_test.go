package cfi

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
)

// threeFDEs has [0x1000,0x1100), [0x1100,0x1200), [0x1400,0x1500) and returns their offsets.
func threeFDEs() (s section, offsets []int) {
	s.addr = 0x8000
	cie := s.plainCIE()
	return s, []int{s.fde(cie, 0x1000, 0x100), s.fde(cie, 0x1100, 0x100), s.fde(cie, 0x1400, 0x100)}
}

// headerOf writes an .eh_frame_hdr at 0x7000 with pairs in the given encoding.
func headerOf(s *section, offsets []int, starts []uint64, enc byte) Section {
	const addr = 0x7000
	data := []byte{1, pePCRel | peSData4, peUData4, enc}
	data = append(data, u32(s.addr-addr-4)...)
	data = append(data, u32(uint64(len(starts)))...)
	size := map[byte]int{peAbsPtr: 8, peUData2: 2, peSData2: 2, peUData4: 4, peSData4: 4, peUData8: 8,
		peSData8: 8}[enc&peFormat]
	for i, start := range starts {
		for _, v := range []uint64{start, s.addr + uint64(offsets[i])} {
			switch enc & peApplication {
			case pePCRel:
				v -= addr + uint64(len(data))
			case peTextRel:
				v -= 0x500
			case peDataRel:
				v -= addr
			}
			data = append(data, u64(v)[:size]...)
		}
	}
	return Section{addr, data}
}

// checkThree asks for the edges of threeFDEs.
func checkThree(t *testing.T, table *Table) {
	t.Helper()
	for pc, start := range map[uint64]uint64{
		0x1000: 0x1000, 0x10ff: 0x1000, 0x1100: 0x1100, 0x11ff: 0x1100, 0x1400: 0x1400, 0x14ff: 0x1400,
	} {
		row, err := table.Row(pc)
		if err != nil || row.Start != start {
			t.Errorf("Row(%#x) = %+v, %v; want start %#x", pc, row, err, start)
		}
	}
	for _, pc := range []uint64{0, 0xfff, 0x1200, 0x13ff, 0x1500, ^uint64(0)} {
		if row, err := table.Row(pc); !errors.Is(err, ErrNoFDE) || row != nil {
			t.Errorf("Row(%#x) = %+v, %v; want ErrNoFDE", pc, row, err)
		}
	}
}

var starts = []uint64{0x1000, 0x1100, 0x1400}

func TestHeaderEncodings(t *testing.T) {
	for name, enc := range map[string]byte{
		"datarel sdata4": peDataRel | peSData4, "datarel sdata8": peDataRel | peSData8,
		"datarel sdata2": peDataRel | peSData2,
		"pcrel sdata4":   pePCRel | peSData4, "textrel udata4": peTextRel | peUData4,
		"absptr": peAbsPtr, "udata4": peUData4, "udata2": peUData2, "udata8": peUData8,
	} {
		t.Run(name, func(t *testing.T) {
			s, offsets := threeFDEs()
			cfg := s.config()
			cfg.TextBase = 0x500
			cfg.EHFrameHdr = headerOf(&s, offsets, starts, enc)
			table := New(cfg)
			checkThree(t, table)
			if err := table.headerErr; err != nil || table.eh.index != nil {
				t.Errorf("the header was not used: %v, index %v", err, table.eh.index)
			}
		})
	}
}

// TestUnusableHeader: the section is walked instead, and the reason is kept.
func TestUnusableHeader(t *testing.T) {
	const enc = peDataRel | peSData4
	for _, tt := range []struct {
		name   string
		change func(h *Section, s *section, offsets []int)
		want   string
	}{
		{"version 2", func(h *Section, _ *section, _ []int) { h.Data[0] = 2 }, "version 2 not supported"},
		{"no table", func(h *Section, _ *section, _ []int) { h.Data[3] = peOmit }, "no search table"},
		{"values of no fixed size", func(h *Section, _ *section, _ []int) { h.Data[3] = peULEB128 },
			"encoding 0x01 of the table"},
		{"indirect values", func(h *Section, _ *section, _ []int) { h.Data[3] |= peIndirect },
			"encoding 0xbb of the table"},
		{"relative count", func(h *Section, _ *section, _ []int) { h.Data[2] |= pePCRel },
			"encoding 0x13 of the count"},
		{"count too large", func(h *Section, _ *section, _ []int) { h.Data[11] = 0x7f }, "pairs exceed"},
		{"cut off", func(h *Section, _ *section, _ []int) { h.Data = h.Data[:10] }, "data ends early"},
		{"pairs descend", func(h *Section, s *section, o []int) {
			*h = headerOf(s, []int{o[2], o[1], o[0]}, []uint64{0x1400, 0x1100, 0x1000}, enc)
		}, "do not ascend"},
		{"pair of another FDE", func(h *Section, s *section, o []int) {
			*h = headerOf(s, []int{o[1], o[1], o[1]},
				starts, enc)
		},
			"its FDE starts at 0x1100"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, offsets := threeFDEs()
			cfg := s.config()
			cfg.EHFrameHdr = headerOf(&s, offsets, starts, enc)
			tt.change(&cfg.EHFrameHdr, &s, offsets)
			table := New(cfg)
			checkThree(t, table)
			if err := table.headerErr; err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("headerErr = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestHeaderOutsideOfFrames(t *testing.T) {
	s, offsets := threeFDEs()
	cfg := s.config()
	cfg.EHFrameHdr = headerOf(&s, []int{-0x100, 0x100000, offsets[0] + 1}, starts, peDataRel|peSData4)
	for _, pc := range starts {
		var format *FormatError
		if row, err := New(cfg).Row(pc); !errors.As(err, &format) {
			t.Errorf("Row(%#x) = %+v, %v; want a *FormatError", pc, row, err)
		}
	}
}

func TestWalk(t *testing.T) {
	s, _ := threeFDEs()
	t.Run("whole", func(t *testing.T) { checkThree(t, New(s.config())) })
	t.Run("empty", func(t *testing.T) {
		if _, err := New(Config{WordSize: 8, Order: binary.LittleEndian}).Row(0x1000); err != ErrNoFDE {
			t.Errorf("got %v, want ErrNoFDE", err)
		}
	})
	t.Run("terminator in the middle", func(t *testing.T) {
		s := section{addr: 0x8000}
		cie := s.plainCIE()
		s.fde(cie, 0x1000, 0x100)
		s.data = append(s.data, 0, 0, 0, 0)
		cie = s.plainCIE()
		s.fde(cie, 0x1400, 0x100)
		s.fde(cie, 0x1100, 0x100)
		s.data = append(s.data, 0, 0, 0, 0)
		checkThree(t, New(s.config()))
	})
	t.Run("removed and empty functions", func(t *testing.T) {
		s, _ := threeFDEs()
		cie := s.plainCIE()
		s.fde(cie, 0, 0x10000)
		s.fde(cie, 0x1080, 0)
		s.fde(cie, 0x1480, 0)
		checkThree(t, New(s.config()))
	})
}

func TestDebugFrame(t *testing.T) {
	s := section{debug: true}
	cie := s.cie(3, "", nil, opDefCFA, 7, 8, opOffset|16, 1)
	for _, start := range starts {
		s.fde(cie, start, 0x100)
	}
	t.Run("alone", func(t *testing.T) { checkThree(t, New(s.config())) })
	t.Run("where .eh_frame has nothing", func(t *testing.T) {
		eh := section{addr: 0x8000}
		first := eh.fde(eh.plainCIE(), 0x1000, 0x100)
		cfg := s.config()
		cfg.EHFrame = Section{eh.addr, eh.data}
		cfg.EHFrameHdr = headerOf(&eh, []int{first}, starts[:1], peDataRel|peSData4)
		table := New(cfg)
		checkThree(t, table)
		for pc, want := range map[uint64]string{0x1000: ".eh_frame", 0x1100: ".debug_frame"} {
			if f, err := table.FDE(pc); err != nil || f.Section != want {
				t.Errorf("FDE(%#x) = %+v, %v; want it from %s", pc, f, err, want)
			}
		}
	})
}

// TestIncompleteIndex: what can be read is used, and an address that is not found may be in
// what was left out.
func TestIncompleteIndex(t *testing.T) {
	tests := map[string]func(s *section){
		"length beyond the section": func(s *section) { s.data = append(s.data, 0xf0, 0, 0, 0, 1, 2) },
		"64-bit length of 2^64-1":   func(s *section) { s.data = append(s.data, slices.Repeat([]byte{0xff}, 12)...) },
		"reserved length":           func(s *section) { s.data = append(s.data, 0xf0, 0xff, 0xff, 0xff, 1, 2) },
		"length shorter than an id": func(s *section) { s.data = append(s.data, 2, 0, 0, 0, 1, 2) },
		"CIE before the section":    func(s *section) { s.data = append(s.data, 4, 0, 0, 0, 0xff, 0xff, 0, 0) },
		"FDE as CIE":                func(s *section) { s.fde(0x19, 0x3000, 0x100) },
		"FDE cut off":               func(s *section) { s.entry(0, []byte{1, 2, 3}) },
		"range wraps":               func(s *section) { s.fde(0, 0x3000, ^uint64(0)-0x100) },
		"unknown augmentation":      func(s *section) { s.fde(s.cie(1, "zX", nil, 0), 0x3000, 0x100) },
	}
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			s, _ := threeFDEs()
			damage(&s)
			table := New(s.config())
			checkThree(t, table)
			_, err := table.Row(0x3000)
			var format *FormatError
			if !errors.As(err, &format) || !errors.Is(err, ErrNoFDE) {
				t.Errorf("got %v, want ErrNoFDE and the *FormatError of what was left out", err)
			}
		})
	}
}

func TestBigEndian(t *testing.T) {
	be := binary.BigEndian
	fields := []byte{1, 0, 1, 0x78, 65, opDefCFA, 1, 0}
	data := append(be.AppendUint32(nil, uint32(len(fields)+4)), 0, 0, 0, 0)
	data = append(data, fields...)
	id := uint32(len(data) + 4)
	data = be.AppendUint32(data, 4+16+4)
	data = be.AppendUint32(data, id)
	data = be.AppendUint64(data, 0x1000)
	data = be.AppendUint64(data, 0x400)
	data = append(data, opAdvanceLoc2, 0x01, 0x02, opNop)
	row, err := New(Config{WordSize: 8, Order: be, EHFrame: Section{0x8000, data}}).Row(0x1000)
	if err != nil || row.End != 0x1102 || row.RAReg != 65 {
		t.Errorf("got %+v, %v; want a row to 0x1102 with register 65", row, err)
	}
}

// Rows come out of blocks, and the next one must not be written over the last.
func TestRowsDoNotChange(t *testing.T) {
	const many = 4096
	s := section{addr: 0x8000}
	s.fde(s.plainCIE(), 0x1000, many, opAdvanceLoc|0x20, opDefCFAOffset, 16)
	table := New(s.config())
	first, err := table.Row(0x1000)
	if err != nil {
		t.Fatal(err)
	}
	for pc := range uint64(many) {
		if _, err := table.Row(0x1000 + pc); err != nil {
			t.Fatal(err)
		}
	}
	if first.CFA.N != 8 || first.End != 0x1020 {
		t.Errorf("a row given out has changed: %+v", first)
	}
}
