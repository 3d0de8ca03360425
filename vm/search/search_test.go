package search_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/search"
)

const writable = maps.Read | maps.Write

var table = maps.NewTable([]maps.Mapping{
	{Start: 0x1000, End: 0x2000, Perm: writable},
	{Start: 0x3000, End: 0x4000, Perm: writable, Path: "/lib/libc.so.6", Inode: 7},
	{Start: 0x5000, End: 0x6000, Perm: maps.Read},
	{Start: 0x7000, End: 0x9000, Perm: writable, Path: "[heap]"},
})

// bytesOf gives a mapping in pieces of which each word is its address.
func bytesOf(m *maps.Mapping, yield func(at mem.Addr, b []byte) bool) error {
	for at := m.Start; at < m.End; at += 0x800 {
		b := make([]byte, 0x800)
		for i := 0; i < len(b); i += 8 {
			binary.LittleEndian.PutUint64(b[i:], uint64(at)+uint64(i))
		}
		if !yield(at, b) {
			return nil
		}
	}
	return nil
}

// TestWords: words are found where they are, in memory that has no file and can be written; not in what is dead.
func TestWords(t *testing.T) {
	words := search.NewWords()
	for i, w := range []uint64{0x1008, 0x1ff8, 0x3010, 0x5010, 0x7ff8, 0x8000, 0x8ff0, 0x9999} {
		words.Add(w, i)
	}
	words.Add(0x1008, 77) // it has a number
	m := search.Memory{Search: bytesOf, Table: table, Most: 1 << 20, Dead: maps.Spans{{Start: 0x7000, End: 0x8000},
		{Start: 0x8ff8, End: 0x9000}}}
	var got []string
	e := m.Each(func(at mem.Addr, b []byte) bool {
		return words.In(b, func(i, number int) bool {
			got = append(got, fmt.Sprintf("%#x %d", uint64(at)+uint64(i), number))
			return true
		})
	})
	want := "[0x1008 0 0x1ff8 1 0x8000 5 0x8ff0 6]"
	if fmt.Sprint(got) != want || !e.Whole() || e.Bytes != 0x3000 {
		t.Errorf("%v, %d bytes, %v; want %s", got, e.Bytes, e.Cut, want)
	}
	if n, ok := words.Number(0x8ff0); n != 6 || !ok || words.Len() != 8 {
		t.Errorf("number %d, %t; %d words", n, ok, words.Len())
	}
}

// TestCut: what was not looked at is said.
func TestCut(t *testing.T) {
	swapped := func(m *maps.Mapping, yield func(at mem.Addr, b []byte) bool) error {
		_ = bytesOf(m, yield)
		return module.ErrSwapped
	}
	for _, tc := range []struct {
		name string
		m    search.Memory
		want error
	}{
		{"no memory", search.Memory{Table: table, Most: 1 << 20}, module.ErrNoSearch},
		{"swapped out", search.Memory{Search: swapped, Table: table, Most: 1 << 20}, module.ErrSwapped},
		{"too much", search.Memory{Search: bytesOf, Table: table, Most: 0x1800}, nil},
	} {
		pieces := 0
		e := tc.m.Each(func(mem.Addr, []byte) bool { pieces++; return true })
		if e.Whole() || tc.want != nil && !errors.Is(e.Cut, tc.want) || e.Bytes > tc.m.Most {
			t.Errorf("%s: %d bytes in %d pieces, %v", tc.name, e.Bytes, pieces, e.Cut)
		}
	}
}

// TestBlock: where a runtime has its heap in blocks at multiples of their length, what cannot be in one is not looked
// at: memory in front of the first, what brk gave, and the stack of the first thread.
func TestBlock(t *testing.T) {
	table := maps.NewTable([]maps.Mapping{
		{Start: 0x1800, End: 0x4000, Perm: writable},
		{Start: 0x4800, End: 0x5000, Perm: writable},
		{Start: 0x6000, End: 0x8000, Perm: writable, Path: "[heap]"},
		{Start: 0x9000, End: 0xa000, Perm: writable, Path: "[anon:v8]"},
		{Start: 0xb000, End: 0xc000, Perm: writable, Path: "[stack]"},
		{Start: ^mem.Addr(0x7ff), End: ^mem.Addr(0), Perm: writable}, // no multiple of it comes behind
	})
	m := search.Memory{Search: bytesOf, Table: table, Most: 1 << 20, Block: 0x1000}
	var got []string
	e := m.Each(func(at mem.Addr, b []byte) bool {
		got = append(got, fmt.Sprintf("%#x", uint64(at)))
		return true
	})
	if want := "[0x2000 0x2800 0x3000 0x3800 0x9000 0x9800]"; fmt.Sprint(got) != want || !e.Whole() {
		t.Errorf("%v, %v; want %s", got, e.Cut, want)
	}
}
