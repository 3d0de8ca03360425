package wasmtime

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
)

// TestFunctions: names as a person reads them, and the exact bounds of functions.
func TestFunctions(t *testing.T) {
	r, present, err := scan(t, plain.draw(), 0x1000)
	if !present || err != nil {
		t.Fatalf("present %v, %v", present, err)
	}
	var got []string
	if err := r.Functions(func(start, end mem.Addr, name string) bool {
		got = append(got, fmt.Sprintf("%#x+%d %s", uint64(start-textAt), end-start, name))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	want := "0x0+40 alpha|0x30+20 wasm-function[3]|0x50+64 demo::step|0x90+32 array_to_wasm_trampoline[3]|" +
		"0xb0+32 signatures[0]::wasm_to_array_trampoline"
	if strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if g, ok := r.Region(textAt + 0x100); !ok || g.Start != textAt || g.End != textAt+0x1000 {
		t.Errorf("region %+v, %v", g, ok)
	}
	for _, a := range []mem.Addr{textAt - 1, textAt + 0x1000, 0} {
		if _, ok := r.Region(a); ok {
			t.Errorf("%#x is said to be its code", uint64(a))
		}
	}
}

// TestNotAnImage: what looks like an image and is none, or contradicts itself.
func TestNotAnImage(t *testing.T) {
	b := plain.draw()
	le := binary.LittleEndian
	table := int(le.Uint64(b[40:]))
	half := func(v uint16) []byte { return le.AppendUint16(nil, v) }
	word := func(v uint64) []byte { return le.AppendUint64(nil, v) }
	symtab := table + 2*sectionSize
	symbols := int(le.Uint64(b[symtab+24:]))
	for _, tc := range []struct {
		name  string
		bytes []byte
		err   string // "": it is none, without an error
	}{
		{"no magic number", with(b, 0, 0), ""},
		{"another ABI", with(b, 7, 0), ""},
		{"a program", with(b, 16, 2), ""},
		{"program headers", with(b, 56, 1), ""},
		{"an interpreter's code", with(b, 48, 4), ""},
		{"another machine", with(b, 18, 21), ""},
		{"code that begins elsewhere", with(b, table+sectionSize+24, word(0x2000)...), ""},
		{"section headers of another size", with(b, 58, half(40)...), "contradicts"},
		{"no sections", with(b, 60, half(0)...), "contradicts"},
		{"too many sections", with(b, 60, half(65)...), "65 sections"},
		{"a section table that is not mapped", with(b, 40, word(maxImage)...), "not mapped"},
		{"a section table far away", with(b, 40, word(1<<63)...), "contradicts"},
		{"names of sections in no section", with(b, 62, half(60)...), "contradicts"},
		{"symbols behind the end", with(b, symtab+24, word(1<<40)...), "outside"},
		{"symbols around the end of memory", with(b, symtab+24, word(^uint64(0)-8)...), "outside"},
		{"more symbols than memory", with(b, symtab+32, word(maxSection+1)...), "larger"},
		{"a function behind the code", with(b, symbols+symbolSize+8, word(0x1000)...), ".symtab"},
		{"a function around the end of memory", with(b, symbols+symbolSize+16, word(^uint64(0))...), ".symtab"},
		{"functions that overlap", with(b, symbols+symbolSize+16, word(0x40)...), ".symtab"},
		{"a name behind the strings", with(b, symbols+symbolSize, 0xff, 0xff, 0xff, 0xff), ".symtab"},
	} {
		_, present, err := scan(t, tc.bytes, 0x1000)
		if present || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: present %v, %v; want an error with %q", tc.name, present, err, tc.err)
		}
	}
}

// of is the name of the function with that index, "" for none.
func (n *fullNames) of(index int) string {
	if i := n.place(index); i >= 0 {
		return string(n.text(i))
	}
	return ""
}

// TestExports reads the beginnings of .wasmtime.info of four versions, and of none that contradicts the image.
func TestExports(t *testing.T) {
	const imports = "\x02\x00\x04host\x04wait\x00\x00\x00\x04host\x05enter\x00\x01"
	const exports = "\x04\x03mem\x02\x00\x04work\x00\x05\x05again\x00\x05\x04wait\x00\x00"
	const pooled = "\x06\x04host\x04wait\x05enter\x03mem\x04work\x05again\x00" +
		"\x02\x00\x01\x02\x00\x00\x00\x01\x03\x00\x01\x04\x04\x02\x00\x05\x00\x05\x06\x00\x05\x02\x00\x00"
	const rest = "\x00\x00\x00\x01\x01\x00"
	for _, tc := range []struct {
		name, info string
		entered    int
		want       string // of function 5
	}{
		{"v22", "\x00" + imports + exports + rest, 5, "work"},
		{"with a name", "\x01\x02it" + imports + exports + rest, 5, "work"},
		{"v40", "\x00\x00" + imports + exports + rest, 5, "work"},
		{"v44", "\x00" + pooled + rest, 5, "work"},
		{"no imports", "\x00\x00\x00\x01\x03run\x00\x05" + rest, 5, "run"},
		{"the host cannot enter it", "\x00" + imports + exports + rest, 6, ""},
		{"imports out of order", "\x00\x01\x00\x04host\x04wait\x00\x01" + exports + rest, 5, ""},
		{"a name that is no text", "\x00" + imports + "\x01\x03\xff\xfe\xfd\x00\x05" + rest, 5, ""},
		{"a kind that there is not", "\x00" + imports + "\x01\x03run\x05\x05" + rest, 5, ""},
		{"a text that is not in the pool", "\x00\x01\x03run\x00\x00\x01\x02\x00\x05" + rest, 5, ""},
	} {
		entered := func(index int) bool { return index == tc.entered }
		if got := newExports(0, []byte(tc.info), entered).of(5); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
		for n := range len(tc.info) - len(rest) {
			if got := newExports(0, []byte(tc.info[:n]), entered); got != nil {
				t.Errorf("%s, %d bytes of it: got %q", tc.name, n, got.of(5))
			}
		}
	}
}

// TestFullNames finds the table of names in both encodings, behind bytes that are none.
func TestFullNames(t *testing.T) {
	names := []string{"na\u00efve name<with, spaces>", "beta"}
	all := []byte(strings.Join(names, ""))
	le := binary.LittleEndian
	fixed := le.AppendUint64([]byte{7, 7, 7}, 2)
	varint := []byte{7, 7, 7, 2}
	at := 0
	for i, n := range names {
		for _, v := range []int{2 * i, at, len(n)} {
			fixed, varint = le.AppendUint32(fixed, uint32(v)), binary.AppendUvarint(varint, uint64(v))
		}
		at += len(n)
	}
	for way, info := range map[string][]byte{"fixed": append(fixed, 9, 9), "varint": append(varint, 9, 9)} {
		n := newFullNames(0, all, info)
		if n.of(0) != names[0] || n.of(2) != names[1] || n.of(1) != "" || n.of(3) != "" || n.of(-1) != "" {
			t.Errorf("%s: got %q, %q, %q", way, n.of(0), n.of(1), n.of(2))
		}
		info[len(info)-3]++ // the last length
		if n := newFullNames(0, all, info); n != nil {
			t.Errorf("%s: a table that does not fit is taken: %+v", way, n)
		}
	}
}

// TestMadeOf: a symbol that was not made of a name does not get it.
func TestMadeOf(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, tc := range []struct {
		symbol, full string
		want         bool
	}{
		{"alpha", "alpha", true}, {"alpha", "omega", false},
		{"na?ve?name<with,?spaces>", "na\u00efve name<with, spaces>", true},
		{"a?b", "a\x00\x01\u00e9b", true}, {"a?b", "a?\x01b", true}, {"a??b", "a?\x01b", true}, {long[:96], long, true},
		{long[:90], long, false}, {"", "alpha", false},
	} {
		if got := madeOf(tc.symbol, tc.full); got != tc.want {
			t.Errorf("%q of %q: got %v", tc.symbol, tc.full, got)
		}
	}
}

// TestPositions looks offsets up.
func TestPositions(t *testing.T) {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 3)
	for _, v := range []uint32{4, 10, 20, 0x55, noPosition, 0x66} {
		b = le.AppendUint32(b, v)
	}
	p := newPositions(b)
	for code, want := range map[uint32]uint32{3: 0, 4: 0x55, 9: 0x55, 10: 0, 19: 0, 20: 0x66, 1000: 0x66} {
		if got, ok := p.at(code); got != want || ok != (want != 0) {
			t.Errorf("at %d: %#x, %v; want %#x", code, got, ok, want)
		}
	}
	le.PutUint32(b, 4)
	if p := newPositions(b); p.code != nil {
		t.Error("a table with a count that is too large is taken")
	}
}

