package hotspot

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/hotspot/codecache"
	"github.com/fpstack/fpstack/vm/view"
)

// Code as it was met in processes: the comments are its disassembly.
func TestBuilt(t *testing.T) {
	for _, row := range []struct {
		name   string
		code   string
		depth  int64
		pushed bool
		ok     bool
	}{
		{"nothing yet", "", 0, false, true},
		{"the stack was banged", "\x89\x84\x24\x00\xc0\xfe\xff", 0, false, true}, // mov [rsp-0x14000], eax
		{"rbp is pushed", "\x89\x84\x24\x00\xc0\xfe\xff\x55", 8, true, true},     // push rbp
		{"C1 is complete", "\x55\x48\x83\xec\x30", 0x38, true, true},             // sub rsp, 0x30
		{"C2 without rbp", "\x48\x81\xec\x18\x00\x00\x00", 0x18, false, true},    // sub rsp, 0x18
		// mov [rsp+0x10], rbp
		{"C2 with rbp", "\x48\x81\xec\x18\x00\x00\x00\x48\x89\x6c\x24\x10", 0x18, true, true},
		{"a nop before", "\x0f\x1f\x44\x00\x00\x55", 8, true, true}, // nop; push rbp
		// push rbp; mov rbp, rsp; pushf; sub rsp, 8; sub rsp, 0x80; mov [rsp+0x78], rax; mov [rsp+0x80], r8
		{"all registers", "\x55\x48\x8b\xec\x9c\x48\x83\xec\x08\x48\x81\xec\x80\x00\x00\x00" +
			"\x48\x89\x44\x24\x78\x4c\x89\x84\x24\x80\x00\x00\x00", 0x98, true, true},
		{"a store elsewhere", "\x55\x48\x89\x44\x25\x78", 0, false, false}, // mov [rbp+0x78], rax
		{"a store that is cut", "\x55\x48\x89\x84\x24\x78\x00\x00", 0, false, false},
		// cmp [r15+0x20], 0
		{"the barrier", "\x55\x48\x83\xec\x20\x41\x81\x7f\x20\x00\x00\x00\x00", 0, false, false},
		{"other code", "\x55\x48\x8b\x06", 0, false, false}, // mov rax, [rsi]
		{"cut", "\x48\x81\xec\x18", 0, false, false},
	} {
		depth, pushed, ok := built([]byte(row.code))
		if depth != row.depth || pushed != row.pushed || ok != row.ok {
			t.Errorf("%s: got %d, %t, %t, want %d, %t, %t", row.name, depth, pushed, ok, row.depth, row.pushed, row.ok)
		}
	}
}

func TestEpilogue(t *testing.T) {
	for _, row := range []struct {
		name  string
		code  string
		depth int
		ok    bool
	}{
		{"the return", "\xc3", 0, true},
		{"rbp is still saved", "\x5d\xc3", 8, true},
		{"17: is a safepoint wanted?", "\x5d\x49\x3b\xa7\x38\x03\x00\x00\x0f\x87\x01\x00\x00\x00\xc3", 8, true},
		{"11: by a page", "\x4d\x8b\x97\x08\x01\x00\x00\x41\x85\x02\xc3", 0, true},
		{"8: by a page", "\x85\x05\x12\x34\x56\x00\xc3", 0, true},
		{"vectors", "\xc5\xf8\x77\x5d\xc3", 0, false}, // pop rbp comes first
		{"an exception goes on", "\x5d\xe9\x30\xa4\x7e\xff", 8, true},
		{"another jump", "\xe9\x30\xa4\x7e\xff", 0, false},
		{"another instruction", "\x48\x89\x04\x24\xc3", 0, false},
		{"cut", "\x49\x3b\xa7\x38", 0, false},
		{"nothing", "", 0, false},
	} {
		if depth, ok := epilogue([]byte(row.code)); depth != row.depth || ok != row.ok {
			t.Errorf("%s: got %d, %t, want %d, %t", row.name, depth, ok, row.depth, row.ok)
		}
	}
}

