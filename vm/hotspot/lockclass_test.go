package hotspot

import (
	"testing"

	"github.com/fpstack/fpstack/mem"
)

// counted counts the reads of a process.
type counted struct {
	mem.Reader
	reads int
}

func (c *counted) ReadMem(b []byte, a mem.Addr) (int, error) {
	c.reads++
	return c.Reader.ReadMem(b, a)
}

// TestLockClassIsReadOnce: a class is read once, however many threads wait for objects of it.
func TestLockClassIsReadOnce(t *testing.T) {
	open(t, "", func(name string, p *process) {
		live := &counted{Reader: p.running}
		r := p.begin(live)
		p.stacks(r, live, same)
		g := &graph{r: r, j: r.jvm.Load()}
		const class = 0x7000
		before := live.reads
		first := g.classAt(class)
		if live.reads == before {
			t.Fatalf("%s: a class is known without a read", name)
		}
		read := live.reads
		if again := g.classAt(class); again != first || live.reads != read {
			t.Errorf("%s: it is read again: %+v, then %+v", name, first, again)
		}
	})
}
