//go:build linux

package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// crashedProgram is a core of a program of the test's own, which may be taken away.
type crashedProgram struct {
	program, core string
	want          string // what is shown while the program is there
}

func ownCrash(t *testing.T) *crashedProgram {
	t.Helper()
	s := &crashedProgram{program: filepath.Join(room(t), "prog")}
	copyFile(t, program(t, "crash"), s.program)
	if err := os.Chmod(s.program, 0o755); err != nil {
		t.Fatal(err)
	}
	s.core = crashed(t, s.program, "null")
	o := show(t, s.core)
	if s.want = o.stdout; o.status != 0 || o.stderr != "" || !strings.Contains(s.want, "  fall ") {
		t.Fatalf("status %d, %s\n%s", o.status, o.stderr, s.want)
	}
	return s
}

// TestCoreFiles: the program is gone, is another, is given by hand, lies below another root.
func TestCoreFiles(t *testing.T) {
	s := ownCrash(t)
	moved := s.program + ".moved"
	if err := os.Rename(s.program, moved); err != nil {
		t.Fatal(err)
	}
	o := show(t, s.core)
	if o.status != 1 || !strings.Contains(o.stderr, `find "`+s.program+`" (build id `) ||
		!strings.Contains(o.stderr, "Name the program after the core") || !strings.Contains(o.stdout, "  prog+0x") ||
		strings.Contains(o.stdout, "  fall ") {
		t.Errorf("without the program: status %d, %s\n%s", o.status, o.stderr, o.stdout)
	}
	if o := show(t, s.core, moved); o.stdout != s.want || o.status != 0 || o.stderr != "" {
		t.Errorf("with the program named: status %d, %s\n%s\nwant\n%s", o.status, o.stderr, o.stdout, s.want)
	}
	other := program(t, "threads")
	o = show(t, s.core, other)
	if o.status != 1 || !strings.Contains(o.stderr, `refuse "`+other) || strings.Contains(o.stdout, "  fall ") {
		t.Errorf("with another program named: status %d, %s\n%s", o.status, o.stderr, o.stdout)
	}
	copyFile(t, other, s.program)
	o = show(t, s.core)
	if o.status != 1 || !strings.Contains(o.stderr, "refuse") || strings.Contains(o.stdout, "  fall ") {
		t.Errorf("with another at its path: status %d, %s\n%s", o.status, o.stderr, o.stdout)
	}
	root := room(t)
	inRoot := filepath.Join(root, s.program)
	if err := os.MkdirAll(filepath.Dir(inRoot), 0o755); err != nil {
		t.Fatal(err)
	}
	copyFile(t, moved, inRoot)
	o = show(t, s.core, "--sysroot", root)
	if o.status != 1 || !strings.Contains(o.stdout, "  fall ") || !strings.Contains(o.stderr, "libc.so.6") {
		t.Errorf("below a root without the C library: status %d, %s\n%s", o.status, o.stderr, o.stdout)
	}
	if o := show(t, s.core, moved); o.status != 0 || !strings.Contains(o.stdout, "  fall ") {
		t.Errorf("with one named and another at its path: status %d, %s\n%s", o.status, o.stderr, o.stdout)
	}
	if err := os.Remove(s.program); err != nil {
		t.Fatal(err)
	}
	ids := filepath.Join(room(t), ".build-id")
	id := strings.TrimSpace(buildID(t, moved))
	if err := os.MkdirAll(filepath.Join(ids, id[:2]), 0o755); err != nil {
		t.Fatal(err)
	}
	copyFile(t, moved, filepath.Join(ids, id[:2], id[2:]))
	if o := show(t, s.core, "--debug-dir", filepath.Dir(ids)); o.stdout != s.want || o.status != 0 {
		t.Errorf("by its build id: status %d, %s\n%s", o.status, o.stderr, o.stdout)
	}
}

// buildID asks readelf.
func buildID(t *testing.T, file string) string {
	t.Helper()
	_, rest, ok := strings.Cut(execute(t, bound, installed(t, "readelf"), "-n", file).stdout, "Build ID: ")
	if !ok {
		t.Fatalf("%s has no build id", file)
	}
	id, _, _ := strings.Cut(rest, "\n")
	return id
}

// TestCoreForms: compressed, by a pipe, saved as a small file, and as JSON that is named later: the same.
func TestCoreForms(t *testing.T) {
	s := ownCrash(t)
	for _, tool := range [][]string{{"gzip", "-c"}, {"zstd", "-qc"}, {"lz4", "-qc"}} {
		if _, err := exec.LookPath(tool[0]); err != nil {
			t.Logf("%s is not installed", tool[0])
			continue
		}
		packed := filepath.Join(room(t), "core."+tool[0])
		if o := execute(t, bound, "sh", "-c", `out=$1; shift; "$@" >"$out"`, "sh", packed, tool[0], tool[1],
			s.core); o.status != 0 {
			t.Fatalf("%s: %s", tool[0], o.stderr)
		}
		if o := show(t, packed); o.stdout != s.want || o.status != 0 {
			t.Errorf("%s: status %d, %s\n%s", tool[0], o.status, o.stderr, o.stdout)
		}
		if err := os.Truncate(packed, 9000); err != nil {
			t.Fatal(err)
		}
		if o := show(t, packed); o.status == 0 || o.stderr == "" {
			t.Errorf("%s, cut: status %d, %s\n%s", tool[0], o.status, o.stderr, o.stdout)
		}
	}
	if o := execute(t, bound, "sh", "-c", `cat "$1" | "$2" -`, "sh", s.core, fpstack); o.stdout != s.want {
		t.Errorf("by a pipe: status %d, %s\n%s", o.status, o.stderr, o.stdout)
	}
	small, document := filepath.Join(room(t), "small"), filepath.Join(room(t), "dump.json")
	show(t, s.core, "--save", small)
	if info, err := os.Stat(small); err != nil || info.Size() > 100_000 || info.Mode() != 0o600 {
		t.Errorf("saved: %v, %v", info, err)
	}
	show(t, s.core, "-f", "json", "-o", document)
	for _, args := range [][]string{{small}, {document}} {
		if o := show(t, args...); o.stdout != s.want || o.status != 0 {
			t.Errorf("%q: status %d, %s\n%s\nwant\n%s", args, o.status, o.stderr, o.stdout, s.want)
		}
	}
	o := show(t, s.core, "-f", "folded")
	if !strings.Contains(o.stdout, "_start;__libc_start_main;__libc_start_call_main;main;die;fall;fall;fall;fall 1\n") {
		t.Errorf("folded:\n%s", o.stdout)
	}
}

