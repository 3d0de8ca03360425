//go:build linux

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// samplesSeen is a line of progress behind ten samples, so that each of a few threads was sampled.
var samplesSeen = regexp.MustCompile(` ([1-9][0-9,]+) samples`)

// TestRecordEndsBySignal: one signal ends the recording; its result is there, and the process
// goes on.
func TestRecordEndsBySignal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		send func(t *testing.T, term *terminal)
	}{
		{"Ctrl-C", func(t *testing.T, term *terminal) { term.types(t, "\x03") }},
		{"SIGTERM", func(t *testing.T, term *terminal) { term.cmd.Process.Signal(syscall.SIGTERM) }},
		{"SIGHUP", func(t *testing.T, term *terminal) { term.cmd.Process.Signal(syscall.SIGHUP) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := duty(t, "100", "1", "cpu", "70", "30")
			out := filepath.Join(room(t), "out.folded")
			term := onTerminal(t, exec.Command(fpstack, "record", "-p", strconv.Itoa(p.pid), "-d", "1h", "-o", out))
			term.sampled(t)
			tt.send(t, term)
			if status := term.ended(t); status != 0 {
				t.Errorf("status %d, want 0; the terminal got %q", status, term.seen())
			}
			if b, err := os.ReadFile(out); err != nil || !strings.Contains(string(b), "work_") {
				t.Errorf("result %q, %v", b, err)
			}
			if state := stateOf(p.pid); state != 'R' && state != 'S' {
				t.Errorf("the process is in state %q", state)
			}
			checkFree(t, p.pid)
		})
	}
}

// TestRecordGivesUp: the second Ctrl-C ends fpstack at once, by that signal, with nothing
// half-written. It waits for its command then, which ignores the key.
func TestRecordGivesUp(t *testing.T) {
	t.Parallel()
	dir := room(t)
	out := filepath.Join(dir, "out.folded")
	term := onTerminal(t, exec.Command(fpstack, "record", "-o", out, "--", "sh", "-c",
		`trap "" INT; echo R; read x; exit 7`))
	term.awaits(t, "R\r\n")
	term.types(t, "\x03")
	await(t, "the recording is written", func() bool { return slices.Equal(names(t, dir), []string{"out.folded"}) })
	time.Sleep(1100 * time.Millisecond) // sooner, it would be for the same event
	term.types(t, "\x03")
	term.ended(t)
	w := term.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !w.Signaled() || w.Signal() != syscall.SIGINT {
		t.Errorf("ended by %v, want SIGINT; the terminal got %q", term.cmd.ProcessState, term.seen())
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("files %q, want one", got)
	}
}

// TestRecordCommandOutlivesRecording: after Ctrl-C and after -d the result is there while
// the command still runs, and its status is passed on.
func TestRecordCommandOutlivesRecording(t *testing.T) {
	for _, tt := range []struct {
		name, keys string
		args       []string
	}{
		{"Ctrl-C", "\x03", nil},
		{"duration", "", []string{"-d", "300ms"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(room(t), "out.folded")
			args := append([]string{"record", "-o", out}, tt.args...)
			term := onTerminal(t,
				exec.Command(fpstack, append(args, "--", "sh", "-c", `trap "" INT; echo R; read x; exit 7`)...))
			term.awaits(t, "R\r\n")
			term.types(t, tt.keys)
			await(t, "the recording is written", func() bool { _, err := os.Stat(out); return err == nil })
			term.types(t, "go\r")
			if status := term.ended(t); status != 7 {
				t.Errorf("status %d, want the command's 7; the terminal got %q", status, term.seen())
			}
		})
	}
}

// TestRecordPassesSignalsOn: Ctrl-C reaches the command by the terminal, SIGTERM by fpstack.
func TestRecordPassesSignalsOn(t *testing.T) {
	for _, tt := range []struct {
		name string
		send func(t *testing.T, term *terminal)
		want int
	}{
		{"Ctrl-C", func(t *testing.T, term *terminal) { term.types(t, "\x03") }, 130},
		{"SIGTERM", func(t *testing.T, term *terminal) { term.cmd.Process.Signal(syscall.SIGTERM) }, 143},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(room(t), "out.folded")
			term := onTerminal(t, exec.Command(fpstack, "record", "-o", out, "--", program(t, "duty"), "100", "1",
				"cpu", "70", "30"))
			term.awaits(t, "R\r\n")
			tt.send(t, term)
			if status := term.ended(t); status != tt.want {
				t.Errorf("status %d, want %d; the terminal got %q", status, tt.want, term.seen())
			}
			if _, err := os.Stat(out); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRecordHeedsNohup: a signal that was to be ignored does not end the recording, and the
// command ignores it too.
func TestRecordHeedsNohup(t *testing.T) {
	out := filepath.Join(room(t), "out.folded")
	o := execute(t, bound, "sh", "-c",
		`trap "" HUP INT; exec "$0" record -q -o "$1" -- sh -c 'kill -HUP $PPID $$; kill -INT $PPID $$
			grep SigIgn /proc/$$/status; exit 4'`, fpstack, out)
	checkEnd(t, o, nil)
	fields := strings.Fields(o.stdout)
	if o.status != 4 || len(fields) != 2 {
		t.Fatalf("status %d, %q, want 4 and a line; %s", o.status, o.stdout, o.stderr)
	}
	mask, err := strconv.ParseUint(fields[1], 16, 64)
	if err != nil || mask&1 == 0 || mask&2 == 0 {
		t.Errorf("ignored signals %s, want SIGHUP and SIGINT among them", fields[1])
	}
}
