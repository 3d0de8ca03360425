//go:build linux

package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/top"
)

// init makes the test binary a program that draws made-up profiles, where the environment
// asks for it: one that panics, or one whose cost is the table's alone.
func init() {
	what := os.Getenv("LIVE_TOP")
	if what == "" {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	src := newMadeUp(what)
	before := yardstick(src.made[0])
	used := ownCPU()
	err := top.Run(ctx, src, top.Options{Title: "made up", Every: 250 * time.Millisecond})
	drawing := (ownCPU() - used).Seconds() / float64(max(1, src.takes))
	fmt.Printf("err=%v cpu=%.5f yards=%.2f\n", err, drawing, drawing/min(before, yardstick(src.made[0])))
	os.Exit(0)
}

// yardstick is the CPU time in seconds that it takes here and now to sum up the functions of a profile by
// name, sort them by their sums and format each: what any table of them has to do.
func yardstick(p *profile.Profile) float64 {
	const times = 50
	used := ownCPU()
	for range times {
		sums := map[string]int64{}
		for i, s := range p.Samples {
			for n := s.Stack; n != 0; n = p.Tree.Parent(n) {
				sums[p.Frames[p.Tree.Frame(n)].Func] += p.Value(i)[1]
			}
		}
		lines := make([]string, 0, len(sums))
		for name, sum := range sums {
			lines = append(lines, fmt.Sprintf("%12d %s", sum, name))
		}
		slices.Sort(lines)
	}
	return (ownCPU() - used).Seconds() / times
}

// ownCPU is the CPU time of this process.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// madeUp is a source of profiles of 2,000 functions, made in advance.
type madeUp struct {
	what  string
	takes int
	made  []*profile.Profile
}

func newMadeUp(what string) *madeUp {
	m := &madeUp{what: what}
	for n := range 8 {
		b := profile.NewBuilder(profile.SamplesCount, profile.WallTime)
		b.Profile().Default = 1
		task, root := b.Task(profile.Task{PID: 1, TID: 1, Thread: "main"}),
			b.Frame(profile.Frame{Func: "main", Module: -1})
		for i := range 2000 {
			f := b.Frame(profile.Frame{Func: fmt.Sprintf("function%d", i), Module: -1, File: "a.c", Line: i})
			b.Add(b.Child(b.Child(0, root), f), task, 1, int64(1+(i*(n+1))%97)*1e4)
		}
		m.made = append(m.made, b.Profile())
	}
	return m
}

func (m *madeUp) Take() (*profile.Profile, error) {
	if m.takes++; m.takes > 3 && m.what == "panics" {
		panic("as requested")
	}
	return m.made[m.takes%len(m.made)], nil
}

func (m *madeUp) Stats() top.Stats { return top.Stats{Wanted: 99, Reached: 99, Threads: 1} }

// topTerminal is a shell in tmux, with a server of its own.
type topTerminal struct {
	t      testing.TB
	socket string
	dir    string
}

// newTopTerminal starts shell in a terminal of 80x24.
func newTopTerminal(t testing.TB, shell string, env ...string) *topTerminal {
	t.Helper()
	tmux := installed(t, "tmux")
	dir := room(t)
	term := &topTerminal{t, filepath.Join(dir, "tmux"), dir}
	cmd := exec.Command(tmux, "-S", term.socket, "-f", "/dev/null", "new-session", "-d", "-s", "top", "-x", "80", "-y",
		"24", "exec "+shell)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "TMUX") || strings.HasPrefix(v, "NO_COLOR") || strings.HasPrefix(v, "LC_")
	}), append([]string{"LANG=C.UTF-8", "SHELL=/bin/sh"}, env...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command(tmux, "-S", term.socket, "kill-server").Run() })
	term.tmux("pipe-pane", "cat >> "+term.raw())
	await(t, "the shell waits", func() bool { return strings.TrimSpace(term.screen()) != "" })
	return term
}

// raw is the file that holds every byte sent to the terminal.
func (term *topTerminal) raw() string { return filepath.Join(term.dir, "raw") }

// kept waits until end was sent to the terminal, and gives all that was. Another process keeps it, which
// may be behind.
func (term *topTerminal) kept(end string) (raw []byte) {
	term.t.Helper()
	await(term.t, fmt.Sprintf("%q is kept", end), func() bool {
		raw, _ = os.ReadFile(term.raw())
		return bytes.Contains(raw, []byte(end))
	})
	return raw
}

