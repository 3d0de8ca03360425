//go:build linux

package manners

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// returnBound is how long the command may take on a process that cannot be stopped. With the
// usual longest pause it takes little more than a second; the rest is for busy machines.
// What the process is stuck in does not end before.
const returnBound = 10 * time.Second

// returns runs the command on a process that is stuck: it must come back in time, show
// something, and leave nothing held.
func returns(t *testing.T, pid int, args ...string) result {
	t.Helper()
	r := fpstackOn(t, pid, args...)
	if r.took > returnBound {
		t.Errorf("took %v, want at most %v", r.took, returnBound)
	}
	if r.status > 1 || !strings.Contains(r.out, fmt.Sprintf("process %d", pid)) {
		t.Errorf("status %d:\n%s%s", r.status, r.out, r.err)
	}
	t.Logf("came back after %v, status %d", r.took.Round(time.Millisecond), r.status)
	return r
}

// ways of the command.
var commandWays = [][]string{nil, {"--rolling"}}

func TestVforkParent(t *testing.T) {
	c := start(t, "vfork", "100000")
	waitState(t, c.pid, "D")
	for _, args := range commandWays {
		r := returns(t, c.pid, args...)
		if !strings.Contains(r.out+r.err, "not stop") {
			t.Errorf("nothing says that the thread was not stopped:\n%s%s", r.out, r.err)
		}
	}
	endVfork(t, c)
	endsBy(t, c, unix.SIGTERM)
}

// endVfork ends the child that the target waits for.
func endVfork(t *testing.T, c *target) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", c.pid, c.pid))
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	unix.Kill(child, unix.SIGKILL)
	if line := c.next(t, patience); line != "D" {
		t.Errorf("target said %q, want D", line)
	}
}

// endsBy sends a signal, of which the target must end.
func endsBy(t *testing.T, c *target, sig unix.Signal) {
	t.Helper()
	unix.Kill(c.pid, sig)
	done := make(chan error, 1)
	go func() { done <- c.cmd.Wait() }()
	select {
	case <-done:
		if ws, ok := c.cmd.ProcessState.Sys().(unixStatus); !ok || ws.Signal() != sig {
			t.Errorf("target ended by %v, want %v", c.cmd.ProcessState, sig)
		}
	case <-time.After(patience):
		t.Errorf("target does not end: %s", threadStates(c.pid))
	}
}

// TestFrozenV1 has all threads in state D until they are thawed.
func TestFrozenV1(t *testing.T) {
	dir := controlGroup(t, "freezer", "freezer.state")
	c := start(t, "witness", "2")
	moveTo(t, dir, c.pid)
	thaw := func() { writeFile(t, dir+"/freezer.state", "THAWED") }
	writeFile(t, dir+"/freezer.state", "FROZEN")
	t.Cleanup(thaw)
	eventually(t, func() (string, bool) {
		b, _ := os.ReadFile(dir + "/freezer.state")
		return "does not freeze: " + string(b), strings.TrimSpace(string(b)) == "FROZEN"
	})
	for _, args := range commandWays {
		returns(t, c.pid, args...)
	}
	thaw()
	goesOn(t, c)
	endsBy(t, c, unix.SIGTERM)
}

// TestFrozenV2 can be inspected as if it were not frozen, and stays frozen.
func TestFrozenV2(t *testing.T) {
	dir := controlGroup(t, "", "cgroup.freeze")
	c := start(t, "witness", "2")
	moveTo(t, dir, c.pid)
	thaw := func() { writeFile(t, dir+"/cgroup.freeze", "0") }
	writeFile(t, dir+"/cgroup.freeze", "1")
	t.Cleanup(thaw)
	frozen := func() (string, bool) {
		b, _ := os.ReadFile(dir + "/cgroup.events")
		return "is not frozen: " + string(b), strings.Contains(string(b), "frozen 1")
	}
	eventually(t, frozen)
	book := bookOf(t, c)
	before := book.turns()
	for _, args := range commandWays {
		returns(t, c.pid, args...)
	}
	eventually(t, frozen)
	if after := book.turns(); after[0] != before[0] || after[1] != before[1] {
		t.Error("frozen threads ran")
	}
	thaw()
	goesOn(t, c)
	endsBy(t, c, unix.SIGTERM)
}

