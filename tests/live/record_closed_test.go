//go:build linux

package live

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestRecordClosedTerminal: who closes a terminal, with a shell in it or without, keeps the recording that runs there.
func TestRecordClosedTerminal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		line    []string // $0 is fpstack, $1 the process, $2 the result
		command bool
	}{
		{"without a shell", []string{"sh", "-c", `exec "$0" record -p "$1" -d 1h -o "$2"`}, false},
		{"below a shell", []string{"bash", "--norc", "-i"}, false},
		{"a command below a shell", []string{"bash", "--norc", "-i"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := duty(t, "100", "1", "cpu", "70", "30")
			out := filepath.Join(room(t), "out.folded")
			line, shell := tt.line, tt.line[0] == "bash"
			if !shell {
				line = append(line, fpstack, strconv.Itoa(p.pid), out)
			}
			term := onTerminal(t, exec.Command(installed(t, line[0]), line[1:]...))
			pid := term.cmd.Process.Pid
			if shell {
				what := "-p " + strconv.Itoa(p.pid)
				if tt.command {
					what = "-- " + program(t, "duty") + " 100 1 cpu 70 30"
				}
				term.types(t, fpstack+" record -d 1h -o "+out+" "+what+"\r")
				await(t, "fpstack runs", func() bool { return len(childrenOf(pid)) == 1 })
				pid = childrenOf(pid)[0]
			}
			if tt.command {
				await(t, "the command runs", func() bool { return len(childrenOf(pid)) == 1 })
				command := childrenOf(pid)[0]
				await(t, "the command was sampled", func() bool { // it has no line of progress
					tids := threadsOf(command)
					return len(tids) == 2 && stopsOf(tids[1]) > 3
				})
			} else {
				term.sampled(t)
			}
			term.side.Close()
			await(t, "fpstack has ended", func() bool { return stateOf(pid) == 0 || stateOf(pid) == 'Z' })
			if b, err := os.ReadFile(out); err != nil || !strings.Contains(string(b), "work_") {
				t.Errorf("result %q, %v", b, err)
			}
			checkFree(t, p.pid)
		})
	}
}

// stopsOf is how often a thread that computes alone gave its CPU away: that it does in stops.
func stopsOf(tid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	_, after, _ := strings.Cut(string(b), "\nvoluntary_ctxt_switches:\t")
	n, _ := strconv.Atoi(strings.TrimSpace(strings.SplitN(after, "\n", 2)[0]))
	return n
}

// TestRecordSignalsTogether: several signals for one event end the recording, and none of them discards it.
func TestRecordSignalsTogether(t *testing.T) {
	t.Parallel()
	for _, signals := range [][]syscall.Signal{
		{syscall.SIGHUP, syscall.SIGHUP}, {syscall.SIGINT, syscall.SIGINT, syscall.SIGINT},
		{syscall.SIGTERM, syscall.SIGHUP},
		{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT},
	} {
		p := duty(t, "100", "1", "cpu", "70", "30")
		out := filepath.Join(room(t), "out.folded")
		term := onTerminal(t, exec.Command(fpstack, "record", "-p", strconv.Itoa(p.pid), "-d", "1h", "-o", out))
		term.sampled(t)
		for _, s := range signals {
			term.cmd.Process.Signal(s)
			time.Sleep(2 * time.Millisecond)
		}
		if status := term.ended(t); status != 0 {
			t.Errorf("%v: status %d, want 0; the terminal got %q", signals, status, term.seen())
		}
		if b, err := os.ReadFile(out); err != nil || !strings.Contains(string(b), "work_") {
			t.Errorf("%v: result %q, %v", signals, b, err)
		}
	}
}

// TestRecordLostConnection: a pipe in the place of standard error that nobody reads any more, as ssh leaves it, is no
// reason to lose the recording.
func TestRecordLostConnection(t *testing.T) {
	t.Parallel()
	p := duty(t, "100", "1", "cpu", "70", "30")
	out := filepath.Join(room(t), "out.folded")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(fpstack, "record", "-p", strconv.Itoa(p.pid), "-d", "500ms", "-o", out)
	cmd.Stdout, cmd.Stderr = w, w
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if b, err := os.ReadFile(out); err != nil || !strings.Contains(string(b), "work_") {
		t.Errorf("result %q, %v", b, err)
	}
}

