package hotspot

import (
	"testing"
	"time"

	"github.com/fpstack/fpstack/unwind"
)

// TestSharedReads: what was read to walk one thread is not read again for another one of the same stop, but for one
// that was stopped since.
func TestSharedReads(t *testing.T) {
	for _, prefix := range []string{"ring-", "chaos-"} {
		open(t, prefix, func(name string, p *process) {
			live := &failing{Reader: p.running}
			p.begin(live)
			walk := func(ended time.Time) int {
				th := p.Threads[0]
				th.Stopped = time.Millisecond
				th.Time = ended.Add(-th.Stopped)
				before := live.n
				p.walker.Walk(&th, p.Reader(&th, live), unwind.Options{})
				return live.n - before
			}
			stop := time.Now()
			walk(stop) // and learns what stays
			first, second, later := walk(time.Now()), walk(stop), walk(time.Now().Add(time.Hour))
			if second*4 > first && second > 3 || later < first {
				t.Errorf("%s: %d reads, of the same stop %d, of a later one %d", name, first, second, later)
			}
		})
	}
}
