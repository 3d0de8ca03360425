//go:build linux

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// saved dumps p with --save, ends it, and returns what was shown and the file.
func saved(t *testing.T, p *target, args ...string) (shown, file string) {
	t.Helper()
	file = filepath.Join(room(t), "saved.snap")
	r := execute(t, bound, fpstack, append([]string{"-p", strconv.Itoa(p.pid), "--save", file}, args...)...)
	if r.status != 0 || r.stderr != "" {
		t.Fatalf("dump: status %d, %s", r.status, r.stderr)
	}
	syscall.Kill(p.pid, syscall.SIGKILL)
	p.cmd.Wait()
	return r.stdout, file
}

// TestSaved: what was saved gives the same dump when the process is gone.
func TestSaved(t *testing.T) {
	for _, row := range []struct {
		program string
		args    []string
		frame   string
		status  int // 1 where the C library has no names for all its functions
	}{
		{"threads", []string{"3", "5"}, "descend", 0},
		{"threads-go", nil, "main.main", 0},
		{"threads-rust", []string{"2", "3"}, "threads::main", 0},
		{"threads-m32", []string{"2", "3"}, "descend", 1},
		{"threads-musl", []string{"2", "3"}, "descend", 1},
		{"threads-nopie", []string{"2", "3"}, "descend", 0},
		{"threads-static-pie", []string{"2", "3"}, "descend", 0},
		{"signals", nil, "(signal)", 0},
		{"deep", nil, "descend", 0},
	} {
		t.Run(row.program, func(t *testing.T) {
			t.Parallel()
			live, file := saved(t, runTarget(t, row.program, row.args...))
			again := execute(t, bound, fpstack, file)
			if again.stdout != live || !strings.Contains(live, row.frame) {
				t.Errorf("made again:\n%s\nwant, with %q:\n%s", again.stdout, row.frame, live)
			}
			if again.status > row.status {
				t.Errorf("status %d: %s", again.status, again.stderr)
			}
		})
	}
}

// TestSavedBusy: stacks that were saved in the middle of something.
func TestSavedBusy(t *testing.T) {
	p := duty(t, "1", "2")
	live, file := saved(t, p, "-f", "json")
	again := execute(t, bound, fpstack, "-f", "json", file)
	if again.stdout != live {
		t.Errorf("made again:\n%s\nwant:\n%s", again.stdout, live)
	}
}

// TestSavedLocals: local variables are in what was saved with them, and shown where that is asked for.
func TestSavedLocals(t *testing.T) {
	t.Parallel()
	python := installed(t, "/usr/bin/python3")
	p := launch(t, exec.Command(python, "-c", `
import threading
def wait_for(secret):
    print("R", flush=True)
    threading.Event().wait()
threading.Thread(target=wait_for, args=("sesame",), name="waiter").start()`)).ready(t)
	live, file := saved(t, p, "--locals")
	if !strings.Contains(live, "secret = 'sesame'") {
		t.Fatalf("dump with --locals:\n%s", live)
	}
	for _, args := range [][]string{{file}} {
		if again := execute(t, bound, fpstack, append(args, "--locals")...); again.stdout != live {
			t.Errorf("%q made again:\n%s\nwant:\n%s", args, again.stdout, live)
		}
		if again := execute(t, bound, fpstack, args...); strings.Contains(again.stdout, "secret = ") {
			t.Errorf("%q shows them without --locals", args)
		}
	}
}

// TestSavedJavaScript: what a runtime read of the memory before the stop, in it and after it is in the file.
func TestSavedJavaScript(t *testing.T) {
	script := filepath.Join(room(t), "spin.js")
	text := `function inner(n) { let s = 0; for (let i = 0; i < 1e6; i++) s += i % n; return s }
function outer() { for (;;) inner(7) }
for (let i = 0; i < 100; i++) inner(3)
console.log("R")
setTimeout(outer)
`
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p := launch(t, exec.Command(installed(t, "node"), script)).ready(t)
	await(t, "outer runs", func() bool {
		return strings.Contains(execute(t, bound, fpstack, strconv.Itoa(p.pid)).stdout, "outer")
	})
	live, file := saved(t, p)
	again := execute(t, bound, fpstack, file)
	if again.stdout != live || !regexp.MustCompile(` outer +`+filepath.Base(script)+`:2\n`).MatchString(live) {
		t.Errorf("made again:\n%s\nwant, with outer:\n%s", again.stdout, live)
	}
}

