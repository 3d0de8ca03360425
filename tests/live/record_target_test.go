//go:build linux

package live

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fpstack/fpstack/flame"
)

// TestRecordWhatIsNotThere: the same refusals as for a dump, and no file.
func TestRecordWhatIsNotThere(t *testing.T) {
	for _, tt := range []struct {
		name  string
		start func(t *testing.T) string
		want  string
	}{
		{"no such process", func(t *testing.T) string { return unusedPID(t) }, "no such process"},
		{"zombie", startZombie, "has ended and was not reaped"},
		{"kernel thread", kernelThread, "is a kernel thread"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := room(t)
			o := show(t, "record", "-p", tt.start(t), "-d", "10s", "-o", filepath.Join(dir, "out.svg"))
			if o.status != 2 || !strings.Contains(o.stderr, tt.want) || o.stdout != "" {
				t.Errorf("status %d, output %q, standard error %q; want 2, nothing and %q", o.status, o.stdout,
					o.stderr, tt.want)
			}
			if got := names(t, dir); len(got) > 0 {
				t.Errorf("files %q", got)
			}
		})
	}
}

// TestRecordSeveral: one that is not there does not keep the others back.
func TestRecordSeveral(t *testing.T) {
	t.Parallel()
	a, b := duty(t, "100", "1", "cpu", "100"), duty(t, "100", "1", "cpu", "0", "100")
	pids := strconv.Itoa(a.pid) + "," + unusedPID(t) + "," + strconv.Itoa(b.pid)
	o := show(t, "record", "-p", pids, "-d", "1s")
	if o.status != 1 || !strings.Contains(o.stderr, "no such process") {
		t.Errorf("status %d, %q; want 1 and the reason", o.status, o.stderr)
	}
	if self := foldedSelf(t, o.stdout); self["work_a"] == 0 || self["work_b_"] == 0 {
		t.Errorf("self times %v, want both works", self)
	}
}

// TestRecordEndsWithTarget: a target that ends during the recording ends it; what was seen is
// kept.
func TestRecordEndsWithTarget(t *testing.T) {
	t.Parallel()
	out := filepath.Join(room(t), "out.folded")
	p := duty(t, "100", "1", "cpu", "70", "30")
	term := onTerminal(t, exec.Command(fpstack, "record", "-p", strconv.Itoa(p.pid), "-d", "1h", "-o", out))
	term.sampled(t)
	p.cmd.Process.Kill()
	p.cmd.Wait()
	if status := term.ended(t); status != 0 {
		t.Errorf("status %d, want 0; the terminal got %q", status, term.seen())
	}
	if b, err := os.ReadFile(out); err != nil || !strings.Contains(string(b), "work_") {
		t.Errorf("result %q, %v", b, err)
	}
}

// TestRecordShortCommands: a command may end before the first sample.
func TestRecordShortCommands(t *testing.T) {
	for i := range 30 {
		out := filepath.Join(room(t), "out.pb.gz")
		o := show(t, "record", "-o", out, "--", "sh", "-c", "exit "+strconv.Itoa(i%3))
		if _, err := os.Stat(out); o.status != i%3 || err != nil || o.stdout != "" {
			t.Errorf("status %d, %v, %q; want %d and a file", o.status, err, o.stderr, i%3)
		}
	}
}

// TestRecordThread: only that one.
func TestRecordThread(t *testing.T) {
	p := runTarget(t, "threads", "4", "10")
	tids := threadsOf(p.pid)
	pid, tid := strconv.Itoa(p.pid), strconv.Itoa(tids[2])
	o := show(t, "record", "-q", "-p", pid, "-t", tid, "-d", "500ms", "-f", "json")
	got, err := flame.ReadJSON(strings.NewReader(o.stdout))
	if o.status != 0 || err != nil || len(got.Samples) == 0 {
		t.Fatalf("status %d, %v\n%s", o.status, err, o.stderr)
	}
	for _, s := range got.Samples {
		if by := got.Tasks[s.Task].TID; by != tids[2] {
			t.Errorf("a sample of thread %d, want %s alone", by, tid)
		}
	}
}

// TestRecordNastyNames: names of processes and threads are data in every format and in what is
// reported.
func TestRecordNastyNames(t *testing.T) {
	t.Parallel()
	dir := room(t)
	path := filepath.Join(dir, nasty)
	copyFile(t, program(t, "threads-static"), path)
	p := launch(t, &exec.Cmd{Path: path, Args: []string{nasty, "2", "5"}}).ready(t)
	asleep(t, p.pid)
	pid := strconv.Itoa(p.pid)
	o := show(t, "record", "-p", pid, "-d", "500ms", "--threads", "--names=none")
	if o.status != 0 {
		t.Fatalf("status %d, %q", o.status, o.stderr)
	}
	checkClean(t, o.stderr)
	checkControls(t, "folded", o.stdout)
	foldedSelf(t, o.stdout)
	for _, file := range []string{"out.svg", "out.html", "out.json", "out.speedscope.json", "out.pb.gz"} {
		out := filepath.Join(dir, file)
		args := []string{"record", "-p", pid, "-d", "300ms", "-o", out}
		if strings.HasSuffix(file, "ml") || strings.HasSuffix(file, "svg") { // the others have the threads anyway
			args = append(args, "--threads")
		}
		if o := show(t, args...); o.status != 0 {
			t.Errorf("%s: status %d, %q", file, o.status, o.stderr)
			continue
		}
		switch filepath.Ext(file) {
		case ".svg":
			svgFile(t, out)
		case ".html":
			htmlFile(t, out)
		case ".gz":
			pprofTop(t, out, "wall")
		}
		if file != "out.pb.gz" {
			checkControls(t, file, readFile(t, out))
		}
	}
}

