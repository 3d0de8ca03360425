package snapshot

import (
	"testing"

	"github.com/fpstack/fpstack/mem"
)

func TestReader(t *testing.T) {
	stack := mem.Range{Start: 0x2000, Data: []byte("SSSS")}
	at := func(start mem.Addr, s string) mem.Range { return mem.Range{Start: start, Data: []byte(s)} }
	for _, row := range []struct {
		name   string
		thread *Thread
		memory []mem.Range
		want   string // the bytes at [0x1ffe, 0x2006), "." is unknown
	}{
		{"stack alone", &Thread{Stack: stack}, nil, "..SSSS.."},
		{"ranges on both sides", &Thread{Stack: stack}, []mem.Range{at(0x1ffe, "ab"), at(0x2004, "cd")}, "abSSSScd"},
		{"range reaches into the stack from below", &Thread{Stack: stack}, []mem.Range{at(0x1ffe, "abcd")}, "abSSSS.."},
		{"range reaches out above", &Thread{Stack: stack}, []mem.Range{at(0x2003, "abc")}, "..SSSSbc"},
		{"range spans the stack", &Thread{Stack: stack}, []mem.Range{at(0x1ffe, "abcdefgh")}, "abSSSSgh"},
		{"range inside the stack", &Thread{Stack: stack}, []mem.Range{at(0x2001, "ab")}, "..SSSS.."},
		{"range is the stack", &Thread{Stack: stack}, []mem.Range{at(0x2000, "abcd")}, "..SSSS.."},
		{"no stack was copied", &Thread{Stack: mem.Range{Start: 0x2000}}, []mem.Range{at(0x1ffe, "abcdefgh")},
			"abcdefgh"},
		{"no thread", nil, []mem.Range{at(0x1ffe, "abcd")}, "abcd...."},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &Snapshot{Memory: row.memory}
			r, got := s.Reader(row.thread, nil), ""
			for addr := mem.Addr(0x1ffe); addr < 0x2006; addr++ {
				if b, ok := r.Bytes(addr, 1); ok {
					got += string(b)
				} else {
					got += "."
				}
			}
			if got != row.want {
				t.Errorf("bytes at [0x1ffe, 0x2006) = %s, want %s", got, row.want)
			}
		})
	}
}

func TestReaderAtTheTop(t *testing.T) {
	thread := &Thread{Stack: mem.Range{Start: 1<<64 - 4, Data: []byte("SSSS")}}
	s := &Snapshot{Memory: []mem.Range{{Start: 1<<64 - 6, Data: []byte("abcdef")}}}
	b := make([]byte, 6)
	if _, err := s.Reader(thread, nil).ReadMem(b, 1<<64-6); err != nil || string(b) != "abSSSS" {
		t.Errorf("last bytes of the address space = %q, %v; want abSSSS", b, err)
	}
}
