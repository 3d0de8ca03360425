package wasm

import (
	"bytes"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/view"
)

func binaryAt(b []byte) *view.View {
	v := view.Copied(nil, mem.Range{Start: 0x1000, Data: b})
	return &v
}

// TestWasmNames: names of functions as module.wat has them, whose first two are imported.
func TestWasmNames(t *testing.T) {
	b, err := os.ReadFile("../../../testdata/wasm/module.wasm")
	if err != nil {
		t.Fatal(err)
	}
	names, err := functionsOf(binaryAt(b), 0x1000, len(b))
	if err != nil {
		t.Fatal(err)
	}
	for index, want := range map[uint32]string{0: "wait_import", 1: "enter_again", 2: "work_leaf", 3: "work_outer",
		4: "", 5: "work_main", 12: "naïve name<with, spaces>"} {
		if got := names[index]; got != want {
			t.Errorf("function %d is %q, want %q", index, got, want)
		}
	}
	for n := range b { // cut anywhere before the last section, which has other names
		got, err := functionsOf(binaryAt(b[:n]), 0x1000, len(b))
		if err == nil && !maps.Equal(got, names) {
			t.Fatalf("%d names of %d of %d bytes", len(got), n, len(b))
		}
	}
}

// TestEveryReadOfNamesFails: whichever read fails, the names are those that there are, or there is an error.
func TestEveryReadOfNamesFails(t *testing.T) {
	code := append([]byte("\x00asm\x01\x00\x00\x00\x0a\x80\x80\x01"), make([]byte, 1<<14)...)
	b := append(append(code, "\x00\x02\x01a\x00\x0a\x04name\x01\x03\x01\x00\x00"...), code[8:]...)
	whole := mem.NewOverlay(nil, mem.Range{Start: 0x1000, Data: b})
	counted := &memory.Failing{Reader: whole}
	v := view.Over(nil, counted, nil)
	names, err := functionsOf(&v, 0x1000, len(b))
	if err != nil || len(names) != 1 || counted.N < 3 {
		t.Fatalf("%d names by %d reads, %v", len(names), counted.N, err)
	}
	for at := range counted.N {
		v := view.Over(nil, &memory.Failing{Reader: whole, At: 1 + at}, nil)
		if got, err := functionsOf(&v, 0x1000, len(b)); err == nil && !maps.Equal(got, names) {
			t.Errorf("read %d of %d fails: %d names of %d, and no error", 1+at, counted.N, len(got), len(names))
		}
	}
}

// TestBoundsOfNames: of a long name the beginning is known; that there are more sections than are read is an error.
func TestBoundsOfNames(t *testing.T) {
	long := append([]byte("\x01\x07\x88\x27"), bytes.Repeat([]byte("x"), 5000)...)
	if names, err := nameMap(long); err != nil || names[7] != strings.Repeat("x", maxName-len(cut))+cut {
		t.Errorf("a name of %d bytes of 5000, %v", len(names[7]), err)
	}
	many := append([]byte("\x00asm\x01\x00\x00\x00"), bytes.Repeat([]byte("\x00\x02\x01a"), maxSections+1)...)
	if names, err := functionsOf(binaryAt(many), 0x1000, len(many)); err == nil {
		t.Errorf("%d names of %d sections, and no error", len(names), maxSections+1)
	}
}

func TestNameMap(t *testing.T) {
	for _, tc := range []struct {
		name, bytes string
		want        int
		bad         bool
	}{
		{"two", "\x02\x00\x01a\x05\x02bc", 2, false},
		{"none", "\x00", 0, false},
		{"count of more than there are", "\x7f\x00\x01a", 0, true},
		{"a name that is longer than the section", "\x01\x00\x09a", 0, true},
		{"the second is cut", "\x02\x00\x01a\x05", 1, true},
		{"an index of no function", "\x01\xff\xff\xff\xff\x0f\x01a", 0, true},
		{"a number without an end", "\xff\xff\xff", 0, true},
	} {
		names, err := nameMap([]byte(tc.bytes))
		if len(names) != tc.want || (err != nil) != tc.bad {
			t.Errorf("%s: %d names, %v", tc.name, len(names), err)
		}
	}
}

