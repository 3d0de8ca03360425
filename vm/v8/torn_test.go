package v8

import (
	"encoding/binary"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/search"
	"github.com/fpstack/fpstack/vm/suspended"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/work"
)

// TestTorn: links that lead nowhere are counted, each once, and those of a heap that stood still are none.
func TestTorn(t *testing.T) {
	const child, parent, promise, result, elsewhere = 0x1000, 0x1100, 0x1200, 0x1300, 0x9000
	whole := func() *scan {
		var in suspended.Memory
		table := maps.NewTable([]maps.Mapping{{Start: 0x1000, End: 0x2000, Perm: maps.Read | maps.Write}})
		return &scan{Scan: in.Scan(search.Memory{Table: table, Budget: work.New(work.Steps, work.Memory)}),
			frames: []heap.Frame{{Addr: child, Kind: heap.AsyncFunction, Promise: result},
				{Addr: parent, Kind: heap.AsyncFunction}},
			waiters: map[mem.Addr][]heap.Waiter{promise: {{Frame: child}}, result: {{Frame: parent}}}}
	}
	for _, tt := range []struct {
		name string
		tear func(c *scan)
		want int
	}{
		{"nothing moved", func(*scan) {}, 0},
		{"what one waits for was not found", func(c *scan) { delete(c.waiters, promise) }, 1},
		{"who waits was not found", func(c *scan) { c.frames = c.frames[:1] }, 1},
		{"one waits for two", func(c *scan) { c.waiters[0x1400] = []heap.Waiter{{Frame: child}} }, 1},
		{"a promise lies outside", func(c *scan) { c.frames[1].Promise = elsewhere }, 1},
		{"variables lie outside", func(c *scan) { c.frames[0].Registers = heap.TagOf(elsewhere) }, 1},
		{"a generator waits for nobody", func(c *scan) {
			c.frames = append(c.frames, heap.Frame{Addr: 0x1500, Kind: heap.AsyncGenerator})
		}, 0},
	} {
		c := whole()
		tt.tear(c)
		c.torn()
		if c.Moved() != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, c.Moved(), tt.want)
		}
		c.Close()
	}
}

// TestForwarded: an object that a collector moves has where it goes in front.
func TestForwarded(t *testing.T) {
	words := []uint64{0x1101, 0x1100, 0, 0x9000, 5 << 32} // a Map; there; nothing; nowhere; a small integer
	data := make([]byte, 8*len(words))
	for i, w := range words {
		binary.LittleEndian.PutUint64(data[8*i:], w)
	}
	in := suspended.Of(module.Image{Memory: mem.NewOverlay(nil, mem.Range{Start: 0x1000, Data: data})})
	table := maps.NewTable([]maps.Mapping{{Start: 0x1000, End: 0x2000, Perm: maps.Read | maps.Write}})
	c := &scan{Scan: in.Scan(search.Memory{Table: table, Budget: work.New(work.Steps, work.Memory)})}
	defer c.Close()
	for i := range words {
		if got := c.isForwarded(0x1000 + mem.Addr(8*i)); got != (i == 1) {
			t.Errorf("%#x: %v", words[i], got)
		}
	}
	if c.isForwarded(0) || c.isForwarded(0x5000) {
		t.Error("what is not there is moved")
	}
}

// TestManyLinks: each of many functions waits for a promise that each of many settles. What is linked is bounded, and
// that it is less is said.
func TestManyLinks(t *testing.T) {
	for _, many := range []int{100, 1100} {
		c := &scan{waiters: map[mem.Addr][]heap.Waiter{}}
		const all, first = 0x10, 0x1000
		for i := range mem.Addr(many) {
			child, parent, settles := first+i<<8, first+i<<8+0x10, first+i<<8+0x20
			c.frames = append(c.frames, heap.Frame{Addr: child, Kind: heap.AsyncFunction, Promise: settles},
				heap.Frame{Addr: parent, Kind: heap.AsyncFunction})
			c.waiters[settles] = []heap.Waiter{{Promise: all}}
			c.waiters[all] = append(c.waiters[all], heap.Waiter{Frame: parent})
		}
		l, links := c.link(), 0
		for _, by := range l.awaiting {
			links += len(by)
		}
		if whole := many*many <= maxLinks; c.Full == whole || whole && links != many*many || links > maxLinks {
			t.Errorf("of %d × %d there are %d links, cut %v", many, many, links, c.Full)
		}
	}
}
