//go:build linux

package manners

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tracer"
	"golang.org/x/sys/unix"
)

// TestSupervisedCall samples a thread that waits in a system call for the answer of a seccomp supervisor. It is
// stopped, and the supervisor is asked again; where the filter wants such waits to be ended by SIGKILL alone it is not
// stopped, which is said, and nobody notices. In both cases the call returns what the supervisor says.
func TestSupervisedCall(t *testing.T) {
	for _, row := range []struct {
		args  []string
		stops bool
	}{{nil, true}, {[]string{"killable"}, false}} {
		t.Run(fmt.Sprint(row.args), func(t *testing.T) {
			path := program(t, "supervised")
			c := launch(t, exec.Command(path, row.args...))
			c.pid = c.cmd.Process.Pid
			if first := c.next(t, patience); first != "R" {
				t.Skipf("no seccomp supervisor, or none of this kind, is to be had: %s", first)
			}
			p := open(t, c.pid)
			c.next(t, patience)
			asked(t, c.pid)
			snap := takeSnapshot(t, p, tracer.StopOptions{MaxPause: 100 * time.Millisecond}) // an answer takes a second
			th := snap.Threads[0]
			if stopped := th.Registers != nil; stopped != row.stops || stopped == (th.NotStopped != "") {
				t.Errorf("registers %v, %q, want them: %v", stopped, th.NotStopped, row.stops)
			}
			checkFree(t, c.pid)
			var calls, questions, late, got int64
			for range 2 { // the call that was stopped, and one more
				line := c.next(t, patience)
				if _, err := fmt.Sscan(line, &calls, &questions, &late, &got); err != nil || got != 4242 {
					t.Fatalf("it says %q, want an answer of 4242", line)
				}
			}
			if again := questions - calls; row.stops != (again == 1) || row.stops != (late == 1) || again > 1 {
				t.Errorf("%d calls, %d questions, %d answers came too late; stopped once: %v", calls, questions, late,
					row.stops)
			}
		})
	}
}

// asked waits until the thread is in getppid, and the supervisor has been asked.
func asked(t *testing.T, pid int) {
	t.Helper()
	eventually(t, func() (string, bool) {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
		number, _, _ := strings.Cut(string(b), " ")
		return "in call " + number, number == strconv.Itoa(unix.SYS_GETPPID)
	})
	time.Sleep(50 * time.Millisecond) // for the supervisor to have read the question
}