// TestCoreCut: of a core that ends early what is there is shown, and that it was cut.
func TestCoreCut(t *testing.T) {
	s := ownCrash(t)
	data, err := os.ReadFile(s.core)
	if err != nil {
		t.Fatal(err)
	}
	cut, best := filepath.Join(room(t), "cut"), 0
	for _, size := range []int{0, 1, 63, 64, 100, 500, 1000, 2000, 2100, 3000, 5000, 10_000, 15_000, 20_000, 30_000,
		100_000, 1 << 20, 4 << 20, len(data) / 2, len(data) - 4096, len(data) - 1} {
		if err := os.WriteFile(cut, data[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		o := show(t, cut)
		frames := strings.Count(o.stdout, "\n  #")
		if o.status == 0 || o.stderr == "" || (o.status == 1) != (frames > 0) {
			t.Errorf("cut at %d: status %d, %q\n%s", size, o.status, o.stderr, o.stdout)
		}
		if o.status == 1 && !strings.Contains(o.stderr, "cut short") {
			t.Errorf("cut at %d: that is not said: %s", size, o.stderr)
		}
		if frames < best {
			t.Errorf("cut at %d there are %d frames, of less of it %d", size, frames, best)
		}
		best = max(best, frames)
	}
	if best < strings.Count(s.want, "\n  #") {
		t.Errorf("without its last byte there are %d frames:\n%s", best, s.want)
	}
}

// TestCoreBesidePeers: eu-stack and gdb name the same functions for the thread that died.
func TestCoreBesidePeers(t *testing.T) {
	for _, row := range [][]string{{"crash", "null"}, {"crash", "handler"}, {"crash-cc", "uncaught"}} {
		t.Run(strings.Join(row, "-"), func(t *testing.T) {
			t.Parallel()
			file := program(t, row[0])
			core := crashed(t, file, row[1])
			d := decode(t, show(t, core, "-f", "json").stdout)[0]
			script := filepath.Join(room(t), "frames.py")
			if err := os.WriteFile(script, []byte(gdbScript), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, peer := range [][]string{
				{installed(t, "eu-stack"), "-r", "-n", "0", "--core", core, "-e", file},
				{installed(t, "gdb"), "-nx", "-q", "-batch", "-iex", "set auto-load off", "-x", script, file, core},
			} {
				theirs := readStacks(execute(t, peerLimit, peer[0], peer[1:]...).stdout)[d.Threads[0].TID]
				ours := physical(d.Threads[0].Stack.Frames)
				if fmt.Sprint(addressesOf(ours)) != fmt.Sprint(placesOf(theirs)) {
					t.Errorf("%s:\n%s", filepath.Base(peer[0]), sideBySide(d, ours, theirs))
				}
			}
		})
	}
}

func addressesOf(frames []frame) (out []uint64) {
	for _, f := range frames {
		out = append(out, value(f.Address))
	}
	return out
}

func placesOf(list []place) (out []uint64) {
	for _, p := range list {
		out = append(out, p.address)
	}
	return out
}

// TestCoreRefuses: options that have no meaning for a core, and files that are none.
func TestCoreRefuses(t *testing.T) {
	s := ownCrash(t)
	text := filepath.Join(room(t), "text")
	if err := os.WriteFile(text, []byte("no core at all, but some text that is long enough for a header of one\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{s.program}, 64, "is a program or a debug file"},
		{[]string{s.core, s.program, "/bin/true"}, 64, "2 programs for a core"},
		{[]string{"-p", "1", "--sysroot", "/"}, 64, "--sysroot with a process"},
		{[]string{s.core, "-p", "1"}, 64, "and a process"},
		{[]string{s.core, "--kernel"}, 64, "--kernel without a process"},
		{[]string{s.core, "--rolling"}, 64, "--rolling without a process"},
		{[]string{"/nonexistent"}, 2, "no such file"},
		{[]string{text}, 2, text},
		{[]string{"/dev/null"}, 2, "it is empty"},
		{[]string{s.core, "-t", "1"}, 1, "no process given has this thread"},
	} {
		o := show(t, row.args...)
		if o.status != row.status || !strings.Contains(o.stderr, row.want) {
			t.Errorf("%q: status %d, %s; want %d, %q", row.args, o.status, o.stderr, row.status, row.want)
		}
	}
}
