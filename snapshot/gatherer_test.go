package snapshot

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/mem"
)

// field is memory in which each word of 8 bytes is its address, with a hole.
type field struct {
	start, end         mem.Addr
	holeStart, holeEnd mem.Addr
	calls              int
	err                error
}

func (m *field) ReadPieces(pieces []Piece) error {
	m.calls++
	for i := range pieces {
		p := &pieces[i]
		p.Got = 0
		for a := p.Addr; p.Got < len(p.Data) && a >= m.start && a < m.end && (a < m.holeStart || a >= m.holeEnd); a++ {
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], uint64(a&^7))
			p.Data[p.Got] = word[a&7]
			p.Got++
		}
	}
	return m.err
}

// gathering is a ProcessCopier that asks for wants.
type gathering struct {
	wants []Want
	got   [][]byte
	ok    bool
	panic any
}

func (c *gathering) CopyProcess(g *Gatherer) {
	c.got, c.ok = g.Gather(c.wants)
	if c.panic != nil {
		panic(c.panic)
	}
}
func (c *gathering) Room() int      { return 100 }
func (c *gathering) String() string { return "toy" }

// TestGather: what is near is read by one call, each want gets its own bytes, whatever the order; nothing else is
// kept.
func TestGather(t *testing.T) {
	m := &field{start: 0x10000, end: 0x90000, holeStart: 0x30000, holeEnd: 0x30010}
	c := &gathering{wants: []Want{{0x20100, 16}, {0x20000, 8}, {0x80000, 24}, {0x20104, 8}, {0x2fff8, 32}, {0x5000, 8},
		{0x20000, 0}, {^mem.Addr(7), 64}}}
	var g Gatherer
	g.Ready([]ProcessCopier{c})
	g.Run([]ProcessCopier{c}, m)
	ranges, short := g.Copied()
	if !c.ok || len(short) > 0 || m.calls != 4 {
		t.Errorf("%v, shortfalls %v, %d calls; want 4", c.ok, short, m.calls)
	}
	for i, w := range c.wants {
		whole := i < 4
		if (c.got[i] != nil) != whole {
			t.Errorf("want %#x+%d: got %v", uint64(w.Addr), w.Len, c.got[i])
		}
		if whole && (len(c.got[i]) != w.Len || c.got[i][0] != byte(uint64(w.Addr)&^7>>(8*(w.Addr&7)))) {
			t.Errorf("want %#x+%d: got % x", uint64(w.Addr), w.Len, c.got[i])
		}
	}
	total := 0
	for i, r := range ranges {
		total += len(r.Data)
		if i > 0 && r.Start < ranges[i-1].End() {
			t.Errorf("range %#x lies before the end of the one before, %#x", uint64(r.Start), uint64(ranges[i-1].End()))
		}
	}
	if total != 16+8+24+8 {
		t.Errorf("%d bytes are kept in %v, want 56: what was wanted, and what is mapped of 32 bytes", total, ranges)
	}
	if o := mem.NewOverlay(nil, ranges...); !o.Holds(0x2fff8, 8) || o.Holds(0x20008, 1) {
		t.Errorf("ranges %v", ranges)
	}
}

// TestGatherEnds: without room, time, or a memory that answers, what was had stays and the rest is a shortfall; so it
// is after a panic, and once nobody waits any longer.
func TestGatherEnds(t *testing.T) {
	broken := errors.New("of the test")
	for _, tc := range []struct {
		name   string
		budget Budget
		change func(g *Gatherer, m *field, c *gathering)
		ranges int
		want   error
	}{
		{"enough", Budget{Bytes: 100, Time: time.Hour}, nil, 2, nil},
		{"no room", Budget{Bytes: 15, Time: time.Hour}, nil, 1, ErrSpent},
		{"no time", Budget{Bytes: 100, Time: -1}, nil, 0, ErrSpent},
		{"memory is gone", Budget{Bytes: 100, Time: time.Hour},
			func(_ *Gatherer, m *field, _ *gathering) { m.err = broken }, 0, broken},
		{"nothing more to read", Budget{Bytes: 100, Time: time.Hour},
			func(g *Gatherer, _ *field, _ *gathering) { g.Read = 2*(8+callCost) - 1 }, 1, ErrSpent},
		{"enough to read, slowly", Budget{Bytes: 100, Time: time.Hour},
			func(g *Gatherer, _ *field, _ *gathering) { g.Read = 2 * (8 + callCost) }, 2, nil},
		{"delayed too long", Budget{Bytes: 100, Time: time.Hour}, func(g *Gatherer, _ *field, _ *gathering) {
			g.Until = time.Now().Add(-1)
		}, 0, ErrSpent},
		{"nobody waits", Budget{Bytes: 100, Time: time.Hour}, func(g *Gatherer, _ *field, _ *gathering) { g.End() }, 0,
			ErrSpent},
	} {
		m, c := &field{start: 0x10000, end: 0x90000}, &gathering{wants: []Want{{0x20000, 8}, {0x40000, 8}}}
		g := Gatherer{Budget: tc.budget}
		if tc.change != nil {
			tc.change(&g, m, c)
		}
		g.Run([]ProcessCopier{c}, m)
		ranges, short := g.Copied()
		if len(ranges) != tc.ranges || (tc.want != nil) != (len(short) > 0) ||
			len(short) > 0 && !errors.Is(short[0].Why, tc.want) || c.ok != (tc.want == nil) {
			t.Errorf("%s: %d ranges, shortfalls %v; want %d, %v", tc.name, len(ranges), short, tc.ranges, tc.want)
		}
	}
	c := &gathering{wants: []Want{{0x20000, 8}}, panic: "oh"}
	var g Gatherer
	g.Run([]ProcessCopier{c}, &field{start: 0x10000, end: 0x90000})
	ranges, short := g.Copied()
	if len(ranges) != 1 || len(short) != 1 || !strings.Contains(short[0].String(), "please report it: oh") {
		t.Errorf("after a panic: %v, %v", ranges, short)
	}
}
