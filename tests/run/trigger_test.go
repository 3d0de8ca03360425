//go:build linux

package run

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// run runs a script under fpstack run with flags until it ends.
func run(t *testing.T, flags, script string) (string, *os.ProcessState) {
	t.Helper()
	args := append([]string{"run"}, strings.Fields(flags)...)
	return start(t, nil, fpstack, append(args, "--", "bash", "-c", script)...).end(t)
}

// What is idle is ended, what works is not: a script each.
func TestIdle(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script string
		idle         bool
	}{
		{"sleeps", "sleep 1000", true},
		{"waits for a child that reads a pipe", "sleep 1000 | cat", true},
		{"heartbeat", "while :; do sleep 0.5; done", true}, // the same command again and again
		{"waits for a file, with commands that say something to nobody",
			"until ls /none/there >/dev/null 2>&1; do sleep 0.4; done", true},
		{"a child that worked long ago ends",
			"(for ((i = 0; i < 300000; i++)); do :; done; sleep 4) & wait; sleep 1000", true},
		{"computes", "for ((i = 0; i < 40; i++)); do for ((j = 0; j < 20000; j++)); do :; done; sleep 0.1; done",
			false},
		{"writes", "for i in 1 2 3 4 5 6; do sleep 1; echo $i; done", false},
		{"starts commands", "for i in 1 2 3; do sleep 1.$i; done; sleep 0.9; sleep 0.8", false},
		{"reads and writes", "for i in 1 2 3 4 5 6; do sleep 1; head -c 2000000 /dev/zero >/dev/null; done", false},
		{"children of who ignores SIGCHLD", "trap '' CHLD; for i in 1 2 3 4; do sleep 1.2$i; done", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, state := run(t, "--idle 3", tt.script)
			if strings.Contains(tt.script, "do sleep 0.5; done") && !strings.Contains(out,
				"repeats the same command: sleep 0.5") {
				t.Errorf("the verdict does not say what it repeats: %s", out)
			}
			if idle := state.ExitCode() == 124; idle != tt.idle {
				t.Errorf("status %d, want idle %v: %s", state.ExitCode(), tt.idle, out)
			}
		})
	}
}

// A download that takes little CPU is not idle: recv(2) shows neither as I/O nor as output.
func TestIdleDownload(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	enough := make(chan bool)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		for { // 50 KB a second
			if _, err := c.Write(make([]byte, 5000)); err != nil {
				return
			}
			select {
			case <-enough:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	script := fmt.Sprintf(`import socket
s = socket.create_connection(("127.0.0.1", %d))
while s.recv(100000): pass`, l.Addr().(*net.TCPAddr).Port)
	j := start(t, nil, fpstack, "run", "--idle", "3", "--", "python3", "-c", script)
	await(t, "it is quiet and receives", func() bool { return strings.Contains(j.text(t), "went over the network") })
	close(enough)
	if out, state := j.end(t); state.ExitCode() != 0 {
		t.Errorf("status %d: %s", state.ExitCode(), out)
	}
}

// Silence is seen for each kind of output, and so is what is no silence.
func TestIdleOutput(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"file", "fifo", "pipe", "socket", "terminal"} {
		for _, tt := range []struct {
			script string
			status int
		}{
			{"echo a; sleep 1000", 124},
			{"while :; do sleep 0.4; done", 124}, // who begins and ends puts out nothing
			// Longer than the steps in which the time of a terminal moves.
			{"for i in {1..12}; do echo $i; sleep 1; done", 0},
		} {
			t.Run(fmt.Sprint(kind, " ", tt.script), func(t *testing.T) {
				t.Parallel()
				cmd := exec.Command(fpstack, "run", "--idle-output", "3", "--", "bash", "-c", tt.script)
				out, reader := output(t, kind)
				cmd.Stdout, cmd.Stderr = out, out
				if err := begin(cmd); err != nil {
					t.Fatal(err)
				}
				out.Close()
				go drain(reader)
				cmd.Wait()
				if got := cmd.ProcessState.ExitCode(); got != tt.status {
					t.Errorf("%s: status %d, want %d", tt.script, got, tt.status)
				}
				if reader != nil {
					reader.Close()
				}
			})
		}
	}
}

// output makes an output of a kind, and what it is read by, nil for a file.
func output(t *testing.T, kind string) (out, reader *os.File) {
	t.Helper()
	var err error
	switch kind {
	case "file":
		out, err = os.Create(filepath.Join(t.TempDir(), "out"))
	case "fifo":
		path := filepath.Join(t.TempDir(), "fifo")
		if err = syscall.Mkfifo(path, 0o600); err == nil {
			if reader, err = os.OpenFile(path, os.O_RDWR, 0); err == nil {
				out, err = os.OpenFile(path, os.O_WRONLY, 0)
			}
		}
	case "pipe":
		reader, out, err = os.Pipe()
	case "terminal":
		if reader, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
			break
		}
		var n int
		if err = unix.IoctlSetPointerInt(int(reader.Fd()), unix.TIOCSPTLCK, 0); err != nil {
			break
		}
		if n, err = unix.IoctlGetInt(int(reader.Fd()), unix.TIOCGPTN); err == nil {
			out, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0)
		}
	case "socket":
		var fds [2]int
		fds, err = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		out, reader = os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "socket")
	}
	if err != nil {
		t.Fatal(err)
	}
	return out, reader
}

