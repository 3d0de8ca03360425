//go:build linux

package tracer

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// follow is a Wanter that follows pointers from at.
type follow struct {
	at    mem.Addr
	seen  []uint64
	calls int
}

func (f *follow) Want(s *snapshot.Snapshot, round int) []Range {
	f.calls++
	if round == 0 {
		return []Range{{f.at, wordSize}}
	}
	v, err := mem.Uint(s.Reader(nil, nil), f.at, wordSize, binary.LittleEndian)
	if err != nil {
		return nil
	}
	f.seen, f.at = append(f.seen, v), mem.Addr(v)
	return []Range{{f.at, wordSize}, {f.at, 4}, {0x10, 8}} // an overlap, and one that is not mapped
}

func TestWanterFollowsPointers(t *testing.T) {
	c := start(t, "target", "chain")
	var first uint64
	if _, err := fmt.Fscanf(c.out, "0x%x\n", &first); err != nil {
		t.Fatal(err)
	}
	f := &follow{at: mem.Addr(first)}
	s := look(t, openTarget(t, c.pid()), StopOptions{Wanters: []Wanter{f}})
	if f.calls != MaxRounds || len(s.Memory) != 3 {
		t.Fatalf("%d rounds, %d ranges, %v", f.calls, len(s.Memory), s.Problems)
	}
	v, err := mem.Uint(s.Reader(nil, nil), f.at, wordSize, binary.LittleEndian)
	if err != nil || v<<32 != 0x55667788<<32 {
		t.Errorf("end of the chain: %#x, %v", v, err)
	}
}

type wantFunc func(s *snapshot.Snapshot, round int) []Range

func (f wantFunc) Want(s *snapshot.Snapshot, round int) []Range { return f(s, round) }

func TestWanterThatMisbehaves(t *testing.T) {
	c := start(t, "threads", 3, 1)
	p := openTarget(t, c.pid())
	hold := make(chan bool)
	defer close(hold)
	for name, f := range map[string]wantFunc{
		"panics":       func(*snapshot.Snapshot, int) []Range { panic("of the test") },
		"never ends":   func(*snapshot.Snapshot, int) []Range { <-hold; return nil },
		"wants it all": func(*snapshot.Snapshot, int) []Range { return []Range{{0, 1 << 30}} },
		"wants a lot":  func(*snapshot.Snapshot, int) []Range { return make([]Range, 1<<20) },
	} {
		s := look(t, p, StopOptions{Wanters: []Wanter{f}})
		if len(s.Problems) == 0 || len(s.Memory) != 0 || s.Stopped > 10*time.Second {
			t.Errorf("%s: problems %q, %d ranges, stopped %v", name, s.Problems, len(s.Memory), s.Stopped)
		}
		// Where other programs have the CPUs the limit may come before the panic: then it is tried again.
		for try := 0; name == "panics" && try < 50 && strings.Contains(strings.Join(s.Problems, ""), "not copied within"); try++ {
			s = look(t, p, StopOptions{Wanters: []Wanter{f}})
		}
		if name == "panics" && !strings.Contains(strings.Join(s.Problems, ""), "of the test") {
			t.Errorf("problems %q do not tell the cause", s.Problems)
		}
	}
}

func TestDivide(t *testing.T) {
	have := []mem.Range{{Start: 0x2000, Data: make([]byte, 0x100)}}
	for _, row := range []struct {
		name string
		in   []Range
		want []Range
		cut  bool
	}{
		{"nothing", nil, nil, false},
		{"joined and sorted", []Range{{0x1010, 16}, {0x1000, 16}, {0x1008, 4}}, []Range{{0x1000, 32}}, false},
		{"empty, negative and around the end", []Range{{1, 0}, {2, -1}, {^mem.Addr(0), 8}}, nil, false},
		{"copied already", []Range{{0x2010, 16}}, nil, false},
		{"partly copied", []Range{{0x1ff0, 0x200}}, []Range{{0x1ff0, 0x10}, {0x2100, 0xf0}}, false},
		{"too many bytes", []Range{{0x1000, 16}, {0x3000, 4096}}, []Range{{0x1000, 16}, {0x3000, 1008}}, true},
		{"too many ranges", []Range{{0x100, 1}, {0x200, 1}, {0x300, 1}, {0x400, 1}}, []Range{{0x100, 1}, {0x200, 1}, {0x300, 1}}, true},
		{"lengths whose sum overflows", []Range{{0, math.MaxInt}, {math.MaxInt, math.MaxInt}}, []Range{{0, 1024}}, true},
		{"the whole address space", []Range{{0x1000, math.MaxInt}, {0x1001, math.MaxInt}, {1 << 63, math.MaxInt}}, []Range{{0x1000, 1024}}, true},
		{"more than is copied, around it", []Range{{0x1f00, 900}}, []Range{{0x1f00, 0x100}, {0x2100, 388}}, false},
	} {
		got, cut := divide([][]Range{row.in}, have, 3, 1024)
		if !slices.Equal(got, row.want) || cut != row.cut {
			t.Errorf("%s: got %#x cut %v, want %#x %v", row.name, got, cut, row.want, row.cut)
		}
	}
}

// TestNobodyStarves: who asks for little gets it whatever others ask for, in whatever order they are asked.
func TestNobodyStarves(t *testing.T) {
	const little, much = mem.Addr(0x10000), mem.Addr(0x900000)
	few, bytes, ranges := []Range{{little, 64}, {little + 0x100, 8}}, []Range{{much, math.MaxInt}}, make([]Range, MaxRanges+1)
	for i := range ranges {
		ranges[i] = Range{0x40000000 + mem.Addr(i)*16, 8}
	}
	for _, wants := range [][][]Range{{few, bytes, ranges}, {ranges, bytes, few}, {bytes, few, ranges}} {
		got, cut := divide(wants, nil, MaxRanges, MaxWanted)
		if !cut || len(got) > MaxRanges || total(got) > MaxWanted {
			t.Errorf("cut %v, %d ranges, %d bytes", cut, len(got), total(got))
		}
		of := map[bool]int{}
		for _, r := range got {
			of[r.Addr < much] += r.Len
		}
		if of[true] != 72 || of[false] < MaxWanted/2 {
			t.Errorf("who asked for 72 bytes got %d, the others %d", of[true], of[false])
		}
	}
}

func TestShare(t *testing.T) {
	batch := func() []piece {
		return []piece{{data: make([]byte, 8)}, {data: make([]byte, 8)}, {data: make([]byte, 8)}}
	}
	for _, row := range []struct {
		name    string
		n, done int
		got     [3]int
	}{
		{"all", 24, 3, [3]int{8, 8, 8}},
		{"hole at the first", 0, 1, [3]int{0, 0, 0}},
		{"hole in the second", 11, 2, [3]int{8, 3, 0}},
		{"hole at the third", 16, 3, [3]int{8, 8, 0}},
	} {
		b := batch()
		done := share(b, row.n)
		if got := [3]int{b[0].got, b[1].got, b[2].got}; got != row.got || done != row.done {
			t.Errorf("%s: got %v done %d, want %v %d", row.name, got, done, row.got, row.done)
		}
	}
}
