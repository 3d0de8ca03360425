//go:build linux

package live

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is one that a program runs on, seen from the side of the person.
type terminal struct {
	side *os.File
	cmd  *exec.Cmd
	mu   sync.Mutex
	text []byte // all that came
	end  chan struct{}
}

// onTerminal starts cmd on a terminal of 24 lines of 80 cells of its own. What the caller set of
// its files stays.
func onTerminal(t testing.TB, cmd *exec.Cmd) *terminal {
	t.Helper()
	side, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal can be had: %v", err)
	}
	number, err := ready(side)
	if err != nil {
		t.Skipf("no terminal can be had: %v", err)
	}
	other, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	cmd.Stdin = other
	if cmd.Stdout == nil {
		cmd.Stdout = other
	}
	if cmd.Stderr == nil {
		cmd.Stderr = other
	}
	cmd.Env = append(cmd.Environ(), "TERM=xterm", "LC_ALL=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0, Pdeathsig: syscall.SIGKILL}
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	term := &terminal{side: side, cmd: cmd, end: make(chan struct{})}
	go term.read()
	t.Cleanup(func() {
		if t.Failed() && cmd.ProcessState == nil {
			cmd.Process.Signal(syscall.SIGQUIT) // a Go program says where it is
			time.Sleep(time.Second)
			t.Logf("the terminal got %s", term.seen())
		}
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		side.Close()
		<-term.end
	})
	return term
}

// ready unlocks the terminal's other side, makes it 24 lines of 80 cells, and gives its number. It leaves side to the
// poller, so that it can be closed while somebody reads: File.Fd would not.
func ready(side *os.File) (number int, err error) {
	conn, err := side.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := conn.Control(func(fd uintptr) {
		number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		if err == nil {
			err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		}
		if err == nil {
			err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
		}
	})
	return number, errors.Join(err, controlErr)
}

// read takes what comes until nobody has the terminal open any more.
func (term *terminal) read() {
	defer close(term.end)
	buf := make([]byte, 4096)
	for {
		n, err := term.side.Read(buf)
		term.mu.Lock()
		term.text = append(term.text, buf[:n]...)
		term.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// seen gives all that came.
func (term *terminal) seen() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return string(term.text)
}

// awaits waits until text came.
func (term *terminal) awaits(t testing.TB, text string) {
	t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(term.seen(), text); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q did not come in %v; the terminal got %q", text, patience, term.seen())
		}
	}
}

// sampled waits until the line of progress counts samples.
func (term *terminal) sampled(t testing.TB) {
	t.Helper()
	await(t, "samples were taken", func() bool { return samplesSeen.MatchString(term.seen()) })
}