// TestSavedElsewhere: without the files stacks are cut and that is reported, a file of another build is refused, and
// the files given later bring all back.
func TestSavedElsewhere(t *testing.T) {
	s := ship(t)
	p := launch(t, exec.Command(filepath.Join(s.there, "prog"))).ready(t)
	asleep(t, p.pid)
	_, file := saved(t, p)
	for _, name := range []string{"prog", "libx.so"} {
		if err := os.Rename(filepath.Join(s.there, name), filepath.Join(s.there, "old-"+name)); err != nil {
			t.Fatal(err)
		}
	}
	r := execute(t, bound, fpstack, file)
	if r.status != 1 || !strings.Contains(r.stdout, "stack cut") ||
		!strings.Contains(r.stderr, "no file with build id") {
		t.Errorf("without files: status %d, %s\n%s", r.status, r.stderr, r.stdout)
	}
	r = execute(t, bound, fpstack, "-v", file, filepath.Join(s.full, "prog"),
		filepath.Join(s.full, "libx.so"))
	if r.status != 0 || strings.Contains(r.stderr, "have no name") {
		t.Errorf("with files: status %d, %s", r.status, r.stderr)
	}
	for _, want := range []string{"innermost", "middle", "back+", "hidden+", "through", "main+", "/prog.c:7",
		"_start"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("with files: no %q in\n%s", want, r.stdout)
		}
	}
	copyFile(t, program(t, "threads"), filepath.Join(s.there, "prog"))
	r = execute(t, bound, fpstack, file)
	if r.status != 1 || !strings.Contains(r.stderr, "refuse") {
		t.Errorf("with another file in its place: status %d, %s", r.status, r.stderr)
	}
}

// TestSavedFile: who may read the file, where it may be, and what becomes of it when something fails.
func TestSavedFile(t *testing.T) {
	p := runTarget(t, "threads", "1", "1")
	pid, dir := strconv.Itoa(p.pid), room(t)
	file := filepath.Join(dir, "saved")
	mode := func() os.FileMode {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	if r := execute(t, bound, fpstack, pid, "--save", file); r.status != 0 || mode() != 0o600 {
		t.Errorf("a new file: status %d, mode %v: %s", r.status, mode(), r.stderr)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := execute(t, bound, fpstack, pid, "--save", file); r.status != 0 || mode() != 0o600 {
		t.Errorf("a file that was there: status %d, mode %v: %s", r.status, mode(), r.stderr)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name   string
		args   []string
		status int
		stderr string
	}{
		{"a folder that is not there", []string{pid, "--save", dir + "/none/saved"}, 2, "no such file"},
		{"standard output", []string{pid, "--save", "-"}, 64, "name one"},
		{"the file of -o", []string{pid, "--save", file, "-o", file}, 64, "same file"},
		{"no process", []string{"-p", "4194303", "--save", file}, 2, "4194303"},
		{"a full disk", []string{pid, "--save", "/dev/full"}, 1, "no space left"},
		{"output that cannot be written", []string{pid, "--save", file, "-o", "/dev/full"}, 2, "no space left"},
	} {
		r := execute(t, bound, fpstack, row.args...)
		if r.status != row.status || !strings.Contains(r.stderr, row.stderr) {
			t.Errorf("%s: status %d, %q; want %d with %q", row.name, r.status, r.stderr, row.status, row.stderr)
		}
		if row.status == 1 && !strings.Contains(r.stdout, "process "+pid) {
			t.Errorf("%s: the dump is not shown: %s", row.name, r.stdout)
		}
	}
	if again := execute(t, bound, fpstack, file); again.status != 0 {
		t.Errorf("after all that: status %d, %s", again.status, again.stderr)
	}
	for name, b := range map[string][]byte{"cut": whole[:len(whole)/2], "two": append(whole, whole...),
		"flipped": append(append([]byte{}, whole[:40]...), append([]byte{whole[40] ^ 1}, whole[41:]...)...)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
		r := execute(t, bound, fpstack, filepath.Join(dir, name))
		if name == "two" {
			if r.status != 0 || strings.Count(r.stdout, "process "+pid) != 2 {
				t.Errorf("two files in one: status %d, %s\n%s", r.status, r.stderr, r.stdout)
			}
		} else if r.status != 2 || !strings.Contains(r.stderr, "read snapshot") &&
			!strings.Contains(r.stderr, "could not be unpacked") {
			t.Errorf("%s: status %d, %q", name, r.status, r.stderr)
		}
	}
}
