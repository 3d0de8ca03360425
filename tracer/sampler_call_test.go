//go:build linux

package tracer

import (
	"testing"

	"github.com/fpstack/fpstack/regs"
	"golang.org/x/sys/unix"
)

// TestCutShort tells calls that a stop has cut from those that ended by themselves, by the registers.
func TestCutShort(t *testing.T) {
	const none = -1
	for _, row := range []struct {
		name           string
		arch           *regs.Arch
		number, result int64
		blocked, want  bool
	}{
		{"epoll_wait, EINTR", regs.AMD64, 232, -int64(unix.EINTR), false, true},
		{"read, restarted", regs.AMD64, 0, restartSys, true, true},
		{"futex with a limit, by restart_syscall", regs.AMD64, 202, restartByBlock, true, true},
		{"poll of a 32-bit program", regs.I386, 168, restartByBlock & (1<<32 - 1), true, true},
		{"epoll_wait with events", regs.AMD64, 232, 3, false, false},
		{"epoll_wait at the end of its time", regs.AMD64, 232, 0, false, false},
		{"read of nothing that is there", regs.AMD64, 0, -int64(unix.EAGAIN), false, false},
		{"a loop with such a number by chance", regs.AMD64, none, restartSys, false, false},
		{"registers do not show it, it was blocked", regs.ARM64, 0, 0, true, true},
		{"registers do not show it, it ran", regs.ARM64, 0, restartSys, false, false},
	} {
		r := regs.New(row.arch)
		if row.arch != regs.ARM64 {
			r.Set(row.arch.Syscall, uint64(row.number))
			r.Set(row.arch.Result, uint64(row.result))
		}
		c := Copy{Blocked: row.blocked}
		c.Thread.Registers = &r
		if got := c.CutShort(); got != row.want {
			t.Errorf("%s: got %v", row.name, got)
		}
	}
}

// TestCutShortOfRealCalls stops threads that sleep and one that computes.
func TestCutShortOfRealCalls(t *testing.T) {
	for _, mode := range []string{"epoll", "epoll-limit", "echo"} {
		c, _ := startWaits(t, mode)
		w := openWatch(t, openTarget(t, c.pid()), c.pid())
		var got Copy
		if err := stopSleeper(t, openSampler(t, SamplerOptions{}), w, &got); err != nil {
			t.Fatal(err)
		}
		if !got.CutShort() {
			t.Errorf("%s: a sleep that we ended is not shown: %+v", mode, got.call)
		}
	}
	c := start(t, "threads", 1, 1, 1)
	p := openTarget(t, c.pid())
	w, l := openWatch(t, p, spinner(t, c.pid())), openSampler(t, SamplerOptions{})
	table := mapsOf(t, p)
	for range 100 {
		var got Copy
		var err error
		l.Do(func() { err = l.Stop(w, &got, table) })
		if err != nil || got.CutShort() {
			t.Fatalf("a thread that computes: %v, cut short %v", err, got.CutShort())
		}
	}
}
