//go:build linux

package run

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

// privileged is a program that runs with more rights than who started it: by its file alone, or as sudo does, with the
// real user changed as well.
const privileged = `
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
	if (geteuid() != 0) return 3;
	if (argc > 2 && (setgid(0) || setuid(0))) return 4;
	puts("ready");
	fflush(stdout);
	sleep(1000);
}
`

// asNobody is what a command is started by, so that it has no rights.
func asNobody(t *testing.T) []string {
	t.Helper()
	harness.Need(t, "setpriv")
	if os.Getuid() != 0 {
		t.Skip("it takes root to become somebody else")
	}
	return []string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"}
}

// A program with more rights than we have is not sampled, and that is said with the gate. It ends if its real user is
// ours; what sudo has started is named when it does not, and keeps nobody from ending.
func TestSetuid(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		ends bool
	}{{"by its file", nil, true}, {"as sudo does", []string{"too"}, false}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before, word := asNobody(t), mark()
			program := harness.Compile(t, "gcc", "privileged.c", privileged, "privileged")
			if err := os.Chmod(program, 0o4755); err != nil {
				t.Fatal(err)
			}
			open(t, filepath.Dir(program))
			command := append(before, fpstack, "run", "--deadline", "0.5", "--kill-after", "0.5", "--", program, word)
			j := start(t, nil, command[0], append(command[1:], tt.args...)...)
			out, state := j.end(t)
			left := marked(word)
			for _, pid := range left {
				syscall.Kill(pid, syscall.SIGKILL)
			}
			if state.ExitCode() == 3 {
				t.Skip("files give no rights here (nosuid)")
			}
			named := strings.Contains(out, "does not end by SIGKILL")
			if state.ExitCode() != 124 || (len(left) == 0) != tt.ends || named == tt.ends ||
				!strings.Contains(out, "privileged (") || !strings.Contains(out, "sampled; its state is S") {
				t.Errorf("status %d, processes %v are left\n%s", state.ExitCode(), left, out)
			}
		})
	}
}

// open lets everybody into a folder of a test.
func open(t *testing.T, dir string) {
	t.Helper()
	for ; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// A core of a process of one's own takes no rights, also in a user namespace; it belongs to who made it.
func TestCoreWithoutRights(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		around []string
	}{{"an ordinary user", nil}, {"user namespace", []string{"unshare", "--user", "--map-root-user"}}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			command, dir, held := asNobody(t), t.TempDir(), compiled(t)
			open(t, filepath.Dir(held))
			open(t, dir)
			if err := os.Chown(dir, 65534, 65534); err != nil {
				t.Fatal(err)
			}
			command = append(append(command, tt.around...), fpstack, "run", "--deadline", "0.5", "--core", "--report",
				dir+"/report", "--", held, "3", "1")
			out, state := start(t, nil, command[0], command[1:]...).end(t)
			if strings.Contains(out, "unshare failed") {
				t.Skipf("no user namespaces here: %s", out)
			}
			var doc struct{ Cores []coreOf }
			text, err := os.ReadFile(dir + "/report/hang.json")
			if err == nil {
				err = json.Unmarshal(text, &doc)
			}
			if err != nil || state.ExitCode() != 124 || len(doc.Cores) != 1 || doc.Cores[0].Problem != "" {
				t.Fatalf("status %d, cores %+v, %v\n%s", state.ExitCode(), doc.Cores, err, out)
			}
			core := filepath.Join(dir, "report", doc.Cores[0].File)
			info, err := os.Stat(core)
			if err != nil || info.Mode() != 0o600 || info.Sys().(*syscall.Stat_t).Uid != 65534 {
				t.Errorf("%v of %+v (%v)", info.Mode(), info.Sys(), err)
			}
			got, err := exec.Command(fpstack, core).CombinedOutput()
			if err != nil || !strings.Contains(string(got), " deposit ") {
				t.Errorf("%v\n%s", err, got)
			}
		})
	}
}