// screenGivenBack is what a program sends that leaves the alternate screen.
const screenGivenBack = "\x1b[?1049l"

func (term *topTerminal) tmux(args ...string) string {
	term.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", term.socket}, args...)...).CombinedOutput()
	if err != nil {
		term.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// keys presses keys by tmux's names.
func (term *topTerminal) keys(keys ...string) {
	term.t.Helper()
	term.tmux(append([]string{"send-keys", "-t", "top"}, keys...)...)
}

// run types a command line.
func (term *topTerminal) run(command string) {
	term.t.Helper()
	term.tmux("send-keys", "-t", "top", "-l", command)
	term.keys("Enter")
}

func (term *topTerminal) screen() string {
	term.t.Helper()
	return term.tmux("capture-pane", "-p", "-t", "top")
}

// await waits until text is on the screen.
func (term *topTerminal) await(text string) {
	term.t.Helper()
	screen := ""
	defer func() {
		if !strings.Contains(screen, text) {
			term.t.Logf("the screen:\n%s", screen)
		}
	}()
	await(term.t, fmt.Sprintf("%q is on the screen", text), func() bool {
		screen = term.screen()
		return strings.Contains(screen, text)
	})
}

// value waits for "NAME=N" that the shell printed, and gives N.
func (term *topTerminal) value(name string) string {
	term.t.Helper()
	re := regexp.MustCompile(name + `=([0-9]+)`) // the command line that was typed has no number there
	var found []string
	screen := ""
	defer func() {
		if found == nil {
			term.t.Logf("the screen:\n%s", screen)
		}
	}()
	await(term.t, name+" is printed", func() bool {
		screen = term.screen()
		found = re.FindStringSubmatch(screen)
		return found != nil
	})
	return found[1]
}

// state is what the terminal is left in: "alternate screen, cursor shown".
func (term *topTerminal) state() string {
	return strings.TrimSpace(term.tmux("display-message", "-p", "-t", "top", "#{alternate_on},#{cursor_flag}"))
}

// modes is the line discipline's state. stty asks it for itself, so that the shell's own
// editing does not show.
func (term *topTerminal) modes(name string) string {
	term.t.Helper()
	path := filepath.Join(term.dir, name)
	term.run("stty -g > " + path + ".new; mv " + path + ".new " + path)
	var text []byte
	await(term.t, "stty has written", func() (ok bool) {
		text, _ = os.ReadFile(path)
		return len(text) > 0
	})
	return string(text)
}

// busy is a target with a thread that runs and one that waits.
const busyProgram = `import threading, time
threading.Thread(target=lambda: time.sleep(1000), daemon=True).start()
def busy():
    while True: sum(range(1000))
print('R', flush=True)
busy()`

func busyTarget(t testing.TB) *target {
	t.Helper()
	return waitsAndRuns(t, launch(t, exec.Command(installed(t, "/usr/bin/python3"), "-c", busyProgram)).ready(t))
}

// waitsAndRuns waits until one thread of a target with two sleeps, in no lock of Python's.
func waitsAndRuns(t testing.TB, p *target) *target {
	t.Helper()
	await(t, "one of two threads sleeps", func() bool {
		tids := threadsOf(p.pid)
		if len(tids) != 2 {
			return false
		}
		call, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", p.pid, tids[1]))
		text, _, _ := strings.Cut(string(call), " ")
		number, err := strconv.Atoi(text) // -1 in a page fault; a word while it runs
		return err == nil && number >= 0 && number != syscall.SYS_FUTEX
	})
	return p
}

// topPID waits for the top that rounds at process pid.
func topPID(t testing.TB, term *topTerminal) int {
	t.Helper()
	pid := 0
	await(t, "top runs", func() bool {
		out, _ := exec.Command("tmux", "-S", term.socket, "display-message", "-p", "-t", "top", "#{pane_pid}").Output()
		shell, _ := strconv.Atoi(strings.TrimSpace(string(out)))
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", shell, shell))
		for _, word := range strings.Fields(string(children)) {
			comm, _ := os.ReadFile("/proc/" + word + "/comm")
			if strings.TrimSpace(string(comm)) == "fpstack" {
				pid, _ = strconv.Atoi(word)
			}
		}
		return pid != 0
	})
	return pid
}

// TestTopGivesTheTerminalBack, however it ends.
func TestTopGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		command string // %d is the target
		end     func(term *topTerminal, target *target)
		status  string
	}{
		{"q", fpstack + " top -p %d", func(term *topTerminal, _ *target) { term.keys("q") }, "0"},
		{"Ctrl-C", fpstack + " top -p %d", func(term *topTerminal, _ *target) { term.keys("C-c") }, "0"},
		{"many keys and q", fpstack + " top -p %d", func(term *topTerminal, _ *target) {
			term.tmux("send-keys", "-t", "top", "-l", strings.Repeat("stli", 2000)+"q")
		}, "0"},
		{"SIGTERM", fpstack + " top -p %d",
			func(term *topTerminal, _ *target) { syscall.Kill(topPID(t, term), syscall.SIGTERM) }, "0"},
		{"SIGHUP", fpstack + " top -p %d",
			func(term *topTerminal, _ *target) { syscall.Kill(topPID(t, term), syscall.SIGHUP) }, "0"},
		{"SIGINT", fpstack + " top -p %d",
			func(term *topTerminal, _ *target) { syscall.Kill(topPID(t, term), syscall.SIGINT) }, "0"},
		{"the target has ended", fpstack + " top -p %d", func(term *topTerminal, target *target) {
			target.cmd.Process.Kill()
			term.await("has ended")
			term.keys("q")
		}, "0"},
		{"a command, quit before its end", fpstack + " top -- /bin/sh -c 'while :; do :; done; : %d'",
			func(term *topTerminal, _ *target) { term.keys("q") }, "0"},
		{"panic", "LIVE_TOP=panics " + os.Args[0] + " %d", func(*topTerminal, *target) {}, "0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			target := busyTarget(t)
			term := newTopTerminal(t, "/bin/sh")
			before, state := term.modes("before"), term.state()
			term.run(fmt.Sprintf(tc.command, target.pid) + "; echo status=$?")
			if tc.name != "panic" {
				term.await("SELF%")
				term.await("callers of")
				if got := term.state(); got != "1,0" {
					t.Errorf("while it draws: alternate screen and cursor are %s, want 1,0", got)
				}
			}
			tc.end(term, target)
			if got := term.value("status"); got != tc.status {
				t.Errorf("got status %s, want %s", got, tc.status)
			}
			if tc.name == "panic" && !strings.Contains(term.screen(), "err=panic: as requested") {
				t.Errorf("the panic is not reported:\n%s", term.screen())
			}
			if got := term.state(); got != state {
				t.Errorf("alternate screen and cursor are %s, before %s", got, state)
			}
			if after := term.modes("after"); after != before {
				t.Errorf("modes of the terminal are %s, before %s", after, before)
			}
		})
	}
}

