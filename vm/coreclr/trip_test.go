package coreclr

import (
	"encoding/binary"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// The function as 9.0.5 and 10.0.9 have it.
const (
	trip9 = "\x50\x55\x53\x41\x57\x41\x56\x41\x55\x41\x54\x52\x50\x48\x89\xe7\x48\x8d\x64\x24\xd8" +
		"\x66\x0f\x7f\x04\x24\x66\x0f\x7f\x4c\x24\x10\xe8\x5f\x10\xf0\xff\x66\x0f\x6f\x04\x24\x66\x0f\x6f\x4c\x24\x10" +
		"\x48\x8d\x64\x24\x28\x58\x5a\x41\x5c\x41\x5d\x41\x5e\x41\x5f\x5b\x5d\xc3"
	trip10 = "\x50\x55\x53\x41\x57\x41\x56\x41\x55\x41\x54\x51\x52\x50\x48\x89\xe7\x48\x8d\x64\x24\xe0" +
		"\x66\x0f\x7f\x04\x24\x66\x0f\x7f\x4c\x24\x10\xe8\xfa\x9c\xef\xff\x66\x0f\x6f\x04\x24\x66\x0f\x6f\x4c\x24\x10" +
		"\x48\x8d\x64\x24\x20\x58\x5a\x59\x41\x5c\x41\x5d\x41\x5e\x41\x5f\x5b\x5d\xc3"
)

// TestTrip: what has been pushed at each place of the function that stops threads, as its instructions show; before the
// call the return address is not on the stack.
func TestTrip(t *testing.T) {
	for _, c := range []struct {
		code, more string
		call, size int
		depth      map[int]int64
		rbx        map[int]bool // it is saved there
	}{
		{trip9, "", 0x25, 0x42, map[int]int64{0: 0, 1: 8, 2: 16, 3: 24, 5: 32, 0xb: 56, 0xd: 72, 0x15: 112, 0x20: 112,
			0x24: 112, 0x35: 72, 0x36: 64, 0x37: 56, 0x40: 16, 0x41: 8},
			map[int]bool{0x25: true, 0x3f: true, 0x40: false, 0x41: false}},
		{trip10, "\x66\x2e\x0f\x1f", 0x26, 0x44, map[int]int64{0: 0, 0xe: 80, 0x16: 112, 0x25: 112, 0x43: 8},
			map[int]bool{0x26: true, 0x43: false}},
	} {
		x := parseTrip([]byte(c.code + c.more))
		if x == nil || x.call != c.call || len(x.depth) != c.size {
			t.Fatalf("%+v, want its call before %#x and %#x bytes", x, c.call, c.size)
		}
		for at, want := range c.depth {
			if x.depth[at] != want {
				t.Errorf("%d bytes are pushed at %#x, want %d", x.depth[at], at, want)
			}
		}
		for at := range c.call {
			if x.row(mem.Addr(at), true) != nil {
				t.Errorf("interrupted at %#x, before the call, it has a row", at)
			}
		}
		for at, want := range c.rbx {
			row := x.row(mem.Addr(at), at >= c.call)
			if row == nil || row.CFA.N != x.depth[at] || row.RA.N != -8 {
				t.Fatalf("at %#x: %+v", at, row)
			}
			rule := row.Rule(uint64(regs.AMD64RBX))
			if want != (rule.Kind == cfi.Offset && rule.N == -24) {
				t.Errorf("rbx at %#x is %+v", at, rule)
			}
		}
	}
	for _, code := range []string{"", trip9[:0x40], trip9[:0x20] + trip9[0x25:], "\x50\x55\xc3",
		trip9[:0x10] + "\x90"} {
		if x := parseTrip([]byte(code)); x != nil {
			t.Errorf("%x is taken for it", code)
		}
	}
}

// Places of what replacedReturn draws.
const (
	drawnStore, drawnThreads, drawnCode = 0x10000, 0x20000, 0x30000
	drawnBytes                          = 0x30000
)

// replacedReturn is a runtime of that version with thread 812, of which the return address at slot was replaced: it was
// to managed code. more are other words, by where they are.
func replacedReturn(t *testing.T, p *port, version Version, slot uint64, more map[int]uint64) *Runtime {
	t.Helper()
	b := make([]byte, drawnBytes)
	put := func(at int, v uint64) { binary.LittleEndian.PutUint64(b[at-drawnStore:], v) }
	l, err := layoutOf(&object{port: p, version: version}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.threadStore = variable{at: drawnStore}
	put(drawnStore, drawnStore+0x100)
	put(drawnStore+0x100+int(l.storeFirst), drawnThreads+uint64(l.threadLink))
	put(drawnThreads+int(l.threadOSID), 812)
	put(drawnThreads+0x240, drawnCode+0x44)
	put(drawnThreads+0x248, slot)
	for at, v := range more {
		put(at, v)
	}
	r := newRuntime(&object{port: p}, 0, l, module.Image{Memory: mem.NewOverlay(nil,
		mem.Range{Start: drawnStore, Data: b})})
	r.sections.Store(&sections{list: []section{{start: drawnCode, end: drawnCode + 0x100}}, low: drawnCode,
		high: drawnCode + 0x100})
	return r
}

// TestReplacedReturn: a thread that has not come into the function yet returns to where the runtime's Thread says.
func TestReplacedReturn(t *testing.T) {
	const code, slot = drawnCode, 0x7f80
	r := replacedReturn(t, &onAMD64, Version{9, 0, 5}, slot, nil)
	r.trip = parseTrip([]byte(trip9))
	r.trip.start = 0x5000
	for _, c := range []struct {
		name   string
		tid    int
		pc, sp mem.Addr
		want   mem.Addr // 0: declined
	}{
		{"returns to its beginning", 812, 0x5000, slot + 8, code + 0x44},
		{"has pushed two words", 812, 0x5002, slot + 8 - 16, code + 0x44},
		{"is another thread", 813, 0x5000, slot + 8, 0},
		{"was replaced elsewhere", 812, 0x5000, slot + 16, 0},
	} {
		r.Start(&snapshot.Thread{TID: c.tid}, r.live)
		rs := regs.New(regs.AMD64)
		rs.Set(regs.AMD64RSP, uint64(c.sp))
		x, err := r.crossTrip(r.trip, &unwind.Frame{PC: c.pc, Interrupted: true}, &rs, r.live)
		var got, sp mem.Addr
		if err == nil {
			got, _ = x.Registers.PC()
			sp, _ = x.Registers.SP()
		}
		if c.want == 0 && err == nil || c.want != 0 && (err != nil || got != c.want || sp != slot+8) {
			t.Errorf("%s: %#x with SP %#x, %v, want %#x with SP %#x", c.name, uint64(got), uint64(sp), err,
				uint64(c.want), slot+8)
		}
	}
}

func FuzzTrip(f *testing.F) {
	f.Add([]byte(trip9), uint8(0x25))
	f.Add([]byte(trip10), uint8(0x43))
	f.Fuzz(func(t *testing.T, b []byte, at uint8) {
		x := parseTrip(b)
		if x != nil && int(at) < len(x.depth) {
			x.row(mem.Addr(at), true)
		}
	})
}
