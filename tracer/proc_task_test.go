//go:build linux

package tracer

import "testing"

func TestTaskCount(t *testing.T) {
	c := start(t, "threads", 20, 1)
	p := openTarget(t, c.pid())
	ids, err := p.tasks.list(nil)
	n, ok := p.tasks.count()
	if err != nil || len(ids) != 21 || !ok || n != 21 {
		t.Errorf("list: %d threads, %v; count: %d, %v; want 21", len(ids), err, n, ok)
	}
}

func FuzzAppendIDs(f *testing.F) {
	f.Add([]byte("0000000000000000\x18\x00\x044121\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, id := range appendIDs(nil, b) {
			if id < 0 {
				t.Errorf("%q: %d", b, id)
			}
		}
	})
}