func TestMovesSP(t *testing.T) {
	for code, want := range map[string]int{
		"\x48\x8b\xe3": 3, "\x48\x89\xdc": 3, // mov rsp, rbx
		"\x49\x8b\xe3": 11, "\x4c\x89\xdc": 11, // mov rsp, r11
		"\x48\x8b\xdc": -1, "\x48\x89\xe3": -1, // mov rbx, rsp
		"\x48\x8b\x23": -1, "\x48\x8b": -1, "": -1,
	} {
		if got, ok := movesSP([]byte(code)); ok != (want >= 0) || ok && got != want {
			t.Errorf("%x: got %d, %t, want %d", code, got, ok, want)
		}
	}
}

func TestToPoll(t *testing.T) {
	const place, note, jump = "\x4c\x8d\x15\x10\xff\xff\xff", "\x4d\x89\x97\x70\x04\x00\x00", "\xe9\x00\x01\x02\x00"
	for _, row := range []struct {
		name         string
		before, code string
		want         bool
	}{
		{"at its begin", "\xc3", place + note + jump, true},
		{"the place is known", place, note + jump, true},
		{"the place is noted", place + note, jump, true},
		{"another jump", place, jump, false},
		{"another address", "", place + "\xc3", false},
		{"cut", "", place, false},
		{"nothing", "", "", false},
	} {
		if got := toPoll([]byte(row.before), []byte(row.code)); got != row.want {
			t.Errorf("%s: got %t", row.name, got)
		}
	}
}

func TestUnwound(t *testing.T) {
	const jump = "\xe9\x30\xa4\x7e\xff"
	for before, want := range map[string]bool{
		"\xc5\xf8\x77\x48\x81\xc4\xb0\x00\x00\x00\x5d": true,  // add rsp, 0xb0; pop rbp
		"\xc5\xf8\x77\x48\x83\xc4\x30\x5d":             true,  // add rsp, 0x30; pop rbp
		"\xc5\xf8\x77\x48\x83\xc4\x30\x90":             false, // the frame pointer is not popped
		"\x48\x8b\xf0\xeb\x03\x48\x8b\x5d":             false, // the last byte of another instruction
		"\x5d":                                         false, "": false,
	} {
		if got := unwound([]byte(before), []byte(jump)); got != want {
			t.Errorf("%x: got %t", before, got)
		}
		if unwound([]byte(before), []byte("\xc3")) {
			t.Errorf("%x: a return is no jump", before)
		}
	}
}

func TestClassName(t *testing.T) {
	for class, want := range map[string]string{
		"java.lang.Thread":                   "java.lang.Thread",
		"Dead$$Lambda+0x00007f2c8c000a00":    "Dead$$Lambda",
		"Dead$$Lambda$14/0x0000000800c03000": "Dead$$Lambda$14",
		"+0x12":                              "+0x12",
	} {
		if got := className(class); got != want {
			t.Errorf("%q: got %q, want %q", class, got, want)
		}
	}
}

func FuzzEdges(f *testing.F) {
	f.Add([]byte("\x55\x48\x83\xec\x20\x5d\xc3"))
	f.Fuzz(func(t *testing.T, code []byte) {
		if depth, _, ok := built(code); ok && (depth < 0 || depth > maxFrame) {
			t.Fatalf("a frame of %d bytes", depth)
		}
		epilogue(code)
		operand(code, 0x58)
		jump(code)
		movesSP(code)
		nop(code)
	})
}

