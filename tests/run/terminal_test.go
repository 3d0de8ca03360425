//go:build linux

package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

// shell is an interactive shell in a terminal of its own.
type shell struct {
	t      *testing.T
	socket string
}

// newShell starts it. $RUN is what a command is wrapped in: fpstack run, or nothing.
func newShell(t *testing.T, wrapped bool) *shell {
	t.Helper()
	harness.Need(t, "tmux")
	s := &shell{t, filepath.Join(t.TempDir(), "tmux")}
	s.tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "50", "bash --norc --noprofile")
	t.Cleanup(func() { exec.Command("tmux", "-S", s.socket, "kill-server").Run() })
	run := ""
	if wrapped {
		run = fpstack + " run --"
	}
	s.keys("PS1='at> '; RUN='"+run+"'; cd "+t.TempDir()+"; clear", "Enter")
	s.see("at> ")
	return s
}

func (s *shell) tmux(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

func (s *shell) keys(keys ...string) { s.tmux(append([]string{"send-keys"}, keys...)...) }

func (s *shell) screen() string { return s.tmux("capture-pane", "-p") }

// see waits for a text at the end of what is shown.
func (s *shell) see(text string) {
	s.t.Helper()
	await(s.t, "the screen ends with "+text+"\n"+s.screen(), func() bool {
		return strings.HasSuffix(strings.TrimSpace(s.screen()), strings.TrimSpace(text))
	})
}

// step is a line of keys, and what the screen ends with then.
type step struct{ keys, see string }

// What a person types and sees in a shell is the same with fpstack and without.
func TestTerminal(t *testing.T) {
	t.Parallel()
	script := file(t, "$RUN sleep 1000\necho next\n")
	catches := file(t, "$RUN bash -c 'trap \"echo caught; exit 3\" INT; echo ready; while :; do sleep 0.1; done'\n"+
		"echo next $?\n")
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"Ctrl-C", []step{{"$RUN sleep 1000 && echo no", ""}, {"C-c", "at>"}, {"echo status $?", "status 130\nat>"}}},
		{"Ctrl-\\", []step{{"$RUN sleep 1000", ""}, {"C-\\", "at>"}, {"echo status $?", "status 131\nat>"}}},
		{"reads", []step{{"$RUN cat", ""}, {"hello", "hello\nhello"}, {"C-d", "at>"}}},
		{"Ctrl-Z and fg", []step{{"$RUN cat", ""}, {"a", "a\na"}, {"C-z", "at>"}, {"fg", "cat"}, {"b", "b\nb"},
			{"C-d", "at>"}, {"echo status $?", "status 0\nat>"}}},
		{"Ctrl-Z, bg, fg and Ctrl-C", []step{{"$RUN sleep 1000", ""}, {"C-z", "at>"}, {"bg", "at>"},
			{"echo here", "here\nat>"}, {"fg", "1000"}, {"C-c", "at>"}, {"echo status $?", "status 130\nat>"}}},
		{"reads in the background", []step{{"set +m; set -m; $RUN cat & sleep 1", "at>"}, {"echo here", "here\nat>"},
			{"fg", "cat"}, {"b", "b\nb"}, {"C-d", "at>"}}},
		{"a script around it ends by Ctrl-C", []step{{"export RUN; bash " + script, ""}, {"C-c", "at>"},
			{"echo status $?", "status 130\nat>"}}},
		{"a script goes on if the command heeds Ctrl-C", []step{{"export RUN; bash " + catches, "ready"},
			{"C-c", "caught\nnext 3\nat>"}}},
		{"a script around it is stopped", []step{{"export RUN; bash " + script, ""}, {"C-z", "at>"},
			{"jobs | grep -c Stopped", "1\nat>"}, {"kill -9 %1; wait %1 2>/dev/null; clear", "at>"}}},
		{"an interactive shell below", []step{{"$RUN env PS1='in> ' bash --norc --noprofile -i", "in>"},
			{"sleep 1000", ""}, {"C-z", "in>"}, {"fg", "1000"}, {"C-c", "in>"}, {"exit 5", "at>"},
			{"echo status $?", "status 5\nat>"}}},
		{"a pager behind a pipe", []step{{"$RUN seq 100 | less", ":"}, {"q", "at>"}, {"echo here", "here\nat>"}}},
		{"before a pipe", []step{{"$RUN cat | tr a-z A-Z", ""}, {"x", "X"}, {"C-d", "at>"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var seen [2]string
			for i, wrapped := range []bool{false, true} {
				s := newShell(t, wrapped)
				for _, step := range tt.steps {
					s.do(step)
				}
				seen[i] = s.clean()
			}
			if seen[0] != seen[1] {
				t.Errorf("without fpstack\n%s\nand with it\n%s", seen[0], seen[1])
			}
		})
	}
}

// do types the keys of a step, and waits for what it shows.
func (s *shell) do(step step) {
	s.t.Helper()
	before := s.screen()
	switch {
	case strings.HasPrefix(step.keys, "C-"), len(step.keys) == 1 && step.keys == "q":
		s.keys(step.keys)
	default:
		s.keys("-l", step.keys)
		s.keys("Enter")
	}
	if step.see == "" { // a command that shows nothing: it runs when it has the terminal
		s.running()
		return
	}
	await(s.t, "after "+step.keys+" the screen ends with "+step.see+"\n"+s.screen(), func() bool {
		now := s.screen()
		return now != before && strings.HasSuffix(strings.TrimSpace(now), step.see)
	})
}

// running waits until the shell is not in the foreground of its terminal.
func (s *shell) running() {
	s.t.Helper()
	await(s.t, "a command runs", func() bool {
		pid := strings.TrimSpace(s.tmux("display-message", "-p", "#{pane_pid}"))
		stat, _ := os.ReadFile("/proc/" + pid + "/stat")
		f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(f) < 6 || f[2] == f[5] { // its group is the foreground
			return false
		}
		name, _ := os.ReadFile("/proc/" + f[5] + "/comm") // a program has taken over
		return string(name) != "bash\n" && string(name) != "fpstack\n" || strings.Contains(s.screen(), "bash /")
	})
}

// clean is the screen without what names fpstack, process ids, folders, and the empty lines that a shell writes before
// it says that a job was stopped.
func (s *shell) clean() string {
	out := s.screen()
	for _, word := range []string{fpstack + " run -- ", "$RUN "} {
		out = strings.ReplaceAll(out, word, "")
	}
	var lines []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "[1]") || strings.TrimSpace(line) == "" { // the number of a job and a process
			continue
		}
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