// checkControls fails if text holds a control character of ASCII but line ends and tabs, or is no UTF-8.
func checkControls(t *testing.T, name, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s is no UTF-8", name)
	}
	if at := strings.IndexFunc(text, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' }); at >= 0 {
		t.Errorf("%s holds a control character: %q", name, text[max(0, at-20):min(len(text), at+20)])
	}
}

// TestRecordNothing has a recording without samples say why: not that a process has ended which lives.
func TestRecordNothing(t *testing.T) {
	pid, running := strconv.Itoa(runTarget(t, "parks", "2").pid), strconv.Itoa(spinning(t).pid)
	for _, tt := range []struct {
		pid  string
		args []string
		want string
	}{
		{pid, []string{"--gil"}, "no Python was found: --gil records nothing else"},
		{running, []string{"--gil"}, "no Python was found: --gil records nothing else"},
		{running, []string{"--gil", "--mode", "cpu"}, "no Python was found: --gil records nothing else"},
	} {
		out, pid := filepath.Join(t.TempDir(), "out.folded"), tt.pid
		o := execute(t, bound, fpstack, append([]string{"record", "-p", pid, "-d", "300ms", "-o", out}, tt.args...)...)
		if o.status != 2 || !strings.Contains(o.stderr, "record process "+pid+": "+tt.want) {
			t.Errorf("%v: status %d, want 2 and %q\n%s", tt.args, o.status, tt.want, o.stderr)
		}
	}
	o := execute(t, bound, fpstack, "record", "-p", pid, "-d", "300ms", "-o", filepath.Join(t.TempDir(), "out.folded"),
		"-t", pid+","+strconv.Itoa(os.Getpid()))
	if o.status != 1 || !strings.Contains(o.stderr, "thread "+strconv.Itoa(os.Getpid())+": no process given has this") {
		t.Errorf("status %d\n%s", o.status, o.stderr)
	}
	o = execute(t, bound, fpstack, "top", pid, "--gil", "--once", "1")
	if !strings.Contains(o.stdout, "no Python was found") {
		t.Errorf("top --gil: %s%s", o.stdout, o.stderr)
	}
}

// TestForeignThread: every command says the same of a thread that no process has, before it does anything, and goes on
// with the processes that have one.
func TestForeignThread(t *testing.T) {
	one, other := strconv.Itoa(runTarget(t, "parks", "2").pid), strconv.Itoa(runTarget(t, "parks", "2").pid)
	foreign := strconv.Itoa(os.Getpid())
	want := "fpstack: thread " + foreign + ": no process given has this thread\n  ps -L -p " + one +
		" lists those that there are.\n"
	for _, args := range [][]string{{one}, {one, "--no-stop"}, {"record", one, "-d", "20"},
		{"top", one, "--once", "20"}} {
		o := execute(t, 10*time.Second, fpstack, append(args, "-t", foreign)...)
		if o.status != 2 || o.stderr != want || o.stdout != "" {
			t.Errorf("%v -t %s: status %d\n%s%s; want 2 and\n%s", args, foreign, o.status, o.stdout, o.stderr, want)
		}
	}
	o := execute(t, bound, fpstack, one, other, "-t", other)
	if o.status != 0 || strings.Contains(o.stdout, "process "+one) || !strings.Contains(o.stdout, "process "+other) {
		t.Errorf("a thread of the second process: status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
}

// TestStarterIsNotMeant: who starts fpstack has the same words among its arguments, and is no script of that name.
func TestStarterIsNotMeant(t *testing.T) {
	o := execute(t, bound, "sh", "-c", fpstack+" no-such-name; exit $?", "sh", "no-such-name")
	if o.status != 2 || strings.Contains(o.stderr, "give its id") ||
		!strings.Contains(o.stderr, "no process is named") {
		t.Errorf("status %d\n%s", o.status, o.stderr)
	}
}

// TestRecordEndsAtOnce has recordings end before a sample is due, by their duration and by a signal when all is open:
// each thread is seen once.
func TestRecordEndsAtOnce(t *testing.T) {
	p := spinning(t)
	for _, duration := range []string{"1ms", "30"} {
		out := filepath.Join(t.TempDir(), "out.folded")
		cmd := exec.Command(fpstack, "record", "-v", "-p", strconv.Itoa(p.pid), "-F", "0.1", "-d", duration, "-o", out)
		said, err := cmd.StderrPipe()
		if err == nil {
			err = start(cmd)
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(said)
		if line, err := lines.ReadString('\n'); !strings.Contains(line, "recording to ") {
			t.Errorf("-d %s: it says %q (%v)", duration, line, err)
		}
		if duration == "30" {
			cmd.Process.Signal(syscall.SIGINT)
		}
		rest, _ := io.ReadAll(lines)
		b, _ := os.ReadFile(out)
		if err := cmd.Wait(); err != nil || !strings.Contains(string(b), ";main") {
			t.Errorf("-d %s: %v, recorded %q\n%s", duration, err, b, rest)
		}
	}
}
