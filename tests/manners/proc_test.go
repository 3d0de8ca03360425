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

	"github.com/fpstack/fpstack/procfs"
)

func itoa(n int) string { return strconv.Itoa(n) }

// statusOf reads status of a thread; false if it is gone.
func statusOf(dir string) (procfs.Status, bool) {
	b, err := os.ReadFile(dir + "/status")
	if err != nil {
		return procfs.Status{}, false
	}
	st, err := procfs.ParseStatus(b)
	return st, err == nil
}

// stateOf is the state of a thread, 0 if it is gone.
func stateOf(tid int) byte {
	b, err := os.ReadFile("/proc/" + itoa(tid) + "/stat")
	if err != nil {
		return 0
	}
	st, err := procfs.ParseStat(b)
	if err != nil {
		return 0
	}
	return st.State
}

func taskDirs(pid int) []string {
	dirs, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	return dirs
}

func threadIDs(pid int) []int {
	var tids []int
	for _, dir := range taskDirs(pid) {
		if tid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}

// threadStates is for messages: each thread with its state, tracer and place in the kernel.
func threadStates(pid int) string {
	var b strings.Builder
	for _, dir := range taskDirs(pid) {
		st, _ := statusOf(dir)
		wchan, _ := os.ReadFile(dir + "/wchan")
		fmt.Fprintf(&b, "%s %c tracer %d %s; ", filepath.Base(dir), stateIn(dir), st.TracerPid, wchan)
	}
	return b.String()
}

func stateIn(dir string) byte {
	b, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return '-'
	}
	st, err := procfs.ParseStat(b)
	if err != nil {
		return '-'
	}
	return st.State
}

// held counts the threads of a process that are traced or in a trace stop.
func held(pid int) int {
	n := 0
	for _, dir := range taskDirs(pid) {
		if st, ok := statusOf(dir); ok && st.TracerPid > 0 || stateIn(dir) == 't' {
			n++
		}
	}
	return n
}

// checkFree fails if a thread of process pid is traced or in a trace stop.
func checkFree(t testing.TB, pid int) {
	t.Helper()
	if n := held(pid); n > 0 {
		t.Errorf("%d threads of %d are still held: %s", n, pid, threadStates(pid))
	}
}

// waitState waits until a thread is in one of the states.
func waitState(t testing.TB, tid int, want string) {
	t.Helper()
	eventually(t, func() (string, bool) {
		got := stateOf(tid)
		return fmt.Sprintf("thread %d is in state %c, want %s", tid, got, want), got != 0 &&
			strings.IndexByte(want, got) >= 0
	})
}

// eventually waits until f is true, and fails with what it says if it never is.
func eventually(t testing.TB, f func() (string, bool)) {
	t.Helper()
	said, ok := "", false
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if said, ok = f(); ok {
			return
		}
	}
	t.Fatal(said)
}