func TestTopKeysAndSizes(t *testing.T) {
	t.Parallel()
	target := busyTarget(t)
	term := newTopTerminal(t, "/bin/sh")
	term.run(fmt.Sprintf("%s top -p %d", fpstack, target.pid))
	term.await("callers of")
	term.await("idle hidden")
	term.keys("-")
	term.await("/49 Hz")
	term.keys("H")
	term.await("THREAD")
	term.keys("i")
	term.await("functions of")
	term.keys("H")
	term.await("callers of")
	term.keys("Space")
	term.await("FROZEN")
	frozen := term.still()
	term.tmux("send-keys", "-t", "top", "-l", `\module:no such`)
	term.await("nothing matches the filter")
	term.keys("Escape")
	await(t, "the frozen table is back", func() bool { return tableOf(term.screen()) == frozen })
	term.keys("Space")
	await(t, "the table goes on", func() bool {
		return !strings.Contains(term.screen(), "FROZEN") &&
			tableOf(term.screen()) != frozen
	})
	term.tmux("resize-window", "-t", "top", "-x", "40", "-y", "10")
	term.await("? keys")
	for _, l := range strings.Split(term.screen(), "\n") {
		if len([]rune(l)) > 40 {
			t.Errorf("a line of %d cells on 40: %q", len([]rune(l)), l)
		}
	}
	term.tmux("resize-window", "-t", "top", "-x", "300", "-y", "80")
	term.await("Hz asked")
	term.await("? all keys")
	if got := len(strings.Split(strings.TrimSpace(term.screen()), "\n")); got != 80 {
		t.Errorf("%d lines on a terminal of 80", got)
	}
	term.keys("q")
}

