//go:build linux

package supervise

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/procfs"
)

// TestShellWatches: a group is watched if a parent of another group but the same session is
// above it.
func TestShellWatches(t *testing.T) {
	for _, tc := range []struct {
		name string
		attr syscall.SysProcAttr
		want bool
	}{
		{"a group of its own", syscall.SysProcAttr{Setpgid: true}, true},
		{"a session of its own", syscall.SysProcAttr{Setsid: true}, false},
	} {
		// The shell's child is in the shell's group: the chain of parents goes up two steps.
		cmd := exec.Command("/bin/sh", "-c", "sleep 1000 & echo $!; wait")
		cmd.SysProcAttr = &tc.attr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var line [20]byte
		n, err := out.Read(line[:])
		if err != nil {
			t.Fatal(err)
		}
		child, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
		if err != nil {
			t.Fatal(err)
		}
		for _, pid := range []int{cmd.Process.Pid, child} {
			if got := shellWatches(pid); got != tc.want {
				t.Errorf("%s: process %d: got %v, want %v", tc.name, pid, got, tc.want)
			}
		}
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	}
	if shellWatches(1) {
		t.Error("process 1 is watched by a shell")
	}
	st, err := procfs.ReadStat("/proc", os.Getpid())
	if err != nil || st.Parent != os.Getppid() || st.Group != syscall.Getpgrp() {
		t.Errorf("relations: got %+v, %v, want parent %d, group %d", st, err, os.Getppid(), syscall.Getpgrp())
	}
}

// TestCgroupKill: what is in a cgroup of its own ends at once, with what it has started meanwhile.
func TestCgroupKill(t *testing.T) {
	g := newCgroup()
	if g == nil {
		t.Skip("no cgroup can be made here")
	}
	defer g.remove()
	cmd := exec.Command("/bin/sh", "-c", "while :; do sleep 1000 & sleep 0.01; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	list := func() []int {
		return procfs.Tree([]int{cmd.Process.Pid}, func(pid int) ([]int, error) {
			var all []int
			own := strconv.Itoa(pid)
			text := procfs.Read("/proc/"+own+"/task/"+own+"/children", 1<<20)
			for word := range strings.FieldsSeq(string(text)) {
				n, _ := strconv.Atoi(word)
				all = append(all, n)
			}
			return all, nil
		})
	}
	for len(list()) < 5 {
		runtime.Gosched()
	}
	g.kill(list)
	if err := cmd.Wait(); err == nil {
		t.Error("it ended well")
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		in, err := os.ReadFile(g.dir + "/cgroup.procs")
		if err != nil || len(in) == 0 {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("processes %q are left in it", in)
		}
	}
	var none *cgroup
	none.kill(list)
	none.remove()
}
