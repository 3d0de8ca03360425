//go:build linux

package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// full is a pipe that takes nothing more, and that nobody reads.
func full(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	fd := int(w.Fd()) // which makes it one that blocks
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := unix.Write(fd, make([]byte, 1)); err != nil {
			break
		}
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	return w
}

// gone is a pipe whose reader has closed it.
func gone(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() { w.Close() })
	return w
}

// What limits and signals do, and the end of a command, is the same where nothing can be written: standard error or
// the report, or both, are full or gone. Before, fpstack waited for the first write for ever.
func TestNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	for _, log := range []struct {
		name string
		make func(*testing.T) *os.File
	}{{"full", full}, {"gone", gone}} {
		for _, tt := range []struct {
			name   string
			flags  string
			script string
			signal syscall.Signal
			status int
			death  syscall.Signal
		}{
			{"a limit", "--deadline 1 --kill-after 1", "sleep WORD & trap '' TERM; while :; do sleep WORD; done", 0,
				124, 0},
			{"a limit, with a report", "--deadline 1 --kill-after 1 --report FIFO/report --junit FIFO/fifo",
				"sleep WORD; :", 0,
				124, 0},
			{"a signal", "--grace 2 --junit FIFO/fifo", "sleep WORD", syscall.SIGTERM, -1, syscall.SIGTERM},
			{"the end", "--junit FIFO/fifo --leftovers kill", "setsid sleep WORD & sleep 1; exit 3", 0, 3, 0},
		} {
			t.Run(log.name+": "+tt.name, func(t *testing.T) {
				t.Parallel()
				word, dir := mark(), t.TempDir()
				if err := syscall.Mkfifo(dir+"/fifo", 0o600); err != nil { // who opens it waits for a reader
					t.Fatal(err)
				}
				args := append([]string{"run"}, strings.Fields(strings.ReplaceAll(tt.flags, "FIFO", dir))...)
				cmd := exec.Command(fpstack, append(args, "--", "bash", "-c", strings.ReplaceAll(tt.script, "WORD",
					word))...)
				cmd.Stderr = log.make(t)
				if err := begin(cmd); err != nil {
					t.Fatal(err)
				}
				if tt.signal != 0 {
					await(t, "it runs", func() bool { return len(marked(word)) > 0 })
					cmd.Process.Signal(tt.signal)
				}
				ended := make(chan bool)
				go func() { cmd.Wait(); close(ended) }()
				select {
				case <-ended:
				case <-time.After(50 * time.Second):
					cmd.Process.Kill()
					<-ended
					t.Error("it did not end")
				}
				w := cmd.ProcessState.Sys().(syscall.WaitStatus)
				if w.ExitStatus() != tt.status || tt.death != 0 && w.Signal() != tt.death {
					t.Errorf("it ended as %v", cmd.ProcessState)
				}
				if left := marked(word); len(left) > 0 {
					t.Errorf("processes %v are left", left)
					for _, pid := range left {
						syscall.Kill(pid, syscall.SIGKILL)
					}
				}
			})
		}
	}
}

// The log gets what fits, and what comes later when it is read: the verdict is complete where somebody reads slowly.
func TestSlowLog(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(fpstack, "run", "--deadline", "0.5", "--ci", "gitlab", "--", "sleep", mark())
	cmd.Stderr = w
	if err := begin(cmd); err != nil {
		t.Fatal(err)
	}
	w.Close()
	var text strings.Builder
	buf := make([]byte, 500)
	for {
		n, err := r.Read(buf)
		text.Write(buf[:n])
		if err != nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	cmd.Wait()
	for _, want := range []string{"--deadline 500ms is reached", "clock_nanosleep", "section_end",
		"sending SIGTERM to sleep ("} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the log lacks %q: %s", want, text.String())
		}
	}
	if got := cmd.ProcessState.ExitCode(); got != 124 {
		t.Errorf("status %d", got)
	}
}

// A full disk, and a limit on the size of files, cost files of the report alone.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for name, around := range map[string][]string{
		"a limit on files": {"bash", "-c", `ulimit -f 0; exec "$@"`, "-"},
		"a full disk": {"unshare", "--mount", "bash", "-c", `mount -t tmpfs -o size=4k,nr_inodes=100 none "$DIR" &&
dd if=/dev/zero of="$DIR/filler" bs=4k count=1 2>/dev/null; exec "$@"`, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			args := append(around[1:], fpstack, "run", "--deadline", "0.5", "--report", dir+"/report", "--", "sleep",
				mark())
			cmd := exec.Command(around[0], args...)
			cmd.Env = append(without(os.Environ(), "CI"), "DIR="+dir)
			out, err := cmd.CombinedOutput()
			if strings.Contains(string(out), "unshare failed") || strings.Contains(string(out), "mount:") {
				t.Skipf("no file system can be mounted: %s", out)
			}
			text := string(out)
			if err == nil || cmd.ProcessState.ExitCode() != 124 || !strings.Contains(text, "clock_nanosleep") ||
				!strings.Contains(text, "write report") {
				t.Errorf("%v: %s", err, text)
			}
		})
	}
}

// Names that fpstack chooses in a folder where somebody else writes too are made new: nothing is written through a
// link that was planted there.
func TestPlantedNames(t *testing.T) {
	t.Parallel()
	dir, victim := t.TempDir(), t.TempDir()
	theirs := filepath.Join(victim, "theirs")
	for _, err := range []error{os.WriteFile(theirs, []byte("theirs"), 0o644), os.Mkdir(dir+"/processes", 0o777),
		os.Symlink(victim, dir+"/2"), os.Mkdir(dir+"/3", 0o777), os.Symlink(theirs, dir+"/3/hang.txt"),
		os.Symlink(filepath.Join(victim, "made"), dir+"/4")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	out, _ := exec.Command(fpstack, "run", "--deadline", "0.3", "--report", dir, "--", "sleep", mark()).CombinedOutput()
	if !strings.Contains(string(out), "report: "+dir+"/5\n") {
		t.Errorf("want the report in 5: %s", out)
	}
	entries, err := os.ReadDir(victim)
	if text, _ := os.ReadFile(theirs); err != nil || len(entries) != 1 || string(text) != "theirs" {
		t.Errorf("behind the links are %v, %q", entries, text)
	}
}