// tableOf is the rows of a picture.
func tableOf(screen string) string {
	lines := strings.Split(screen, "\n")
	return strings.Join(lines[min(4, len(lines)):min(15, len(lines))], "\n")
}

// still waits until the table does not change any more: tmux may show a picture of which a part came.
func (term *topTerminal) still() (table string) {
	term.t.Helper()
	const rounds = 20
	same := 0
	await(term.t, "the table does not change", func() bool {
		before := table
		if table = tableOf(term.screen()); table != before {
			same = 0
		}
		same++
		return same == rounds
	})
	return table
}

// TestTopSuspends: Ctrl-Z gives the terminal back, the target runs on, and fg takes it again,
// after bg too.
func TestTopSuspends(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		stop func(term *topTerminal)
	}{
		{"Ctrl-Z", func(term *topTerminal) { term.keys("C-z") }},
		{"SIGTSTP", func(term *topTerminal) { syscall.Kill(topPID(t, term), syscall.SIGTSTP) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			target := busyTarget(t)
			term := newTopTerminal(t, installed(t, "bash")+" --norc --noprofile -i")
			before, state := term.modes("before"), term.state()
			term.run(fmt.Sprintf("%s top -p %d", fpstack, target.pid))
			term.await("callers of")
			tc.stop(term)
			term.await("Stopped")
			if got := term.state(); got != state {
				t.Errorf("suspended: alternate screen and cursor are %s, before %s", got, state)
			}
			if got := term.modes("suspended"); got != before {
				t.Errorf("suspended: modes are %s, before %s", got, before)
			}
			ticks := ticksOf(target.pid)
			await(t, "the target runs while top is suspended", func() bool { return ticksOf(target.pid) > ticks+10 })
			term.run("bg")
			term.run("echo in the $((1+1))nd place")
			term.await("in the 2nd place")
			if got := term.modes("background"); got != before {
				t.Errorf("in the background: modes are %s, before %s", got, before)
			}
			term.run("fg")
			term.await("callers of")
			pid := topPID(t, term)
			term.keys("C-z")
			await(t, "it is suspended again", func() bool { return stateOf(pid) == 'T' && term.state() == state })
			term.run("fg")
			term.await("callers of")
			term.keys("q")
			await(t, "it has ended", func() bool { return term.state() == state })
			if got := term.modes("after"); got != before {
				t.Errorf("after: modes are %s, before %s", got, before)
			}
		})
	}
}

// ticksOf is the CPU time of a process in clock ticks. proc_pid_stat(5), fields 14 and 15
func ticksOf(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return user + system
}

func TestTopInTheBackground(t *testing.T) {
	target := busyTarget(t)
	term := newTopTerminal(t, installed(t, "bash")+" --norc --noprofile -i")
	before := term.modes("before")
	term.run(fmt.Sprintf("%s top -p %d & wait $!; echo status=$?", fpstack, target.pid))
	term.await("top is in the background")
	if got := term.value("status"); got != "2" {
		t.Errorf("got status %s, want 2", got)
	}
	if got := term.modes("after"); got != before {
		t.Errorf("modes are %s, before %s", got, before)
	}
	if bytes.Contains(term.kept("status=2"), []byte("\x1b[?1049h")) {
		t.Error("it went to the alternate screen")
	}
}

// TestTopOnADumbTerminal: text again and again, as wide as the terminal.
func TestTopOnADumbTerminal(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"dumb", "no-such-terminal"} {
		target := busyTarget(t)
		term := newTopTerminal(t, "/bin/sh")
		term.run(fmt.Sprintf("TERM=%s %s top -p %d", name, fpstack, target.pid))
		await(t, "the table is there twice", func() bool {
			return strings.Count(term.tmux("capture-pane", "-p", "-S", "-", "-t", "top"), "SELF%") >= 2
		})
		if got := term.state(); got != "0,1" {
			t.Errorf("%s: alternate screen and cursor are %s, want 0,1", name, got)
		}
		term.keys("C-c")
		_, ours, _ := bytes.Cut(term.kept("^C"), []byte("wall time"))
		ours, _, _ = bytes.Cut(ours, []byte("^C"))
		if bytes.IndexByte(ours, 0x1b) >= 0 {
			t.Errorf("%s: an escape in %q", name, ours)
		}
	}
}

