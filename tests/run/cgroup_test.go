//go:build linux

package run

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Where fpstack may make a cgroup, what does not end by SIGTERM is ended in one, and none is left behind.
func TestCgroup(t *testing.T) {
	t.Parallel()
	root := ""
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if _, err := os.Stat(dir + "/cgroup.procs"); err == nil {
			if _, err := os.Stat(dir + "/cgroup.controllers"); err == nil {
				root = dir
			}
		}
	}
	trial := filepath.Join(root, "fpstack-trial")
	if root == "" || os.Mkdir(trial, 0o755) != nil {
		t.Skip("no cgroup can be made here")
	}
	os.Remove(trial)
	word := mark()
	storm := file(t, "trap '' TERM\n[ $1 = 4 ] || for i in 1 2; do setsid bash $0 $(($1 + 1)) & done\n"+
		"while :; do sleep "+word+" & wait; done\n")
	j := start(t, nil, fpstack, "run", "--deadline", "1", "--kill-after", "0.2", "--", "bash", storm, "1")
	pid := j.Process.Pid
	_, state := j.end(t)
	if left := marked(word); state.ExitCode() != 124 || len(left) > 0 {
		t.Errorf("%v, processes %v are left", state, left)
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(root, "fpstack-*")); len(found) > 0 {
		t.Errorf("process %d left the cgroups %q", pid, found)
	}
}
