//go:build linux

package manners

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// stalled is how the lines of testdata/mixed.c begin that tell of a wait which lasts too long, while it lasts.
const stalled = "stalled "

// lookAtStalls shows what holds the waits that the tree of c has told of since the last call.
func (l *soakLane) lookAtStalls(c *target) {
	for {
		select {
		case line, ok := <-c.lines:
			if !ok || !strings.HasPrefix(line, stalled) {
				l.t.Fatalf("the processes ended by themselves: %q", line)
			}
			l.t.Logf("%s\n%s", line, look(c.pid))
		default:
			return
		}
	}
}

// look is what holds the tree below pid, twice, with a second in between: the load, the states of all threads, and
// those of whoever traces one and is not of the tree. A thread that is in a trace stop, or is traced, both times is
// held by the tracer; where none is and threads are ready to run (R) it is the load.
func look(pid int) string {
	var b strings.Builder
	for i := range 2 {
		if i > 0 {
			time.Sleep(time.Second)
		}
		load, _ := os.ReadFile("/proc/loadavg")
		fmt.Fprintf(&b, "load %s", load)
		tree, tracers := treeBelow(pid), []int{}
		for _, p := range tree {
			fmt.Fprintf(&b, "  %d: %s\n", p, threadStates(p))
			for _, dir := range taskDirs(p) {
				st, ok := statusOf(dir)
				if ok && st.TracerPid > 0 && !slices.Contains(tree, st.TracerPid) {
					tracers = append(tracers, st.TracerPid)
				}
			}
		}
		slices.Sort(tracers)
		for _, p := range slices.Compact(tracers) {
			fmt.Fprintf(&b, "  traced by %d: %s\n", p, threadStates(p))
		}
	}
	return b.String()
}

// TestLook: what holds a stalled tree is shown: that it is stopped, and who traces it.
func TestLook(t *testing.T) {
	c := startChecker(t)
	if err := unix.Kill(c.pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitState(t, c.pid, "T")
	got := look(c.pid)
	if strings.Count(got, fmt.Sprintf("%d T tracer 0", c.pid)) != 2 || strings.Contains(got, "traced by") {
		t.Errorf("of a stopped process: %s", got)
	}
	if err := unix.Kill(c.pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
}