func TestTopToAPipe(t *testing.T) {
	t.Parallel()
	target := busyTarget(t)
	pid := strconv.Itoa(target.pid)
	out, err := exec.Command(fpstack, "top", "-p", pid, "--once", "1").Output()
	if err != nil || bytes.IndexByte(out, 0x1b) >= 0 || !bytes.Contains(out, []byte("SELF% TOTAL%")) ||
		!bytes.Contains(out, []byte("since start")) {
		t.Errorf("--once: %v, %q", err, out)
	}
	out, err = exec.Command(fpstack, "top", "-p", pid, "--once", "500ms", "--json", "--idle", "--by", "thread",
		"--sort", "total").Output()
	var d struct {
		Schema  string
		By      string
		Total   int64
		Threads struct{ Ran, Waited int }
		Rows    []struct{ Self, Total int64 }
	}
	if jsonErr := json.Unmarshal(out, &d); err != nil || jsonErr != nil {
		t.Fatalf("--json: %v, %v, %q", err, jsonErr, out)
	}
	if d.Schema != top.Schema || d.By != "thread" || len(d.Rows) != 2 || d.Threads.Ran != 1 || d.Threads.Waited != 1 {
		t.Errorf("--json: got %+v, want 2 threads, one that ran and one that waited", d)
	}
	sum := int64(0)
	for _, r := range d.Rows {
		sum += r.Self
	}
	if sum != d.Total {
		t.Errorf("--json: threads sum to %d, total %d", sum, d.Total)
	}
	p := launch(t, exec.Command(fpstack, "top", "-p", pid))
	for seen, lines := 0, 0; seen < 2; lines++ {
		l := p.line(t)
		if lines > 1000 { // its end reads as empty lines
			t.Fatalf("%d lines and no two tables", lines)
		}
		if strings.Contains(l, "\x1b") {
			t.Errorf("again and again: an escape in %q", l)
		}
		if strings.Contains(l, "SELF%") {
			seen++
		}
	}
}

// TestTopOfACommand: the command gets its output where top draws nothing, and ends with top.
func TestTopOfACommand(t *testing.T) {
	t.Parallel()
	p := launch(t, exec.Command(fpstack, "top", "--", "/bin/sh", "-c", "echo mine; while :; do :; done"))
	mine, table := false, false
	for lines := 0; !mine || !table; lines++ {
		l := p.line(t)
		mine, table = mine || l == "mine", table || strings.Contains(l, "SELF%")
		if lines > 1000 {
			t.Fatalf("%d lines; the command's was seen: %v, a table: %v", lines, mine, table)
		}
	}
	command := childrenOf(p.pid)
	p.cmd.Process.Signal(syscall.SIGTERM)
	await(t, "the command ends with top", func() bool {
		return stateOf(p.pid) == 'Z' &&
			!slices.ContainsFunc(command, func(pid int) bool { return stateOf(pid) != 0 && stateOf(pid) != 'Z' })
	})
	if len(command) != 1 {
		t.Errorf("top had the children %d, want one", command)
	}
	out, err := exec.Command(fpstack, "top", "--once", "1h", "--", "/bin/sh", "-c",
		"i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done").Output()
	if err != nil || !bytes.Contains(out, []byte("what was sampled has ended")) {
		t.Errorf("a command that ends early: got %v, %q", err, out)
	}
	cmd := exec.Command(fpstack, "top", "--", "/nonexistent/command")
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 127 {
		t.Errorf("no such command: got %v, %q, want status 127", err, out)
	}
}

