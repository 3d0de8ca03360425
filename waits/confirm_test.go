package waits

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs"
)

// TestAtStop: a call that an earlier stop interrupted goes on under another number; any other difference is a move.
func TestAtStop(t *testing.T) {
	sleep := procfs.Syscall{Number: 230, Args: [6]uint64{0, 0, 0x7ff0}, SP: 0x7f00, PC: 0x5500}
	again, elsewhere, other := sleep, sleep, sleep
	again.Number, other.Number = 219, 0 // restart_syscall, read
	elsewhere.SP++
	for _, c := range []struct {
		name   string
		before procfs.Syscall
		stop   *procfs.Syscall
		moved  bool
	}{
		{"the same", sleep, &sleep, false},
		{"restarted, its first number in the stop", again, &sleep, false},
		{"restarted, in both", again, &again, false},
		{"restarted, now a call that is not", again, &other, true},
		{"restarted, of another frame", again, &elsewhere, true},
		{"another call", other, &sleep, true},
		{"it ran", sleep, nil, true},
	} {
		p := &Process{PID: 7, Arch: "amd64"}
		thread := &Thread{Process: p, TID: 7, First: Reading{Blocked: true, Call: c.before}}
		p.Threads = []*Thread{thread}
		f := &Facts{}
		f.Add(p)
		f.AtStop(7, c.stop, mem.Range{})
		if thread.Moved != c.moved {
			t.Errorf("%s: moved %t, want %t", c.name, thread.Moved, c.moved)
		}
	}
}

// TestTimeAtStop: who waits again in the same call, from the same place, waits as long as its stack says in the stop,
// and not as what lay there when it was read.
func TestTimeAtStop(t *testing.T) {
	const limit = stack + 0x8020
	thread := futexThread(100, heap+0x100, private|opWaitBitset, 0)
	thread.First.Call.Args[3] = uint64(limit)
	thread.First.At = time.Unix(1000, 0)
	d := draw(thread)
	d.words(heap+0x100, 0)
	d.longs(limit, 500+2_000_000, 0) // of another wait
	left := func(g *Graph) time.Duration { return g.Of(100).Left }
	if got := left(d.examine(t)); got != 2_000_000*time.Second {
		t.Fatalf("before the stop it has %v left", got)
	}
	now := make([]byte, 0x40)
	binary.LittleEndian.PutUint64(now[0x20:], 500+3)
	call := thread.First.Call
	d.facts.AtStop(100, &call, mem.Range{Start: stack + 0x8000, Data: now})
	if got := left(Join(d.facts)); got != 3*time.Second {
		t.Errorf("in the stop it has %v left, want 3 s", got)
	}
}