// FuzzImage reads any image, asks for all that a walk asks, and must neither panic nor take long.
func FuzzImage(f *testing.F) {
	b := plain.draw()
	f.Add(b)
	f.Add(with(b, int(binary.LittleEndian.Uint64(b[40:]))+sectionSize+24, 0xff))
	info := drawn{functions: plain.functions, sections: map[string][]byte{".name.wasm": []byte("ab"),
		".wasmtime.info": {2, 0, 0, 1, 1, 1, 1}, ".wasmtime.addrmap": {1, 0, 0, 0, 4, 0, 0, 0, 7, 0, 0, 0},
		".eh_frame": make([]byte, 40), ".debug_info": make([]byte, 40), ".rela.debug_info": make([]byte, 48)}}
	f.Add(info.draw())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, present, _ := scan(t, b, 0x1000)
		if !present {
			return
		}
		for pc := mem.Addr(textAt); pc < textAt+0x200; pc += 7 {
			g, ok := r.Region(pc)
			if !ok {
				continue
			}
			for _, interrupted := range []bool{false, true} {
				row, ok, err := r.Row(g, pc, interrupted)
				if ok && (row == nil || err != nil) {
					t.Errorf("row %v with %v", row, err)
				}
			}
			identifyAt(r, pc)
		}
		r.Functions(func(start, end mem.Addr, _ string) bool {
			if start >= end || start < textAt {
				t.Errorf("function %#x-%#x", uint64(start), uint64(end))
			}
			return true
		})
	})
}
