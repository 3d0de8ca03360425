package hotspot

import (
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// hidden has a byte of memory that cannot be read.
type hidden struct {
	mem.Reader
	at mem.Addr
}

func (h hidden) ReadMem(b []byte, a mem.Addr) (int, error) {
	if a <= h.at && h.at < a+mem.Addr(len(b)) {
		return 0, &mem.FaultError{Addr: a, Len: len(b), Err: mem.ErrUnmapped}
	}
	return h.Reader.ReadMem(b, a)
}

// TestBlobBeforeReturn: code that is returned to where a segment of the code cache begins is found by what was copied
// to look up the call, which is in the segment before.
func TestBlobBeforeReturn(t *testing.T) {
	const farthest = 200 // segments, each of which says how many are before it
	found := 0
	open(t, "", func(name string, p *process) {
		r := p.begin(p.running)
		th := &p.Threads[0]
		frames := p.stacks(r, p.running, same)[0].Frames
		j, copied := r.jvm.Load(), p.Reader(th, p.running)
		for i := range frames {
			pc := frames[i].PC
			v := view.Over(copied, p.running, nil)
			b, err := r.blobAt(&v, j, pc)
			start := r.known.start(j, pc)
			if err != nil || start == 0 || start == j.nowhere() {
				continue
			}
			h := j.heapOf(pc)
			first, _ := h.Segments(start)
			at, _ := h.Segments(pc)
			for last := at; at == last && pc < b.End; at, _ = h.Segments(pc) {
				pc++
			}
			if pc >= b.End || at-first > farthest || r.known.start(j, pc) != 0 || r.known.start(j, pc-1) != 0 {
				continue
			}
			segments := make([]byte, at-first)
			for k := range segments {
				segments[k] = byte(k)
			}
			v = view.Over(hidden{mem.NewOverlay(copied, mem.Range{Start: first, Data: segments}), at}, nil, nil)
			if got, err := r.blobAt(&v, j, pc); err != nil || got.Begin != b.Begin {
				t.Errorf("%s: code at %#x, of %#x, is not found: %v", name, uint64(pc), uint64(b.Begin), err)
			}
			found++
		}
	})
	t.Logf("%d places", found)
	if found == 0 {
		t.Error("no code is longer than a segment")
	}
}
