package waits

import (
	"testing"

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
		f.AtStop(7, c.stop)
		if thread.Moved != c.moved {
			t.Errorf("%s: moved %t, want %t", c.name, thread.Moved, c.moved)
		}
	}
}
