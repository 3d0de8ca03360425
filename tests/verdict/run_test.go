//go:build linux

package verdict

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

// Commands below `fpstack run`: what hangs is found by a limit, what is healthy ends by itself.
var runRows = []row{
	// That hang.
	{name: "run deadlock", needs: gcc, files: one("abba.c"), argv: []string{"./abba"}, by: runs("--idle", "3s"),
		is: truth{state: hangs, kinds: deadlock, trigger: "idle", culprit: "abba", function: "deposit|withdraw",
			waits: mutex}},
	{name: "run make with a recipe that hangs", needs: []string{"make"}, argv: []string{"make", "-j2"},
		texts: map[string]string{"Makefile": "all:\n\t@mkfifo f; cat f\n"}, by: runs("--idle", "3s"),
		is: truth{state: hangs, trigger: "idle", culprit: "^cat f", waits: opening}},
	{name: "run loop that waits for a port", needs: []string{"sh"}, by: runs("--idle", "4s"),
		argv: []string{"sh", "-c", "until test -e port; do sleep 1; done"},
		is:   truth{state: spins, trigger: "idle", culprit: "^sh -c until|^sleep 1"}},
	{name: "run coroutine that waits for a future", needs: python, files: one("settle.py"), by: runs("--idle", "3s"),
		argv: []string{"python3", "settle.py"},
		is:   truth{state: hangs, trigger: "idle", culprit: "settle.py", function: "fetch"}},
	{name: "run silent beside a heartbeat", needs: []string{"sh"}, by: runs("--idle-output", "4s"),
		argv: []string{"sh", "-c", "mkfifo f; (while sleep 0.3; do :; done) & cat f"},
		is:   truth{state: hangs, trigger: "idle-output", culprit: "^cat f", waits: opening}},

	// That are healthy.
	{name: "healthy run slow steps", needs: []string{"sh"}, by: runs("--idle", "3s"),
		argv: []string{"sh", "-c", "for i in 1 2 3 4 5 6 7; do echo step $i; sleep 1.1; done"},
		is:   truth{state: healthy, trigger: "none"}},
	{name: "healthy run computes in silence", needs: append(gcc, "make"), files: one("compute.c"), cpu: true,
		texts: map[string]string{"Makefile": "all:\n\t@./compute 3 >/dev/null\n"}, argv: []string{"make", "-j2"},
		by: runs("--idle", "2s"), is: truth{state: healthy, trigger: "none"}},
	{name: "healthy run starts new commands", needs: []string{"sh"}, by: runs("--idle", "3s"),
		argv: []string{"sh", "-c", "for i in 1 2 3 4 5 6 7; do sleep 1.$i; done"},
		is:   truth{state: healthy, trigger: "none"}},
	{name: "healthy run at its deadline", needs: gcc, files: one("tick.c"), argv: []string{"./tick"},
		by: runs("--deadline", "3s"), is: truth{state: healthy, trigger: "deadline"}},
}

// patience is how long a command may run that no other limit ends.
const patience = "40s"

// runs has `fpstack run` with these options start the program, and reads the report; where there is none, the command
// has ended by itself.
func runs(options ...string) judgement {
	return func(t testing.TB, p *harness.Program, _ int) *answer {
		t.Helper()
		argv := []string{fpstack, "run", "--report", "report", "--kill-after", "1s", "--deadline", patience}
		argv = append(argv, options...)
		cmd := p.Command(t, append(append(argv, "--"), p.Argv...))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := harness.Start(cmd); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		report, err := os.ReadFile(filepath.Join(p.Dir, "report/hang.json"))
		if errors.Is(err, os.ErrNotExist) && cmd.ProcessState.Success() {
			a := &answer{Verdict: &verdictOf{Kind: "ended"}}
			a.Trigger.Kind = "none"
			return a
		}
		if err != nil {
			t.Fatalf("%v, status %d\n%s", err, cmd.ProcessState.ExitCode(), &out)
		}
		a := parse(t, report, out.String())
		a.status = cmd.ProcessState.ExitCode()
		return a
	}
}
