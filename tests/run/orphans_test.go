//go:build linux

package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// orphans makes processes whose parents have ended, as fast as it can, and returns the status of each of its own
// children to nobody.
func orphans() int {
	n, err := strconv.Atoi(os.Getenv("RUN_ORPHANS"))
	if err != nil {
		return 1
	}
	for range n {
		// The shell ends, and what it has started ends a moment later: an orphan.
		if err := exec.Command("/bin/sh", "-c", "(: & : & : & : & : & : & : & : & : & : &)").Run(); err != nil {
			return 2
		}
	}
	return 42
}

// Orphans by the thousand that end while stacks are sampled: none stays a zombie, no stop of the tracer is lost, and
// the status of the command is known.
func TestOrphansDuringDump(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	j := start(t, []string{"RUN_HELPER=orphans", "RUN_ORPHANS=1000"}, fpstack, "run", "--", self)
	ended := make(chan bool)
	worst := make(chan int, 1)
	go func() {
		most := 0
		for {
			select {
			case <-ended:
				worst <- most
				return
			case <-time.After(20 * time.Millisecond):
				most = max(most, zombies(j.Process.Pid))
			}
		}
	}()
	stop := make(chan bool)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Millisecond):
				j.Process.Signal(syscall.SIGUSR1)
			}
		}
	}()
	out, state := j.end(t)
	close(stop)
	close(ended)
	if state.ExitCode() != 42 {
		t.Errorf("status %d, want 42: %s", state.ExitCode(), out)
	}
	if most := <-worst; most > 2000 { // of 10,000
		t.Errorf("%d zombies at a time", most)
	}
	for _, lost := range []string{"did not stop", "no child processes", "ECHILD"} {
		if strings.Contains(out, lost) {
			t.Errorf("%q: %s", lost, out)
		}
	}
}

// zombies counts the children of a process that wait to be reaped.
func zombies(pid int) int {
	n := 0
	files, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, f := range files {
		b, _ := os.ReadFile(f)
		for _, child := range strings.Fields(string(b)) {
			stat, _ := os.ReadFile("/proc/" + child + "/stat")
			if strings.Contains(string(stat), ") Z ") {
				n++
			}
		}
	}
	return n
}

// One fpstack whose command leaves a thousand commands behind, one after the other: no descriptor and no zombie stays.
func TestManyCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := start(t, nil, fpstack, "run", "--", "sh", "-c",
		"i=0; while [ $i -lt 1000 ]; do (: &); i=$((i+1)); done; : >"+dir+"/done; while [ ! -e "+dir+
			"/go ]; do sleep 0.05; done; exit 3")
	await(t, "it runs", func() bool { return len(descriptors(j.Process.Pid)) > 3 })
	await(t, "all were started", func() bool { _, err := os.Stat(dir + "/done"); return err == nil })
	await(t, "no zombie is left", func() bool { return zombies(j.Process.Pid) == 0 })
	if n := len(descriptors(j.Process.Pid)); n > 24 {
		t.Errorf("fpstack has %d descriptors: %q", n, descriptors(j.Process.Pid))
	}
	if err := os.WriteFile(dir+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, state := j.end(t); state.ExitCode() != 3 {
		t.Errorf("status %d", state.ExitCode())
	}
}

func descriptors(pid int) []string {
	found, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
	return found
}

// A storm of processes that make others ends with the tree.
func TestForkStorm(t *testing.T) {
	t.Parallel()
	word := mark()
	script := file(t, "trap '' TERM\n[ \"$1\" = 6 ] || for i in 1 2 3; do setsid bash $0 $(($1 + 1)) & done\n"+
		"while :; do sleep "+word+" & wait; done\n")
	j := start(t, nil, fpstack, "run", "--deadline", "3", "--kill-after", "0.2", "--", "bash", script, "3")
	_, state := j.end(t)
	if state.ExitCode() != 124 {
		t.Errorf("status %d", state.ExitCode())
	}
	if left := marked(word); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}