// TestTopNames: what a target calls itself does nothing to the terminal.
func TestTopNames(t *testing.T) {
	const name = "\x1b[31mX\a\x1b]2"
	script := "open('/proc/self/comm','wb').write(b'" + strings.NewReplacer("\x1b", `\x1b`, "\a",
		`\x07`).Replace(name) + "')\n" + busyProgram
	target := waitsAndRuns(t,
		launch(t, exec.Command(installed(t, "/usr/bin/python3"), "-c", script, "\x1b[32marg\r")).ready(t))
	term := newTopTerminal(t, "/bin/sh")
	term.run(fmt.Sprintf("%s top -p %d", fpstack, target.pid))
	term.await("callers of")
	term.keys("H")
	term.await(`\x1b[31mX\x07\x1b]2`)
	term.keys("q")
	raw := term.kept(screenGivenBack)
	for _, bad := range []string{"\x1b[31mX", "\x1b]2", "\x1b[32marg"} {
		if bytes.Contains(raw, []byte(bad)) {
			t.Errorf("%q reached the terminal", bad)
		}
	}
}

func TestTopWithoutColours(t *testing.T) {
	t.Parallel()
	target := busyTarget(t)
	for _, tc := range []struct {
		name string
		env  string
		flag string
		want bool
	}{{"by default", "X=1", "", true}, {"NO_COLOR", "NO_COLOR=1", "", false},
		{"--color never", "X=1", "--color never", false}} {
		term := newTopTerminal(t, "/bin/sh")
		term.run("clear")
		term.run(fmt.Sprintf("%s TERM=xterm-256color %s top %s --idle -p %d", tc.env, fpstack, tc.flag, target.pid))
		term.await("clock_nanosleep") // a wait, which has a colour, but for the row that is chosen
		await(t, "another row is chosen, and drawn", func() bool {
			screen := term.screen()
			if strings.Contains(screen, "clock_nanosleep") &&
				!regexp.MustCompile(`(?m)^.*callers of .*clock_nanosleep`).MatchString(screen) {
				return true
			}
			term.keys("Down")
			return false
		})
		term.keys("q")
		_, raw, _ := bytes.Cut(term.kept(screenGivenBack), []byte("\x1b[?1049h"))
		if got := regexp.MustCompile(`\x1b\[[0-9;]*[34][0-8][;m]`).Match(raw); got != tc.want {
			t.Errorf("%s: colours are sent: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestTopWrites: w stores what was seen, in the form that the name's ending says.
func TestTopWrites(t *testing.T) {
	t.Parallel()
	target := busyTarget(t)
	term := newTopTerminal(t, "/bin/sh")
	path := filepath.Join(term.dir, "seen.pb.gz")
	term.run(fmt.Sprintf("%s top -p %d", fpstack, target.pid))
	term.await("callers of")
	term.keys("w", "C-u")
	term.tmux("send-keys", "-t", "top", "-l", path)
	term.keys("Enter")
	term.await("wrote ")
	term.keys("w", "C-u")
	term.tmux("send-keys", "-t", "top", "-l", "seen.nothing")
	term.keys("Enter")
	term.await("unknown file ending")
	term.keys("q")
	out, err := exec.Command("go", "tool", "pprof", "-top", path).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("flat%")) {
		t.Errorf("go tool pprof: %v, %s", err, out)
	}
}

// mostYards is how many times as much CPU time a picture may take as to sum up, sort and format what is in it
// by the plainest means. It takes some four to five times as much, which is below 2 % of a CPU at 4 Hz.
const mostYards = 10

// TestTopCost: what the table takes to draw 2,000 functions four times a second, beside a yardstick, since a
// machine that is busy with others makes the same work slower. It draws long enough to make the start small.
func TestTopCost(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	term := newTopTerminal(t, "/bin/sh")
	term.run("LIVE_TOP=draws " + os.Args[0])
	term.await("callers of")
	term.keys("z")
	// The head's clock says how long it has drawn.
	await(t, "ten seconds have passed", func() bool {
		return regexp.MustCompile(`since start [1-9]\d[.0-9]* s`).MatchString(term.screen())
	})
	term.keys("q")
	line := regexp.MustCompile(`err=<nil> cpu=([0-9.]+) yards=([0-9.]+)`)
	var found []string
	await(t, "the cost is reported",
		func() bool { found = line.FindStringSubmatch(term.screen()); return found != nil })
	seconds, yards := number(t, found[1]), number(t, found[2])
	t.Logf("2,000 functions drawn at 4 Hz on 80x24 take %.2f %% of one CPU, %.1f yards", 100*4*seconds, yards)
	if yards > mostYards && !underRace() {
		t.Errorf("that is more than %d yards", mostYards)
	}
}

// underRace reports whether the race detector is built in: it makes everything slower.
func underRace() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