// FuzzWasmNames reads names out of hostile modules.
func FuzzWasmNames(f *testing.F) {
	b, err := os.ReadFile("../../../testdata/wasm/module.wasm")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x00\x0a\x04name\x01\x04\x01\x00\x01a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		names, _ := functionsOf(binaryAt(b), 0x1000, len(b))
		for i, name := range names {
			if i >= maxFunctions || len(name) > maxName {
				t.Fatalf("function %d has a name of %d bytes", i, len(name))
			}
		}
	})
}

// TestWasmCodes: what was met last at an address is remembered there.
func TestWasmCodes(t *testing.T) {
	var w Codes
	for i, at := range []mem.Addr{0x300, 0x100, 0x200} {
		w.keep(&Code{start: at, size: 0x80, index: int32(i)})
	}
	w.keep(&Code{start: 0x240, size: 0x100, index: 7}) // over the ends of two
	for pc, want := range map[mem.Addr]int32{0x100: 1, 0x17f: 1, 0x180: -1, 0x210: -1, 0x240: 7, 0x33f: 7, 0x340: -1} {
		got := int32(-1)
		if c := w.At(pc); c != nil {
			got = c.index
		}
		if got != want {
			t.Errorf("at %#x: function %d, want %d", uint64(pc), got, want)
		}
	}
}

// TestModuleIsProven: what lies beside freed memory may refer to the binary of a module, and to something that refers
// back; the module of an instance is the one that has code at the PC.
func TestModuleIsProven(t *testing.T) {
	const base, pc = 0x100000, 0x700010
	m := memory.NewImage(base, 8, order)
	tagged := func(label string) uint64 { return uint64(m.Addr(label)) | 1 }
	// Each Managed refers by its second word to what releases the module, and this by its fourth to a shared pointer.
	for _, name := range []string{"freed", "real"} {
		m.Label(name + " managed").Word(0).Ref(name + " destructor").Skip(20)
		m.Label(name + " destructor").Word(0).Word(0).Word(0).Ref(name + " shared")
		m.Label(name + " shared").Ref(name)
		m.Label(name).Ref(name + " wire").Ref(name + " code").Skip(200)
		m.Label(name + " wire").Ref("binary").Word(16)
	}
	m.Label("freed code").Ref("freed").Word(0x42b2daf0).Skip(8)
	m.Label("real code").Ref("real").Word(0x700000).Word(0).Word(0).Word(0x40).Word(0).Word(3).Word(0)
	m.Label("binary").Bytes([]byte("\x00asm\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")...)
	m.Label("instance").Word(0).Word(tagged("freed managed")).Word(tagged("real managed")).Skip(1000)
	v := view.Copied(nil, m.Range())
	n := native{heap.Heap{Layout: &heap.Layout{Version: heap.Version{Major: 10, Minor: 2}}, View: &v}}
	found, code := n.moduleOf(heap.Tagged(tagged("instance")), pc)
	if found == nil || found.addr != m.Addr("real") || code == nil || code.index != 3 {
		t.Errorf("found %+v with code %+v, want the module at %#x", found, code, uint64(m.Addr("real")))
	}
	if found, _ := n.moduleOf(heap.Tagged(tagged("instance")), pc+0x100); found != nil {
		t.Errorf("a module at %#x has code where nobody has", uint64(found.addr))
	}
}

// TestIsNative: objects of C++ are anywhere where arm64 has the memory of processes.
func TestIsNative(t *testing.T) {
	for w, want := range map[uint64]bool{0x5555d0001800: true, 0xaaaad0001800: true, 0xffffa4800000: true, 0: false,
		0xaaaad0001804: false, 1<<48 + 0x1000: false} {
		if got := isNative(w); got != want {
			t.Errorf("%#x: got %t", w, got)
		}
	}
}