// TestRecordPassesSignalsOnForLife: what fpstack gets, the command gets, also when the recording is over, and more than
// once.
func TestRecordPassesSignalsOnForLife(t *testing.T) {
	const script = `for s in TERM HUP INT USR1 USR2; do trap "echo got $s" $s; done; trap 'echo bye; exit 5' WINCH
		echo R; while :; do sleep 0.05; done`
	for _, tt := range []struct {
		name string
		args []string
	}{{"while it records", []string{"-d", "1h"}}, {"when it has ended", []string{"-d", "100ms"}}} {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(room(t), "out.folded")
			cmd := exec.Command(fpstack, append(append([]string{"record", "-q", "-o", out}, tt.args...), "--", "sh",
				"-c", script)...)
			p := launch(t, cmd)
			if got := p.line(t); got != "R" {
				t.Fatalf("the command says %q", got)
			}
			command := childrenOf(p.pid)[0]
			if tt.name == "when it has ended" {
				await(t, "the recording is written", func() bool { _, err := os.Stat(out); return err == nil })
			}
			for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGHUP, syscall.SIGINT,
				syscall.SIGTERM, syscall.SIGUSR1} {
				cmd.Process.Signal(s)
				if got, want := p.line(t), "got "+strings.TrimPrefix(unix.SignalName(s), "SIG"); got != want {
					t.Errorf("the command says %q, want %q", got, want)
				}
			}
			syscall.Kill(command, syscall.SIGWINCH)
			if got := p.line(t); got != "bye" {
				t.Errorf("the command says %q, want bye", got)
			}
			cmd.Wait()
			if status := cmd.ProcessState.ExitCode(); status != 5 {
				t.Errorf("status %d, want the command's 5", status)
			}
			if _, err := os.Stat(out); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRecordKeysOnce: Ctrl-C reaches the command by the terminal, and not a second time by us.
func TestRecordKeysOnce(t *testing.T) {
	out := filepath.Join(room(t), "out.folded")
	const script = `trap "echo got INT" INT; trap "exit 6" TERM; echo R; while :; do sleep 0.05; done`
	term := onTerminal(t, exec.Command(fpstack, "record", "-q", "-o", out, "--", "sh", "-c", script))
	term.awaits(t, "R\r\n")
	term.types(t, "\x03")
	term.awaits(t, "got INT")
	await(t, "the recording is written", func() bool { _, err := os.Stat(out); return err == nil })
	time.Sleep(200 * time.Millisecond)
	term.cmd.Process.Signal(syscall.SIGTERM)
	if status := term.ended(t); status != 6 {
		t.Errorf("status %d, want 6; the terminal got %q", status, term.seen())
	}
	<-term.end
	if n := strings.Count(term.seen(), "got INT"); n != 1 {
		t.Errorf("the command got SIGINT %d times; the terminal got %q", n, term.seen())
	}
}

// TestRecordCommandThatMayNotBeFollowed: a command that is setuid from the begin, or becomes it, runs; that it is not
// recorded is reported while it runs, and again behind what it writes.
func TestRecordCommandThatMayNotBeFollowed(t *testing.T) {
	set := setuidCopy(t)
	for _, tt := range []struct {
		name    string
		command []string
		status  int
		want    string
	}{
		{"at once", []string{set}, 125, "runs and is not recorded"},
		{"by exec", []string{"sh", "-c", `i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; exec "$0"`, set}, 0,
			"goes on and is recorded no longer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const tries = 5
			for range tries {
				if recordClosed(t, filepath.Base(set), tt.command, tt.status, tt.want) {
					return
				}
			}
			t.Errorf("in %d runs it was executed in a stop", tries)
		})
	}
}

// recordClosed records a command that ends with the status and becomes the program set, which may not be recorded, and
// compares what is reported. It is false if the program got no privileges, as its exec met a stop: see
// docs/dev/manners.md. Then it may be recorded.
func recordClosed(t *testing.T, set string, command []string, status int, want string) bool {
	t.Helper()
	out := filepath.Join(openDir(t), "out.folded")
	args := asNobody(t, append([]string{fpstack, "record", "-q", "-F", "499", "-o", out, "--"}, command...)...)
	cmd := exec.Command(args[0], args[1:]...)
	errors := filepath.Join(room(t), "stderr")
	f, err := os.Create(errors)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, f
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	reported := func() int { return strings.Count(readFile(t, errors), want) }
	open := false
	await(t, "it is reported while the command runs", func() bool {
		open = open || unprivileged(cmd.Process.Pid, set)
		return open || reported() == 1
	})
	if text := readFile(t, errors); !open && !strings.Contains(text, "permission denied") {
		t.Errorf("no reason given: %q", text)
	}
	io.WriteString(in, "\n")
	in.Close()
	cmd.Wait()
	if open {
		if got := stdout.String(); got != "euid 65534\n" {
			t.Errorf("output %q of a program without privileges", got)
		}
		return false
	}
	if got := cmd.ProcessState.ExitCode(); got != status || reported() != 2 || stdout.String() != "euid 0\n" {
		t.Errorf("status %d, output %q, reported %d times; want %d, euid 0 and 2: %s", got, stdout.String(),
			reported(), status, readFile(t, errors))
	}
	checkClean(t, readFile(t, errors))
	return true
}

// unprivileged reports whether a child of process pid sleeps in the program name, of root, without being root.
func unprivileged(pid int, name string) bool {
	var children []string // of each thread its own
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		children = append(children, strings.Fields(string(b))...)
	}
	for _, child := range children {
		status, _ := os.ReadFile("/proc/" + child + "/status")
		if text := string(status); strings.HasPrefix(text, "Name:\t"+name+"\n") &&
			strings.Contains(text, "\nState:\tS") && !strings.Contains(text, "\nUid:\t65534\t0\t") {
			return true
		}
	}
	return false
}
