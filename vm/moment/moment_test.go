package moment_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/moment"
	"github.com/fpstack/fpstack/work"
)

// changing is memory of two pages at 4096, and what it becomes when it is read for the nth time.
type changing struct {
	data  []byte
	reads int
	at    int // read from which on it is changed
	to    func([]byte)
}

func (c *changing) ReadMem(b []byte, a mem.Addr) (int, error) {
	if c.reads++; c.to != nil && c.reads == c.at {
		c.to(c.data)
	}
	if a < 4096 || int(a)-4096+len(b) > len(c.data) {
		return 0, &mem.FaultError{Addr: a, Len: len(b), Err: mem.ErrUnmapped}
	}
	return copy(b, c.data[a-4096:]), nil
}

// TestSettle: what was the same is known, what was not is not, part by part; bytes that nobody used do not matter.
func TestSettle(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func([]byte)
		want   [3]bool
	}{
		{"nothing changes", func([]byte) {}, [3]bool{true, true, true}},
		{"the first", func(b []byte) { b[8] = 9 }, [3]bool{false, true, true}},
		{"beside it", func(b []byte) { b[16] = 9 }, [3]bool{true, true, true}},
		{"over two pages", func(b []byte) { b[4097] = 9 }, [3]bool{true, false, true}},
	} {
		live := &changing{data: make([]byte, 8192), at: 3, to: tc.change}
		m := moment.New(live, nil, nil)
		for _, r := range []struct {
			at mem.Addr
			n  int
		}{{4096 + 8, 8}, {8192 - 8, 16}, {8192 + 64, 40}} {
			if b, ok := m.Bytes(r.at, r.n); !ok || len(b) != r.n {
				t.Fatalf("%d bytes at %#x: %d, %t", r.n, uint64(r.at), len(b), ok)
			}
			m.Part()
		}
		same := m.Settle()
		for i, want := range tc.want {
			if same[i] != want {
				t.Errorf("%s: part %d is the same: %t, want %t", tc.name, i, same[i], want)
			}
		}
		kept := m.Kept(func(p moment.Part) bool { return same[p] })
		n := 0
		for _, s := range same {
			if s {
				n++
			}
		}
		if len(kept) != n {
			t.Errorf("%s: %d ranges are kept, want %d", tc.name, len(kept), n)
		}
		m.Close()
	}
}

// TestPieces: of a recording that has parts of pages those are read, and what it has not is a fault.
func TestPieces(t *testing.T) {
	live := mem.NewOverlay(nil, mem.Range{Start: 0x5010, Data: bytes.Repeat([]byte{7}, 32)})
	m := moment.New(live, nil, nil)
	if b, ok := m.Bytes(0x5010, 32); !ok || b[31] != 7 {
		t.Errorf("%v, %t", b, ok)
	}
	if _, ok := m.Peek(0x5008); ok || m.Faults() > 0 {
		t.Errorf("a word that it has not: %t, %d faults", ok, m.Faults())
	}
	if _, ok := m.Bytes(0x5028, 16); ok || m.Faults() != 1 {
		t.Errorf("half of it: %t, %d faults", ok, m.Faults())
	}
	m.Part()
	if same := m.Settle(); !same[0] {
		t.Error("it has changed")
	}
	for _, n := range []int{0, -1, 1 << 20} {
		if _, ok := m.Bytes(0x5010, n); ok {
			t.Errorf("%d bytes", n)
		}
	}
}

// TestBounded: what is held is within the budget, and given back.
func TestBounded(t *testing.T) {
	b := work.New(1<<30, 2*4096)
	m := moment.New(&changing{data: make([]byte, 16<<12)}, nil, b)
	for i := range mem.Addr(16) {
		m.Bytes(4096+i<<12, 8)
	}
	if !errors.Is(m.Err(), work.ErrMemory) {
		t.Errorf("%v, want %v", m.Err(), work.ErrMemory)
	}
	m.Close()
	if _, left := b.Left(); left != 2*4096 {
		t.Errorf("%d bytes are left, want %d", left, 2*4096)
	}
}

// TestFaults: a read that fails is counted where the process should have the memory, however many others have failed
// before; a budget that ends is an error.
func TestFaults(t *testing.T) {
	b := work.New(1<<20, 1<<30)
	m := moment.New(&changing{data: make([]byte, 4096)}, func(a mem.Addr) bool { return a >= 1<<30 }, b)
	for i := range mem.Addr(500) {
		m.Bytes(1<<20+i<<12, 8)
	}
	if m.Faults() != 0 || m.Err() != nil {
		t.Errorf("%d faults, %v, where nothing is", m.Faults(), m.Err())
	}
	if m.Bytes(1<<30, 8); m.Faults() != 1 {
		t.Errorf("%d faults, want 1", m.Faults())
	}
	for range 1 << 20 {
		m.Bytes(4096, 8)
	}
	if !errors.Is(m.Err(), work.ErrSpent) {
		t.Errorf("%v, want %v", m.Err(), work.ErrSpent)
	}
}

// TestSettleAgain: what is read behind Settle is of that moment, also of memory that could not be read before, and what
// has changed once is the same from then on.
func TestSettleAgain(t *testing.T) {
	live := &changing{data: make([]byte, 4096), at: 3, to: func(b []byte) { b[8] = 9 }}
	m := moment.New(live, nil, nil)
	first := func(a mem.Addr) int {
		b, ok := m.Bytes(a, 8)
		if !ok {
			return -1
		}
		return int(b[0])
	}
	if got, behind := first(4096+8), first(8192); got != 0 || behind != -1 {
		t.Fatalf("%d, %d behind the end", got, behind)
	}
	m.Part()
	if same := m.Settle(); same[0] {
		t.Error("what has changed is the same")
	}
	live.data = append(live.data, 7)
	live.data = append(live.data, make([]byte, 4095)...)
	if got, behind := first(4096+8), first(8192); got != 9 || behind != 7 {
		t.Errorf("%d, and %d of a page that is there now, want 9 and 7", got, behind)
	}
	m.Part()
	if same := m.Settle(); !same[0] || !same[1] {
		t.Errorf("%v: nothing has changed since", same)
	}
}