// types sends keys.
func (term *terminal) types(t testing.TB, keys string) {
	t.Helper()
	if _, err := term.side.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// ended waits for the program and gives its status, -1 if a signal killed it.
func (term *terminal) ended(t testing.TB) int {
	t.Helper()
	done := make(chan struct{})
	go func() { term.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%q did not end in %v; the terminal got %q", term.cmd.Args, patience, term.seen())
	}
	return term.cmd.ProcessState.ExitCode()
}

// lines gives what a terminal of the width shows of text: a carriage return goes to the begin of
// the line, what comes then overwrites it; what is too long goes on in the next line.
func lines(t testing.TB, text string, width int) []string {
	t.Helper()
	var shown []string
	line, at := []rune{}, 0
	for _, r := range text {
		switch r {
		case '\n':
			shown, line, at = append(shown, strings.TrimRight(string(line), " ")), nil, 0
		case '\r':
			at = 0
		default:
			if r < ' ' || r == 0x7f {
				t.Fatalf("control character %q in %q", r, text)
			}
			if at == width {
				shown, line, at = append(shown, string(line)), nil, 0
			}
			if at == len(line) {
				line = append(line, r)
			} else {
				line[at] = r
			}
			at++
		}
	}
	return append(shown, strings.TrimRight(string(line), " "))
}

// TestRecordProgress: on a terminal a line is kept up to date, within its width, and is gone at
// the end; no setting of the terminal changed.
func TestRecordProgress(t *testing.T) {
	t.Parallel()
	p := duty(t, "100", "1", "cpu", "70", "30")
	out := filepath.Join(room(t), "out.svg")
	term := onTerminal(t, exec.Command(fpstack, "record", "-p", strconv.Itoa(p.pid), "-o", out, "--color", "never"))
	before, err := unix.IoctlGetTermios(int(term.side.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	term.sampled(t)
	for _, want := range []string{"recording ", " samples", " thread", "overhead ", "lost "} {
		term.awaits(t, want)
	}
	term.types(t, "\x03")
	if status := term.ended(t); status != 0 {
		t.Errorf("status %d, want 0", status)
	}
	<-term.end
	shown := lines(t, strings.Replace(term.seen(), "^C", "", 1), 80)
	for _, line := range shown {
		if strings.Contains(line, "recording ") || strings.Contains(line, "looking up") {
			t.Errorf("the line of progress stays: %q", line)
		}
	}
	if all := strings.Join(shown, "\n"); !strings.Contains(all, "recorded ") || !strings.Contains(all, "grind") ||
		!strings.Contains(all, "wrote "+out) {
		t.Errorf("no summary in\n%s", all)
	}
	if strings.Contains(term.seen(), "\x1b[6n") || strings.Contains(term.seen(), "\x1b]") {
		t.Errorf("the terminal was queried: %q", term.seen())
	}
	after, err := unix.IoctlGetTermios(int(term.side.Fd()), unix.TCGETS)
	if err == nil && *before != *after {
		t.Errorf("settings of the terminal: %+v, want %+v", *after, *before)
	}
}

// TestRecordColour: the summary is dressed on a terminal, unless somebody minds.
func TestRecordColour(t *testing.T) {
	t.Parallel()
	p := duty(t, "100", "1", "cpu", "70", "30")
	for _, tt := range []struct {
		name, noColor string
		args          []string
		want          bool
	}{
		{"a terminal", "", nil, true},
		{"NO_COLOR", "1", nil, false},
		{"never", "", []string{"--color", "never"}, false},
		{"always wins over NO_COLOR", "1", []string{"--color", "always"}, true},
	} {
		args := append([]string{"record", "-p", strconv.Itoa(p.pid), "-d", "200ms", "-o", "/dev/null", "-f", "folded"},
			tt.args...)
		cmd := exec.Command(fpstack, args...)
		cmd.Env = append(cmd.Environ(), "NO_COLOR="+tt.noColor)
		term := onTerminal(t, cmd)
		status := term.ended(t)
		<-term.end
		if got := strings.Contains(term.seen(), sgr); status != 0 || got != tt.want ||
			!strings.Contains(term.seen(), "recorded ") {
			t.Errorf("%s: status %d, colour %v, want %v; the terminal got %q", tt.name, status, got, tt.want,
				term.seen())
		}
	}
}

// TestRecordOnAPipe: no escape, no carriage return and no progress without a terminal.
func TestRecordOnAPipe(t *testing.T) {
	t.Parallel()
	p := duty(t, "100", "1", "cpu", "70", "30")
	pid := strconv.Itoa(p.pid)
	for _, tt := range []struct {
		name string
		args []string
		want []string // in standard error; none: it is empty
	}{
		{"summary", nil, []string{"recorded ", " Hz: ", "grind  [duty]"}},
		{"verbose", []string{"-v"}, []string{"recording", "recorded "}},
		{"quiet", []string{"-q"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := show(t, append([]string{"record", "-p", pid, "-d", "1s"}, tt.args...)...)
			if o.status != 0 || !strings.Contains(o.stdout, "work_a") {
				t.Errorf("status %d, output %q\n%s", o.status, o.stdout, o.stderr)
			}
			checkClean(t, o.stderr)
			for _, want := range tt.want {
				if !strings.Contains(o.stderr, want) {
					t.Errorf("no %q in %q", want, o.stderr)
				}
			}
			if tt.want == nil && o.stderr != "" {
				t.Errorf("standard error %q, want nothing", o.stderr)
			}
		})
	}
}

// TestRecordOnATerminalWritesAFile: nobody wants a picture's bytes on a terminal, or a second
// recording in place of the first.
func TestRecordOnATerminalWritesAFile(t *testing.T) {
	t.Parallel()
	p := duty(t, "100", "1", "cpu", "70", "30")
	pid, dir := strconv.Itoa(p.pid), room(t)
	for _, tt := range []struct {
		args []string
		file string // written; "" for none
		want int
		text string
	}{
		{nil, "fpstack-" + pid + ".html", 0, "wrote fpstack-" + pid + ".html"},
		{nil, "fpstack-" + pid + "-2.html", 0, "-2.html"},
		{[]string{"-f", "pprof"}, "fpstack-" + pid + ".pb.gz", 0, "wrote "},
		{[]string{"-f", "folded"}, "", 0, "work_a"},
		{[]string{"-o", "-"}, "", 0, "work_a"},
		{[]string{"-f", "pprof", "-o", "-"}, "", 64, "standard output is a terminal"},
		{[]string{"-f", "svg", "-o", "-"}, "", 64, "standard output is a terminal"},
	} {
		cmd := exec.Command(fpstack, append([]string{"record", "-p", pid, "-d", "300ms"}, tt.args...)...)
		cmd.Dir = dir
		before := names(t, dir)
		term := onTerminal(t, cmd)
		status := term.ended(t)
		<-term.end
		if status != tt.want || !strings.Contains(term.seen(), tt.text) {
			t.Errorf("%q: status %d, terminal %q; want %d and %q", tt.args, status, term.seen(), tt.want, tt.text)
		}
		wantFiles := before
		if tt.file != "" {
			wantFiles = append(wantFiles, tt.file)
		}
		if got := names(t, dir); len(got) != len(wantFiles) ||
			tt.file != "" && !strings.Contains(strings.Join(got, " "), tt.file) {
			t.Errorf("%q: files %q, want %q", tt.args, got, wantFiles)
		}
	}
}

// names lists the files of dir, hidden ones too.
func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}
