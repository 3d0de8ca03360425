package heap

import (
	"errors"
	"testing"

	"github.com/fpstack/fpstack/mem"
)

// encode makes a position table: rows of code offset, source position as V8 packs it, and whether it is a statement's.
func encode(newer bool, rows [][3]int64) (b []byte) {
	unsigned := func(v uint64) {
		for ; v > 0x7f; v >>= 7 {
			b = append(b, byte(v)|0x80)
		}
		b = append(b, byte(v))
	}
	signed := func(v int64) { unsigned(uint64(v<<1) ^ uint64(v>>63)) }
	code, source := int64(-1), int64(0)
	for _, r := range rows {
		delta := r[0] - code
		switch {
		case newer:
			unsigned(uint64(delta)<<2 | uint64(r[2]) | 2)
		case r[2] != 0:
			signed(delta)
		default:
			signed(-delta - 1)
		}
		signed(r[1] - source)
		code, source = r[0], r[1]
	}
	return b
}

func packed(offset, inlining int64) int64 { return (offset+1)<<1 | inlining<<31 }

// TestPositionAt: the last entry at or before an offset counts, in both encodings.
func TestPositionAt(t *testing.T) {
	const external = 1
	rows := [][3]int64{
		{-1, packed(3, 0), 0}, {0, packed(10, 0), 1}, {5, packed(300, 0), 0}, {5, packed(7, 2), 1},
		{200, packed(1<<29, 0xffff), 0}, {210, packed(50, 0) | external, 1}, {100000, packed(1, 0), 0},
	}
	for _, tc := range []struct{ offset, want, inlining int }{
		{0, 10, 0}, {4, 10, 0}, {5, 7, 2}, {199, 7, 2}, {200, 1 << 29, 0xffff}, {99999, 1 << 29, 0xffff},
		{100000, 1, 0}, {1 << 30, 1, 0},
	} {
		for _, node := range []string{"24.21.0", "25.9.0"} {
			l := layoutOf(t, node)
			p, ok, err := l.PositionAt(encode(node == "25.9.0", rows), tc.offset)
			if want := (Position{tc.want, tc.inlining}); p != want || !ok || err != nil {
				t.Errorf("node %s, %d: %+v, %v, %v; want %+v", node, tc.offset, p, ok, err, want)
			}
		}
	}
	l := layoutOf(t, "22.23.3")
	if p, ok, err := l.PositionAt(nil, 10); ok || err != nil {
		t.Errorf("no table: %+v, %v, %v", p, ok, err)
	}
	for what, bad := range map[string][]byte{"ends in a number": {0x80}, "ends in an entry": {0x01},
		"a number without end": {0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 1, 0}} {
		if p, _, err := l.PositionAt(bad, 10); !errors.Is(err, ErrTable) {
			t.Errorf("%s: %+v, %v", what, p, err)
		}
	}
}

// TestBaselineOffset: bytecodes 4 to 6 have 1, 2 and 3 bytes; 0 to 3 are prefixes.
func TestBaselineOffset(t *testing.T) {
	sizes := Sizes{
		1, 1, 1, 1, 1, 2, 3,
		1, 1, 1, 1, 1, 3, 5,
		1, 1, 1, 1, 1, 5, 9,
	}
	code := []byte{4, 5, 0, 0, 6, 0, 0, 0, 0, 1, 5, 0, 0, 0, 0, 4} // 4; 5; Wide 6; ExtraWide 5; 4
	lengths := []byte{10, 4, 0, 0xc8, 0x01, 6, 2}                  // prologue, and 4, 0, 200, 6, 2 bytes
	for _, tc := range []struct{ pc, want int }{
		{0, 0}, {9, 0}, {10, 0}, {13, 0}, {14, 3}, {213, 3}, {214, 9}, {219, 9}, {220, 15}, {221, 15},
	} {
		if got, ok := BaselineOffset(lengths, code, sizes, tc.pc); got != tc.want || !ok {
			t.Errorf("pc %d: %d, %v; want %d", tc.pc, got, ok, tc.want)
		}
	}
	for what, bad := range map[string]func() (int, bool){
		"behind the code":        func() (int, bool) { return BaselineOffset(lengths, code, sizes, 222) },
		"no sizes":               func() (int, bool) { return BaselineOffset(lengths, code, nil, 100) },
		"no bytecode":            func() (int, bool) { return BaselineOffset(lengths, nil, sizes, 100) },
		"lengths end":            func() (int, bool) { return BaselineOffset(lengths[:2], code, sizes, 100) },
		"a bytecode there isn't": func() (int, bool) { return BaselineOffset(lengths, []byte{9, 9}, sizes, 20) },
		"ends in a prefix":       func() (int, bool) { return BaselineOffset(lengths, []byte{0}, sizes, 20) },
	} {
		if got, ok := bad(); ok {
			t.Errorf("%s: %d", what, got)
		}
	}
}

