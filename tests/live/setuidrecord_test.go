//go:build linux

package live

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// asNobody is a command line of another user than root.
func asNobody(t testing.TB, args ...string) []string {
	t.Helper()
	return append([]string{installed(t, "setpriv"), "--reuid", "65534", "--regid", "65534", "--clear-groups"}, args...)
}

// setuidCopy gives a program with the setuid bit, of root, in a directory that anybody may enter and nobody but
// root may read or write.
func setuidCopy(t testing.TB) string {
	t.Helper()
	asRoot(t)
	dir := room(t)
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	if st.Flags&unix.ST_NOSUID != 0 {
		t.Skipf("%s is mounted nosuid", dir)
	}
	path := filepath.Join(dir, "whoami-root")
	copyFile(t, program(t, "whoami"), path)
	if err := os.Chmod(path, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return path
}

// openDir is a directory that anybody may write into.
func openDir(t testing.TB) string {
	t.Helper()
	dir := room(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRecordSetuidExec: nobody records a process of its own that then executes a setuid program. That gets its
// euid, is let go and left alone, and what was seen before is kept.
func TestRecordSetuidExec(t *testing.T) {
	t.Parallel()
	set := setuidCopy(t)
	plain := program(t, "whoami")
	out := filepath.Join(openDir(t), "out.folded")
	args := asNobody(t, plain, set)
	cmd := exec.Command(args[0], args[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := launch(t, cmd).ready(t)
	asleep(t, p.pid)
	args = asNobody(t, fpstack, "record", "-p", strconv.Itoa(p.pid), "-F", "999", "-d", "1h", "-o", out)
	term := onTerminal(t, exec.Command(args[0], args[1:]...))
	term.sampled(t)
	io.WriteString(in, "\n")
	if got := p.line(t); got != "euid 0" {
		t.Errorf("the setuid program of root says %q, want euid 0", got)
	}
	if status := term.ended(t); status != 0 {
		t.Errorf("status %d, want 0; the terminal got %q", status, term.seen())
	}
	<-term.end
	checkLetGo(t, term.seen(), p.pid)
	if text := readFile(t, out); !strings.Contains(text, "main;") {
		t.Errorf("what was seen before is not in the result: %q", text)
	}
	checkFree(t, p.pid)
	in.Close()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the setuid program ended with %v", err)
	}
}

// checkLetGo: a line says that process pid was let go, and why.
func checkLetGo(t *testing.T, stderr string, pid int) {
	t.Helper()
	// A terminal shows a remark in several lines.
	for _, remark := range strings.Split(strings.Join(strings.Fields(stderr), " "), "! ") {
		if strings.Contains(remark, "process "+strconv.Itoa(pid)+" ") && strings.Contains(remark, "was let go") {
			if !strings.Contains(remark, "permi") {
				t.Errorf("no reason given: %q", remark)
			}
			return
		}
	}
	t.Errorf("no word that process %d was let go: %q", pid, stderr)
}

// TestRecordCommandSetuid: the same below a command that nobody records; its status and output are those
// that it has without us.
func TestRecordCommandSetuid(t *testing.T) {
	t.Parallel()
	set := setuidCopy(t)
	out := filepath.Join(openDir(t), "out.folded")
	script := `i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; { sleep 2; } | "$0"; "$0" </dev/null; exit 9`
	args := asNobody(t, fpstack, "record", "-F", "499", "-o", out, "--", "sh", "-c", script, set)
	o := execute(t, bound, args[0], args[1:]...)
	checkEnd(t, o, args)
	if o.status != 9 || o.stdout != "euid 0\neuid 0\n" {
		t.Errorf("status %d, %q, want 9 and euid 0 twice; %s", o.status, o.stdout, o.stderr)
	}
	// The child was met before its exec, or behind it.
	if !strings.Contains(o.stderr, "was let go") && !strings.Contains(o.stderr, "not recorded") ||
		!strings.Contains(o.stderr, "permission denied") {
		t.Errorf("no word that a process was let go, or why: %q", o.stderr)
	}
	if text := readFile(t, out); !strings.Contains(text, ";") {
		t.Errorf("result %q", text)
	}
}
