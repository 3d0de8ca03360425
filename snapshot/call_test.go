package snapshot

import (
	"testing"

	"github.com/fpstack/fpstack/regs"
)

// TestInterrupted: a call is shown where its result says that a stop took the thread out of it, and nowhere else.
func TestInterrupted(t *testing.T) {
	for _, row := range []struct {
		name    string
		arch    *regs.Arch
		number  int64
		result  int64
		call    bool // there was one
		stopped bool // which did not return by itself
	}{
		{"made again", regs.AMD64, 34, -514, true, true},
		{"goes on by restart_syscall", regs.AMD64, 230, -516, true, true},
		{"EINTR", regs.AMD64, 232, -4, true, true},
		{"of 32 bits", regs.I386, 29, -514, true, true},
		{"it returned", regs.AMD64, 1, 2, true, false},
		{"it failed by itself", regs.AMD64, 0, -11, true, false},
		{"came by a fault", regs.AMD64, -1, -514, false, false},
		{"came by an interrupt, of 32 bits", regs.I386, -1, -512, false, false},
	} {
		r := regs.New(row.arch)
		r.Set(row.arch.Syscall, uint64(row.number)&(1<<(8*row.arch.WordSize-1)<<1-1))
		r.Set(row.arch.Result, uint64(row.result)&(1<<(8*row.arch.WordSize-1)<<1-1))
		r.Set(row.arch.Args[0], 7)
		r.Set(row.arch.PC, 0x1000)
		call, stopped := CallOf(&r), Interrupted(&r)
		if (call != nil) != row.call || (stopped != nil) != row.stopped {
			t.Errorf("%s: %+v, interrupted %+v", row.name, call, stopped)
		}
		if call != nil && (call.Number != row.number || call.Args[0] != 7 || call.PC != 0x1000) {
			t.Errorf("%s: %+v", row.name, call)
		}
	}
	other := regs.New(regs.ARM64)
	other.Set(8, 34)
	if CallOf(&other) != nil {
		t.Error("a call where registers do not show one")
	}
}

// TestCallOfThread: a thread that a stop met on its way back from a call is in that call; one that was stopped
// elsewhere, or whose stop said that it was blocked, is where that was.
func TestCallOfThread(t *testing.T) {
	back := regs.New(regs.AMD64)
	back.Set(regs.AMD64.Syscall, 232)
	back.Set(regs.AMD64.Result, 1)
	outside := regs.New(regs.AMD64)
	outside.Set(regs.AMD64.Syscall, ^uint64(0))
	blocked := &Syscall{Number: 0}
	for _, row := range []struct {
		name string
		in   Thread
		want int64
	}{
		{"comes back", Thread{State: 'R', Registers: &back}, 232},
		{"blocked", Thread{State: 'S', Registers: &back, Syscall: blocked}, 0},
		{"computes", Thread{State: 'R', Registers: &outside}, -1},
		{"of a core, which has no states", Thread{Registers: &back}, -1},
		{"not stopped", Thread{State: 'R'}, -1},
	} {
		got := int64(-1)
		if call := row.in.Call(); call != nil {
			got = call.Number
		}
		if got != row.want {
			t.Errorf("%s: got call %d, want %d", row.name, got, row.want)
		}
	}
}