// TestCalls: a chain of inlined calls, and tables that contradict themselves.
func TestCalls(t *testing.T) {
	d := draw(t)
	outer, first, second := d.shared(smi(0), 0), d.shared(smi(0), 0), d.shared(smi(0), 0)
	literals := d.object(d.Types.WeakFixedArray, smi(2), first, second)
	inlining := func(rows ...[2]int64) Tagged {
		out := d.object(d.Types.ByteArray, smi(16*len(rows)))
		for _, r := range rows {
			d.words(Tagged(r[0]), Tagged(uint32(r[1])))
		}
		return out
	}
	code := func(table, literals Tagged, inlined int) Code {
		data := d.object(150, smi(9), 0, smi(inlined), literals, 0, 0, 0, outer, table, 0)
		return Code{Kind: Turbofan, Deopt: data}
	}
	// Call 1 is second at 100 of the outermost; call 2 is first at 20 of call 1.
	good := inlining([2]int64{packed(100, 0), 1}, [2]int64{packed(20, 1), 0})
	at := func(s Tagged) mem.Addr { a, _ := s.Object(); return a }
	whole := code(good, literals, 2)
	got, err := d.heap().Calls(whole, Position{5, 2})
	if err != nil || len(got) != 3 || got[0].Shared.Addr != at(first) || got[0].Offset != 5 ||
		got[1].Shared.Addr != at(second) || got[1].Offset != 20 ||
		got[2].Shared.Addr != at(outer) || got[2].Offset != 100 {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = d.heap().Calls(whole, Position{7, 0})
	if err != nil || len(got) != 1 || got[0].Shared.Addr != at(outer) || got[0].Offset != 7 {
		t.Errorf("nothing inlined: %+v, %v", got, err)
	}
	var deep [][2]int64
	for i := range maxInlined + 1 {
		deep = append(deep, [2]int64{packed(1, int64(i)), 0})
	}
	for _, tc := range []struct {
		what string
		code Code
		at   Position
		n    int // calls that are found
	}{
		{"a call that does not exist", code(good, literals, 2), Position{5, 3}, 0},
		{"a call in itself", code(inlining([2]int64{packed(1, 1), 0}), literals, 2), Position{5, 1}, 0},
		{"two calls in each other", code(inlining([2]int64{packed(1, 2), 0}, [2]int64{packed(1, 1), 0}), literals, 2),
			Position{5, 2}, 1},
		{"more calls in one another than are read", code(inlining(deep...), literals, 2), Position{5, maxInlined + 1},
			maxInlined},
		{"a function that is not inlined", code(good, literals, 1), Position{5, 2}, 1},
		{"a negative function", code(inlining([2]int64{packed(1, 0), -2}), literals, 1), Position{5, 1}, 0},
		{"no literals", code(good, smi(1), 2), Position{5, 2}, 0},
		{"too few literals", code(inlining([2]int64{packed(1, 0), 2}), literals, 1<<19), Position{5, 1}, 0},
		{"no table", code(outer, literals, 2), Position{5, 2}, 0},
		{"no data", Code{Deopt: smi(1)}, Position{5, 0}, 0},
	} {
		got, err := d.heap().Calls(tc.code, tc.at)
		if err == nil || len(got) != tc.n {
			t.Errorf("%s: %+v, %v; want an error behind %d calls", tc.what, got, err, tc.n)
		}
	}
}

// TestCodeOf: a Code by itself, and by the stream of its instructions.
func TestCodeOf(t *testing.T) {
	d := draw(t)
	code := d.object(d.Types.Code, 0x111, 0x222, 0, 0, 0x5000, Tagged(11|100<<32))
	stream := d.object(d.Types.InstructionStream, code)
	a, _ := code.Object()
	want := Code{Addr: a, Kind: Maglev, Start: 0x5000, Size: 100, Deopt: 0x111, Positions: 0x222}
	for _, from := range []Tagged{code, stream} {
		if got, err := d.heap().CodeOf(from); got != want || err != nil {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	huge := d.object(d.Types.Code, 0, 0, 0, 0, 0x5000, Tagged(0xffffffff<<32))
	for what, bad := range map[string]Tagged{"no code": d.object(199), "another stream": d.object(
		d.Types.InstructionStream, d.object(199)), "huge": huge} {
		if got, err := d.heap().CodeOf(bad); !errors.Is(err, ErrMoved) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}

// TestKinds: numbers of CodeKind move between versions.
func TestKinds(t *testing.T) {
	for node, want := range map[string]map[uint32]Kind{
		"18.20.8": {10: Interpreted, 11: Baseline, 12: Other, 13: Turbofan, 0x1d: Turbofan, 2: Interpreted, 3: Other},
		"20.20.2": {2: Interpreted, 3: Other, 11: Baseline},
		"22.23.3": {2: Other, 9: Interpreted, 10: Baseline, 11: Maglev, 12: Turbofan},
		"26.10.0": {10: Interpreted, 11: Baseline, 12: Maglev, 13: Turbofan},
	} {
		for flags, kind := range want {
			if got := layoutOf(t, node).kind(flags); got != kind {
				t.Errorf("node %s, flags %#x: %v, want %v", node, flags, got, kind)
			}
		}
	}
}

// TestBytecodeOf: the header, and offsets as frames hold them.
func TestBytecodeOf(t *testing.T) {
	d := draw(t)
	array := d.object(d.Types.BytecodeArray, smi(20), 0, 0x777)
	b, err := d.heap().BytecodeOf(array)
	if a, _ := array.Object(); err != nil || b != (Bytecode{a, 20, 0x777}) {
		t.Errorf("%+v, %v", b, err)
	}
	for biased, want := range map[int]int{63: 0, 82: 19} { // data are at 64 of V8 12
		if got, ok := d.heap().BytecodeOffset(b, biased); got != want || !ok {
			t.Errorf("%d: %d, %v; want %d", biased, got, ok, want)
		}
	}
	for _, biased := range []int{62, 83, -1, 1 << 30} {
		if got, ok := d.heap().BytecodeOffset(b, biased); ok {
			t.Errorf("%d: %d", biased, got)
		}
	}
	negative := d.object(d.Types.BytecodeArray, smi(-1), 0, 0)
	if _, err := d.heap().BytecodeOf(negative); !errors.Is(err, ErrMoved) {
		t.Errorf("-1 bytes: %v", err)
	}
}