// TestPops: arguments that were pushed for a stub are popped behind the call; the end of a frame pops none.
func TestPops(t *testing.T) {
	for _, c := range []struct {
		code string
		want int
	}{
		{"\x5b\x5b\x83\xfb\x00\x0f\x84\x03\x01\x00\x00", 2}, // of a cast in JDK 17
		{"\x41\x5a\x58\x85\xc0", 2},
		{"\x58\x5d\xc3", 1},
		{"\x5d\x49\x3b\xa7\x40\x03\x00\x00", 0},
		{"\x48\x83\xc4\x50\x5d", 0},
		{"", 0},
	} {
		if got := pops([]byte(c.code)); got != c.want {
			t.Errorf("%x: got %d, want %d", c.code, got, c.want)
		}
	}
}

// TestTakenOff: a place for saved registers is taken off the stack; the frame itself, and what comes behind its end, is
// no such place.
func TestTakenOff(t *testing.T) {
	const restores = "\x48\x8b\x04\x24\x48\x83\xc4\x10\x48\x81\xc4\x80\x00\x00\x00"
	const ends = "\x48\x81\xc4\x90\x00\x00\x00\x5d"
	for _, c := range []struct {
		code string
		want []int64
	}{
		{restores + "\xe9\x00\x00\x00\x00", []int64{0x10, 0x90}},
		{restores + ends + restores + "\xc3", []int64{0x10, 0x90}},
		// Interrupted as it saves registers, before vectors: these are still to be saved, and restored.
		{"\x48\x81\xec\x00\x01\x00\x00\xc4\xe3\x7d\x19\x04\x24\x01\x48\x81\xc4\x00\x01\x00\x00" + restores +
			"\xe9\x00\x00\x00\x00", []int64{0x10, 0x90}},
		{"\x0f\xb6\xc0" + ends + "\xc3" + restores + "\xc3\x90\x90\x90\x90\x90\x90\x90", nil},
	} {
		if got := takenOff([]byte(c.code)); !slices.Equal(got, c.want) {
			t.Errorf("%x: got %x, want %x", c.code, got, c.want)
		}
	}
}

// TestAbove: code of C1 in JDK 8 has saved all registers before a call of mathematics. Two ways to go on, of which each
// takes a word off, are not added up to a place where a return address is left over: its frame leads nowhere.
func TestAbove(t *testing.T) {
	const (
		heap, code, entry = mem.Addr(0x10000), mem.Addr(0x18000), uint64(0x10800)
		sp, size          = mem.Addr(0x7000), 0xa0
		stale, right      = 85, 101 // words above sp
	)
	words := make([]byte, 160*wordSize)
	put := func(at int, w uint64) { binary.LittleEndian.PutUint64(words[at*wordSize:], w) }
	put(stale, entry)
	put(stale-1, 0x4049000000000000) // 50.0
	put(right, entry)
	put(right-1, uint64(sp)+114*wordSize)
	put(115, entry)
	goesOn := "\x48\x83\xc4\x08\xe9\x05\x00\x00\x00\xe8\x26\x42\x7f\x14" + // add rsp, 8; jmp; call
		"\x48\x83\xc4\x08\x48\x81\xc4\x00\x02\x00\x00" // add rsp, 8; add rsp, 0x200
	j := &jvm{version: 8, heaps: []codecache.Heap{{Low: heap, High: 0x20000}}, low: heap, high: 0x20000,
		codelets: []codecache.Codelet{{Start: 0x10000, End: 0x11000, Name: "invoke return entry points"}},
		begin:    0x10000, end: 0x11000}
	r := &Runtime{read: once{from: mem.NewOverlay(nil,
		mem.Range{Start: code, Data: append([]byte(goesOn), make([]byte, saveArea)...)})}}
	v := view.Copied(nil, mem.Range{Start: sp, Data: words})
	s := step{r: r, j: j, v: &v, pc: code, sp: sp, leaf: true, interrupted: true}
	b := &codecache.Blob{Kind: codecache.Compiled, FrameSize: size, Code: codecache.Code{Level: 1}}
	if got, want := s.above(b, sp+size), sp+(right+1)*wordSize; got != want {
		t.Errorf("the caller's stack pointer is %#x, want %#x", uint64(got), uint64(want))
	}
}
