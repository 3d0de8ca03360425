package hotspot

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/work"
)

// damaged is memory in which words are others than they were when they are read: in read number at, the word at off.
type damaged struct {
	mem.Reader
	words []damage
	n     int
}

type damage struct {
	at, off int
	word    uint64
}

func (d *damaged) ReadMem(b []byte, a mem.Addr) (int, error) {
	n, err := d.Reader.ReadMem(b, a)
	for _, w := range d.words {
		if w.at == d.n && n >= wordSize {
			// What is read is the recorded process, which the next try reads too.
			binary.LittleEndian.PutUint64(b[w.off%(n-wordSize+1):], w.word)
		}
	}
	d.n++
	return n, err
}

// damages are the words that data says: 2 bytes for the read, 2 for the place in it, 1 for what sort of word.
func damages(data []byte, some []mem.Addr) (out []damage) {
	for ; len(data) >= 5 && len(out) < 16; data = data[5:] {
		sort := data[4]
		words := []uint64{0, ^uint64(0), 1, 1 << 20, 1<<63 - 1, 0x7fff_ffff, 0xffff_ffff, 0x8000_0000, 0xff,
			uint64(sort) << 24}
		for _, a := range some {
			words = append(words, uint64(a), uint64(a)+1, uint64(a)-wordSize)
		}
		out = append(out, damage{at: int(binary.LittleEndian.Uint16(data)),
			off: int(binary.LittleEndian.Uint16(data[2:])), word: words[int(sort)%len(words)]})
	}
	return out
}

// addresses are places of a process to which a damaged word may lead.
func (p *process) addresses() []mem.Addr {
	var out []mem.Addr
	for i, r := range p.Running {
		if i%max(1, len(p.Running)/16) == 0 {
			out = append(out, r.Start)
		}
	}
	for _, r := range p.Threads[0].Copied[:min(8, len(p.Threads[0].Copied))] {
		out = append(out, r.Start)
	}
	return out
}

// damagedSteps is how much work a try may take: what a dump of one of the recorded processes takes is far less.
const damagedSteps, damagedBytes = 1 << 28, 64 << 20

// everything asks a JVM all that a dump asks, and fails where what it says is not bounded.
func (p *process) everything(t *testing.T, live mem.Reader, change func([]mem.Range) []mem.Range) {
	t.Helper()
	find := func(name string) (mem.Addr, bool) { a, ok := p.symbols[name]; return a, ok }
	budget := work.New(damagedSteps, damagedBytes)
	r := newRuntime(p.port(), nil, find, module.Image{Memory: live, Budget: budget})
	p.runtime.Runtime = r
	for _, s := range p.stacks(r, live, change) {
		for _, l := range s.logical {
			if len(l) > 1<<10 {
				t.Fatalf("%d frames are inlined in one", len(l))
			}
		}
	}
	r.ThreadFacts(p.Snapshot)
	p.edges(r, change)
	_ = r.Functions(func(start, end mem.Addr, name string) bool {
		if len(name) > 1<<18 {
			t.Fatalf("a name of %d bytes", len(name))
		}
		return true
	})
	_, _ = r.OpenFibers()
}

// FuzzRecorded: whatever words the tables of a JVM, its code, methods, threads, locks and objects have, and whatever
// was copied of them, a dump of it ends, within its budget.
func FuzzRecorded(f *testing.F) {
	var all []*process
	open(f, "", func(_ string, p *process) { all = append(all, p) })
	for i := range all {
		f.Add(byte(i), []byte{}, []byte{})
		f.Add(byte(i), []byte{0, 4, 8, 0, 1, 0, 8, 0, 0, 10, 0, 9, 0, 1, 17}, []byte{2, 0, 16, 0, 1, 9, 0, 0, 0, 12})
	}
	f.Fuzz(func(t *testing.T, which byte, read, copied []byte) {
		p := all[int(which)%len(all)]
		some := p.addresses()
		p.everything(t, &damaged{Reader: p.running, words: damages(read, some)}, overwritten(damages(copied, some)))
	})
}

// overwritten returns what was copied with words of it replaced.
func overwritten(words []damage) func([]mem.Range) []mem.Range {
	return func(ranges []mem.Range) []mem.Range {
		for _, w := range words {
			if len(ranges) == 0 {
				break
			}
			k := &ranges[w.at%len(ranges)]
			if n := len(k.Data); n >= wordSize {
				k.Data = slices.Clone(k.Data)
				binary.LittleEndian.PutUint64(k.Data[w.off%(n-wordSize+1):], w.word)
			}
		}
		return ranges
	}
}

// TestDamagedRecordings: each of some reads of each recorded process gives words that lie, by turns.
func TestDamagedRecordings(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	open(t, "", func(name string, p *process) {
		some := p.addresses()
		count := &damaged{Reader: p.running}
		p.everything(t, count, same)
		if count.n < 10 {
			t.Fatalf("%s: %d reads", name, count.n)
		}
		tries := 40
		if *full {
			tries = 1000
		}
		for range tries {
			data := make([]byte, 5*(1+random.IntN(4)))
			for i := range data {
				data[i] = byte(random.Uint32())
			}
			words := damages(data, some)
			for i := range words {
				words[i].at %= count.n
			}
			change := same
			if random.IntN(2) == 0 {
				change = overwritten(words)
			}
			p.everything(t, &damaged{Reader: p.running, words: words}, change)
		}
	})
}