func drain(r *os.File) {
	if r == nil {
		return
	}
	buf := make([]byte, 4096)
	for {
		if _, err := r.Read(buf); err != nil {
			return
		}
	}
}

// A warning is given once, and the command goes on.
func TestWarn(t *testing.T) {
	t.Parallel()
	out, state := run(t, "--warn 1", "sleep 10; exit 7")
	if state.ExitCode() != 7 || strings.Count(out, "clock_nanosleep") == 0 {
		t.Errorf("status %d: %s", state.ExitCode(), out)
	}
}

// The time that all was stopped does not count.
func TestPause(t *testing.T) {
	t.Parallel()
	word := mark()
	j := start(t, nil, fpstack, "run", "--deadline", "6", "--idle", "5", "--", "sh", "-c", "sleep "+word+"; exit 3")
	await(t, "it sleeps", func() bool { return len(marked(word)) == 1 })
	j.Process.Signal(syscall.SIGSTOP) // which fpstack cannot catch
	time.Sleep(7 * time.Second)
	j.Process.Signal(syscall.SIGCONT)
	time.Sleep(2 * time.Second)
	if out := j.text(t); out != "" {
		t.Errorf("it says %s", out)
	}
	for _, pid := range marked(word) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	if _, state := j.end(t); state.ExitCode() != 3 {
		t.Errorf("status %d", state.ExitCode())
	}
}

// A Go program gets SIGQUIT before the end, and writes its own dump to its standard error; a program that has no
// handler for SIGQUIT does not get it.
func TestSignalRuntimes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	const code = "package main\nimport \"time\"\nfunc main() { println(\"ready\"); time.Sleep(time.Hour) }\n"
	if err := os.WriteFile(source, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", dir+"/hung", source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, state := run(t, "--deadline 2 --signal-runtimes --report "+dir+"/report",
		"sleep 1000 & "+dir+"/hung 2>"+dir+"/log; echo after")
	if state.ExitCode() != 124 {
		t.Errorf("status %d", state.ExitCode())
	}
	found, _ := filepath.Glob(dir + "/report/processes/*-hung.runtime.txt")
	if len(found) != 1 {
		t.Fatalf("own dumps: %q: %s", found, out)
	}
	if b, err := os.ReadFile(found[0]); err != nil || !strings.Contains(string(b), "time.Sleep") {
		t.Errorf("the dump is %s, %v", b, err)
	}
	if strings.Contains(out, "dump of sleep (") {
		t.Errorf("sleep got SIGQUIT: %s", out)
	}
}

// A deadline that passes while a warning is captured is kept.
func TestDeadlineDuringCapture(t *testing.T) {
	t.Parallel()
	if out, state := run(t, "--warn 0.5 --deadline 2", "sleep 1000"); state.ExitCode() != 124 {
		t.Errorf("status %d: %s", state.ExitCode(), out)
	}
}
