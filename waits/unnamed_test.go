package waits

import (
	"slices"
	"testing"

	"github.com/fpstack/fpstack/procfs"
)

// TestUnnamed: the names on its stack are asked for of a thread whose wait with a limit of time goes on after a stop,
// as of one that was never stopped; and not of one that reads.
func TestUnnamed(t *testing.T) {
	const restart, read = 219, 0
	waits, goesOn := futexThread(100, heap, private, 2), futexThread(101, heap+0x100, private, 2)
	goesOn.First.Call.Number = restart
	goesOn.Wchan = "futex_wait_queue"
	reads := futexThread(102, 0, 0, 0)
	reads.First.Call = procfs.Syscall{Number: read, SP: stack + 0x8000, PC: code + 0x800}
	d := draw(waits, goesOn, reads)
	g := d.examine(t)
	if got, want := g.Unnamed(d.facts.Processes[0], 8), []int{100, 101}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