// TestThrottled has threads that get 2 ms of CPU time in each 100.
func TestThrottled(t *testing.T) {
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
	for _, args := range commandWays {
		returns(t, c.pid, args...)
	}
	goesOn(t, c)
	endsBy(t, c, unix.SIGTERM)
}

// goesOn waits until the counters of a witness move.
func goesOn(t *testing.T, c *target) {
	t.Helper()
	book := bookOf(t, c)
	before := book.turns()
	eventually(t, func() (string, bool) {
		after := book.turns()
		return "threads do not go on: " + threadStates(c.pid), after[0] > before[0] && after[1] > before[1]
	})
}

func TestMissingPageInStack(t *testing.T) {
	c := start(t, "witness", "2", "hole")
	for _, args := range commandWays {
		r := returns(t, c.pid, args...)
		if !strings.Contains(r.out, "rest_below_hole") {
			t.Errorf("the innermost frames are not shown:\n%s", r.out)
		}
	}
	goesOn(t, c)
	endsBy(t, c, unix.SIGTERM)
}

// TestFaultInKernel has a thread that sleeps in read(2) on a page which comes late. Interrupted
// to stop, it goes round in the kernel until then.
func TestFaultInKernel(t *testing.T) {
	c := start(t, "witness", "2", "fault")
	for _, args := range commandWays {
		returns(t, c.pid, args...)
	}
	book := bookOf(t, c)
	unix.Kill(c.pid, unix.SIGUSR1)
	eventually(t, func() (string, bool) { return "read(2) did not go on", book.turns()[7] == 1 })
	endsBy(t, c, unix.SIGTERM)
}

func TestLeaderHasEnded(t *testing.T) {
	c := start(t, "witness", "2", "leaderless")
	waitState(t, c.pid, "Z")
	for _, args := range commandWays {
		returns(t, c.pid, args...)
	}
	goesOn(t, c)
	endsBy(t, c, unix.SIGKILL)
}

// TestDumpingCore inspects a process whose core is being read by a slow program. It must
// not be seized: its parent would not be told of its end.
func TestDumpingCore(t *testing.T) {
	const setting = "/proc/sys/kernel/core_pattern"
	rootOnly(t, "the core pattern of the machine is changed")
	if !soak && os.Getenv("CI") == "" {
		t.Skip("changes the core pattern of the whole machine for a moment: only with CI or FPSTACK_SOAK=1")
	}
	old, err := os.ReadFile(setting)
	if err != nil || unix.Access(setting, unix.W_OK) != nil {
		t.Skipf("%s cannot be changed: %v", setting, err)
	}
	room := openRoom(t)
	handler, begun, goOn := filepath.Join(room, "core"), filepath.Join(room, "begun"), filepath.Join(room, "go on")
	writeFile(t, handler, "#!/bin/sh\nPATH=/usr/bin:/bin\n: >"+begun+"\n"+
		"n=0; until [ -e '"+goOn+"' ] || [ $n -ge 600 ]; do sleep 0.1; n=$((n+1)); done\nexec cat >/dev/null\n")
	if err := os.Chmod(handler, 0o755); err != nil {
		t.Fatal(err)
	}
	c := start(t, "witness", "2", "dump")
	restore := func() { os.WriteFile(setting, old, 0) }
	t.Cleanup(restore)
	if err := os.WriteFile(setting, []byte("|"+handler), 0); err != nil {
		t.Skipf("%s cannot be changed: %v", setting, err)
	}
	limit := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(c.pid, unix.RLIMIT_CORE, &limit, nil); err != nil {
		t.Skipf("the target may not dump core: %v", err)
	}
	unix.Kill(c.pid, unix.SIGUSR1)
	eventually(t, func() (string, bool) {
		_, err := os.Stat(begun) // before, the kernel may not have read the pattern
		st, _ := statusOf("/proc/" + itoa(c.pid))
		return "it does not dump core: " + threadStates(c.pid), err == nil && st.CoreDumping
	})
	restore()
	for _, args := range commandWays {
		r := fpstackOn(t, c.pid, args...)
		if r.took > returnBound || r.status != 2 || !strings.Contains(r.err, "dumping core") {
			t.Errorf("took %v, status %d: %s%s", r.took, r.status, r.out, r.err)
		}
	}
	writeFile(t, goOn, "")
	c.cmd.Wait()
	if ws := c.cmd.ProcessState.Sys().(unixStatus); ws.Signal() != unix.SIGABRT {
		t.Errorf("target ended by %v, want SIGABRT", c.cmd.ProcessState)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
