//go:build linux

package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// written is a command that writes a result: its arguments, without -o.
type written struct {
	name string
	args []string
	ends string // of the result's file
}

// resultCommands are all commands that write a result, of process pid.
func resultCommands(t *testing.T, pid string) []written {
	t.Helper()
	dir := room(t)
	profile, dump := filepath.Join(dir, "in.folded"), filepath.Join(dir, "in.json")
	if err := os.WriteFile(profile, []byte("main;work 3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if o := show(t, "-p", pid, "-f", "json", "-o", dump); o.status != 0 {
		t.Fatalf("status %d, %s", o.status, o.stderr)
	}
	return []written{
		{"dump", []string{"-p", pid}, ".txt"},
		{"record", []string{"record", "-p", pid, "-d", "200ms"}, ".folded"},
		{"flame", []string{"flame", profile}, ".svg"},
		{"check", []string{"check", "-p", pid}, ".txt"},
		{"a saved dump", []string{"--names=functions", dump}, ".txt"},
		{"doctor", []string{"doctor", "-p", pid}, ".txt"},
	}
}

// TestOutputModes: new files follow the umask, and one that was there keeps its mode and owner, with every command.
func TestOutputModes(t *testing.T) {
	t.Parallel()
	asRoot(t)
	for _, c := range resultCommands(t, sleeper(t)) {
		dir := room(t)
		fresh, old := filepath.Join(dir, "fresh"+c.ends), filepath.Join(dir, "old"+c.ends)
		if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(old, 65534, 7); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{fresh, old} {
			args := append([]string{"-c", `umask 027; exec "$0" "$@"`, fpstack}, append(c.args, "-o", path)...)
			o := execute(t, bound, "sh", args...)
			checkEnd(t, o, args)
			if o.status > 1 {
				t.Errorf("%s: status %d, %s", c.name, o.status, o.stderr)
			}
		}
		for path, want := range map[string]unix.Stat_t{fresh: {Mode: 0o640}, old: {Mode: 0o600, Uid: 65534, Gid: 7}} {
			var st unix.Stat_t
			if err := unix.Stat(path, &st); err != nil || st.Mode&0o7777 != want.Mode || st.Uid != want.Uid ||
				st.Gid != want.Gid || st.Size < 10 {
				t.Errorf("%s: %s is %o of %d:%d with %d bytes, %v; want %o of %d:%d", c.name, path, st.Mode&0o7777,
					st.Uid, st.Gid, st.Size, err, want.Mode, want.Uid, want.Gid)
			}
		}
		if got := names(t, dir); len(got) != 2 {
			t.Errorf("%s: files %q", c.name, got)
		}
	}
}

// TestOutputThroughStrangersLink: root does not write where somebody else's link in a sticky folder leads.
func TestOutputThroughStrangersLink(t *testing.T) {
	asRoot(t)
	for _, c := range resultCommands(t, sleeper(t)) {
		dir := room(t)
		target, sticky := filepath.Join(dir, "target"), filepath.Join(dir, "sticky")
		link := filepath.Join(sticky, "out"+c.ends)
		for _, err := range []error{os.WriteFile(target, []byte("precious"), 0o644), os.Mkdir(sticky, 0o755),
			os.Chmod(sticky, 0o777|os.ModeSticky),
			os.Symlink("../target", link), os.Lchown(link, 65534, 65534)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		o := show(t, append(c.args, "-o", link)...)
		if o.status != 2 || !strings.Contains(o.stderr, "of user 65534") || !strings.Contains(o.stderr, link) ||
			string(readFile(t, target)) != "precious" {
			t.Errorf("%s: status %d, %q; the target holds %q", c.name, o.status, o.stderr, readFile(t, target))
		}
		if got := names(t, sticky); len(got) != 1 {
			t.Errorf("%s: files %q", c.name, got)
		}
	}
}

// TestStandardOutputThatTakesNothing: results that nobody gets are errors, as are help texts.
func TestStandardOutputThatTakesNothing(t *testing.T) {
	asRoot(t)
	t.Setenv("TMPDIR", room(t))
	pid := sleeper(t)
	commands := append(resultCommands(t, pid), written{"top", []string{"top", "-p", pid, "--once", "0.3"}, ""},
		written{"version", []string{"version"}, ""}, written{"man", []string{"man", "record"}, ""},
		written{"help", []string{"record", "--help"}, ""}, written{"completion", []string{"completion", "bash"}, ""})
	for _, c := range commands {
		for _, tt := range []struct{ name, to, want string }{
			{"a full disk", ">/dev/full", "no space left on device"},
			{"closed", ">&-", "write standard output: it is closed"},
			{"opened to be read", "1</dev/null", "bad file descriptor"},
			{"read and written", "1<>/dev/null 2>&1", ""},
			{"/dev/null", ">/dev/null", ""},
		} {
			args := append([]string{"-c", `exec "$0" "$@" ` + tt.to, fpstack}, c.args...)
			o := execute(t, bound, "sh", args...)
			checkEnd(t, o, args)
			wantStatus := 2
			switch verdict := c.name == "check" || c.name == "doctor"; {
			case tt.want == "", tt.name == "closed" && verdict:
				wantStatus, tt.want = 0, ""
			case c.name == "record" && tt.name != "closed": // saved elsewhere
				wantStatus = 1
			}
			if o.status != wantStatus && !(wantStatus == 0 && o.status == 1) || !strings.Contains(o.stderr, tt.want) {
				t.Errorf("%s, standard output %s: status %d, %q; want %d and %q", c.name, tt.name, o.status, o.stderr,
					wantStatus, tt.want)
			}
		}
	}
}

// TestKilledLeavesNothing: SIGKILL in the middle of writing leaves no half of a file, under no name.
func TestKilledLeavesNothing(t *testing.T) {
	dir := room(t)
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY, 0o600)
	if err != nil {
		t.Skipf("no files without a name here: %v", err)
	}
	unix.Close(fd)
	// The input is a pipe with the begin of a dump, so that fpstack waits for more with its output open.
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(fpstack, pipe, "-o", filepath.Join(dir, "out"))
	p := launch(t, cmd)
	in, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	fmt.Fprintf(in, `{"schema":"fpstack.dump/1","x":"%s`, strings.Repeat("x", 5000))
	await(t, "the output is open", func() bool { return opens(p.pid, dir+"/#") })
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("files %q, want the pipe alone", got)
	}
}

// opens reports whether process pid has a file open whose path begins so. The kernel calls a file without a name
// #INODE.
func opens(pid int, prefix string) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd/"
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if to, err := os.Readlink(dir + e.Name()); err == nil && strings.HasPrefix(to, prefix) {
			return true
		}
	}
	return false
}
