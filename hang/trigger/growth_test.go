package trigger

import (
	"testing"
	"time"

	"github.com/fpstack/fpstack/procfs"
)

// TestGrowth: what a process did before it ended, or before it began, moves nobody else's counts.
func TestGrowth(t *testing.T) {
	shell, child, other := procfs.Identity{PID: 5, Start: 1}, procfs.Identity{PID: 7, Start: 2},
		procfs.Identity{PID: 7, Start: 9} // the id once more
	grandchild := procfs.Identity{PID: 8, Start: 3}
	before := IOs{shell: {Parent: 1, Read: 100, Written: 50, OwnRead: 100, Output: true},
		child:      {Parent: 5, Read: 900, Written: 700, OwnRead: 900, Output: true},
		grandchild: {Parent: 7, Written: 40}}
	for _, tt := range []struct {
		name                  string
		after                 IOs
		repeats               map[procfs.Identity]bool
		written, output, read uint64
	}{
		{"nothing", before, nil, 0, 0, 0},
		{"they ended, and were waited for", IOs{shell: {Parent: 1, Read: 1000, Written: 790, OwnRead: 100, Waited: 1,
			Output: true}}, nil, 0, 0, 0},
		{"the child wrote 3 before it ended", IOs{shell: {Parent: 1, Read: 1000, Written: 793, OwnRead: 100, Waited: 1,
			Output: true}}, nil, 3, 3, 0},
		{"it ended, and nobody waited", IOs{shell: before[shell]}, nil, 0, 0, 0},
		{"the same command runs again", IOs{shell: {Parent: 1, Read: 1000, Written: 790, OwnRead: 100, Waited: 1,
			Output: true}, other: {Parent: 5, Read: 800, OwnRead: 800, Output: true}},
			map[procfs.Identity]bool{other: true}, 0, 0, 0},
		{"another command begins", IOs{shell: before[shell], other: {Parent: 5, Read: 800, Written: 2,
			OwnRead: 800}}, nil,
			2, 0, 800},
		{"the shell reads while children end", IOs{shell: {Parent: 1, Read: 9000, Written: 790, OwnRead: 130,
			Waited: 4}},
			nil, 0, 0, 30},
	} {
		written, output := tt.after.Written(before, false), tt.after.Written(before, true)
		if read := tt.after.Read(before, tt.repeats); written != tt.written || output != tt.output || read != tt.read {
			t.Errorf("%s: written %d, of output %d, read %d; want %d, %d, %d", tt.name, written, output, read,
				tt.written,
				tt.output, tt.read)
		}
	}
}

// TestInheritedCPU: who waits for a child that computed long ago is idle.
func TestInheritedCPU(t *testing.T) {
	shell, child := procfs.Identity{PID: 5}, procfs.Identity{PID: 7}
	w := &window{length: time.Minute, cpu: 0.01}
	from := &entry{at: zero, usage: map[procfs.Identity]Used{shell: {1, time.Second}, child: {5, time.Hour}}}
	for _, tt := range []struct {
		cpu   time.Duration
		quiet bool
	}{{time.Hour + time.Second, true}, {time.Hour + 3*time.Second, false}} {
		to := &entry{at: zero.Add(time.Minute), usage: map[procfs.Identity]Used{shell: {1, tt.cpu}}}
		if got := w.quiet(from, to); got != tt.quiet {
			t.Errorf("%v of CPU: quiet %v, want %v", tt.cpu, got, tt.quiet)
		}
	}
}
