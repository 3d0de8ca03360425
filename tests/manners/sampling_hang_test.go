//go:build linux

package manners

import (
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tracer"
	"golang.org/x/sys/unix"
)

// TestSampledVforkParent has a thread that cannot be stopped: it is not even interrupted, and
// its stack is copied without.
func TestSampledVforkParent(t *testing.T) {
	c := start(t, "vfork", "100000")
	waitState(t, c.pid, "D")
	k := sample(t, c.pid, tracer.SamplerOptions{})
	begun := time.Now()
	for range 100 {
		k.sampleEach(t)
	}
	if took := time.Since(begun); k.stuck != 100 || took > returnBound {
		t.Errorf("%v in %v; want 100 that did not stop", k, took)
	}
	if err := k.watches[c.pid].Peek(&k.copied, k.table); err != nil || len(k.copied.Thread.Stack.Data) == 0 {
		t.Errorf("peek: %v, %d bytes", err, len(k.copied.Thread.Stack.Data))
	}
	endVfork(t, c)
	endsBy(t, c, unix.SIGTERM)
}

// TestSampledIntoVfork interrupts a thread that ran at the last sample and cannot be stopped
// by now: it is given up by the end of the OS thread, soon, and goes on later.
func TestSampledIntoVfork(t *testing.T) {
	for range 5 {
		c := start(t, "intovfork", "100000")
		tid := c.pid
		k := sample(t, c.pid, tracer.SamplerOptions{})
		k.only = tid
		k.sampleAll(t, 1, 1)
		k.stuck = 0
		unix.Kill(c.pid, unix.SIGUSR1)
		waitState(t, c.pid, "D")
		begun := time.Now()
		k.sampleEach(t)
		if took := time.Since(begun); k.samples != 1 || k.stuck != 1 || took > returnBound {
			t.Errorf("%v in %v", k, took)
		}
		endVfork(t, c)
		endsBy(t, c, unix.SIGTERM)
	}
}

// TestSampledFrozen has all threads in state D until they are thawed.
func TestSampledFrozen(t *testing.T) {
	dir := controlGroup(t, "freezer", "freezer.state")
	c := start(t, "witness", "2")
	moveTo(t, dir, c.pid)
	k := sample(t, c.pid, tracer.SamplerOptions{})
	k.sampleEach(t)
	thaw := func() { writeFile(t, dir+"/freezer.state", "THAWED") }
	writeFile(t, dir+"/freezer.state", "FROZEN")
	t.Cleanup(thaw)
	for _, tid := range threadIDs(c.pid) {
		waitState(t, tid, "D")
	}
	begun := time.Now()
	for range 10 {
		k.sampleEach(t)
	}
	if took := time.Since(begun); k.stuck == 0 || took > returnBound {
		t.Errorf("%v in %v", k, took)
	}
	thaw()
	goesOn(t, c)
	k.sampleEach(t)
	endsBy(t, c, unix.SIGTERM)
}

// TestSampledThrottled has threads that get 2 ms of CPU time in each 100.
func TestSampledThrottled(t *testing.T) {
	dir, none := makeControlGroup(t, "", "cpu.max")
	if none != "" {
		dir = controlGroup(t, "cpu", "cpu.cfs_quota_us")
		writeFile(t, dir+"/cpu.cfs_period_us", "100000")
		writeFile(t, dir+"/cpu.cfs_quota_us", "2000")
	} else {
		writeFile(t, dir+"/cpu.max", "2000 100000")
	}
	c := start(t, "witness", "2")
	moveTo(t, dir, c.pid)
	time.Sleep(200 * time.Millisecond) // two periods: it is throttled by now
	k := sample(t, c.pid, tracer.SamplerOptions{})
	begun := time.Now()
	for range 5 {
		k.sampleEach(t)
	}
	if took := time.Since(begun); k.samples == 0 || took > returnBound {
		t.Errorf("%v in %v", k, took)
	}
	t.Log(k)
	goesOn(t, c)
	endsBy(t, c, unix.SIGTERM)
}

// TestSampledMissingPage has a page in the stack that nobody brings.
func TestSampledMissingPage(t *testing.T) {
	c := start(t, "witness", "2", "hole")
	k := sample(t, c.pid, tracer.SamplerOptions{})
	k.sampleAll(t, 20, 3)
	goesOn(t, c)
	endsBy(t, c, unix.SIGTERM)
}

// TestSampledFaultInKernel has a thread that goes round in the kernel once it is interrupted, to
// stop, until a page comes.
func TestSampledFaultInKernel(t *testing.T) {
	c := start(t, "witness", "2", "fault")
	k := sample(t, c.pid, tracer.SamplerOptions{})
	begun := time.Now()
	for range 3 {
		k.sampleEach(t)
	}
	if took := time.Since(begun); took > returnBound {
		t.Errorf("%v in %v", k, took)
	}
	t.Log(k)
	book := bookOf(t, c)
	unix.Kill(c.pid, unix.SIGUSR1)
	eventually(t, func() (string, bool) { return "read(2) did not go on", book.turns()[7] == 1 })
	endsBy(t, c, unix.SIGTERM)
}

// TestSampledCallsRepaired stops every call that returns EINTR, with the repair: those that wait
// without a limit go on unseen, and others are left as they are.
func TestSampledCallsRepaired(t *testing.T) {
	for _, row := range []struct{ call, want string }{
		{"epoll_wait", "on-time"}, {"epoll_pwait", "on-time"}, {"epoll_pwait2", "on-time"},
		{"io_uring_enter", "on-time"},
		{"semop", "on-time"}, {"sigwaitinfo", "on-time"},
		{"epoll_wait-limit", "eintr"}, {"io_getevents", "eintr"}, {"semtimedop", "eintr"}, {"sigtimedwait", "eintr"},
		{"recv-limit", "eintr"}, {"accept-limit", "eintr"},
		{"read-pipe", "on-time"}, {"futex-limit", "on-time"}, {"nanosleep", "on-time"}, {"poll", "on-time"},
	} {
		t.Run(strings.ReplaceAll(row.call, "-", " "), func(t *testing.T) {
			t.Parallel()
			got := ""
			for range 5 {
				if got = sampledOutcome(t, row.call); got == row.want || got == "absent" {
					break
				}
			}
			switch got {
			case row.want:
			case "busy", "absent":
				t.Skipf("%s: %s", row.call, got)
			default:
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// sampledOutcome blocks in a call in a process of its own, stops it twice with the repair, and
// says how it came back.
func sampledOutcome(t *testing.T, name string) string {
	c, err := startEintr(name)
	if err != nil {
		t.Skip(err)
	}
	defer func() {
		c.cmd.Process.Kill()
		c.cmd.Wait()
	}()
	at := []time.Duration{200 * time.Millisecond, 300 * time.Millisecond}
	for line := range c.lines {
		words := strings.Fields(line)
		switch {
		case words[0] == "absent":
			return "absent"
		case words[0] == "block":
			begun := time.Now()
			k := sample(t, c.pid, tracer.SamplerOptions{RepairEINTR: true})
			k.only = c.pid
			for _, d := range at {
				time.Sleep(time.Until(begun.Add(d)))
				if err := k.round(); err != nil {
					break // EINTR came with an earlier stop, and it was done
				}
				if time.Since(begun) > d+100*time.Millisecond {
					return "busy"
				}
			}
		case words[0] == "done" && len(words) == 5:
			return judge(words[2:], at)
		}
	}
	return "broken"
}
