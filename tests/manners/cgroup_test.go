//go:build linux

package manners

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// unixStatus is what a program's end says.
type unixStatus = syscall.WaitStatus

// controlGroup makes a control group below the root of a hierarchy and removes it at the
// end of the test. controller names one of version 1, "" is version 2. It skips the test
// if there is no such hierarchy, or its groups lack the file wanted.
func controlGroup(t *testing.T, controller, file string) string {
	t.Helper()
	dir, reason := makeControlGroup(t, controller, file)
	if reason != "" {
		t.Skip(reason)
	}
	return dir
}

// makeControlGroup is controlGroup for a test that knows what to do without.
func makeControlGroup(t *testing.T, controller, file string) (group, reason string) {
	t.Helper()
	root, ok := hierarchy(controller)
	if !ok {
		return "", "no control groups mounted with controller " + controller
	}
	dir, err := os.MkdirTemp(root, "fpstack-manners")
	if err != nil {
		return "", "no control group can be made: " + err.Error()
	}
	t.Cleanup(func() {
		for range 200 { // until the last process in it is gone
			if os.Remove(dir) == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("control group %s cannot be removed", dir)
	})
	if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
		return "", "control groups have no " + file
	}
	return dir, ""
}

// hierarchy finds where control groups are mounted (proc_pid_mountinfo(5)).
func hierarchy(controller string) (string, bool) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		left, right, _ := strings.Cut(lines.Text(), " - ")
		place, kind := strings.Fields(left), strings.Fields(right)
		if len(place) < 5 || len(kind) < 3 {
			continue
		}
		v2 := kind[0] == "cgroup2" && controller == ""
		v1 := kind[0] == "cgroup" && slices.Contains(strings.Split(kind[2], ","), controller)
		if v1 || v2 {
			return place[4], true
		}
	}
	return "", false
}

// moveTo puts a process into a control group, and takes it out again at the end of the
// test if it lives.
func moveTo(t *testing.T, dir string, pid int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(itoa(pid)), 0); err != nil {
		t.Skipf("process cannot be put into %s: %v", dir, err)
	}
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
}
