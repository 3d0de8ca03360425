//go:build linux

package live

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRecordUsage: a command line that is off gives status 64 and the reason, and nothing runs.
func TestRecordUsage(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing to sample", nil, "nothing to sample"},
		{"nothing after --", []string{"--"}, "no command after --"},
		{"a process before --", []string{"1", "--", "make"}, `"1" together with a command`},
		{"both", []string{"-p", "1", "--", "make"}, "with a command: give one of them"},
		{"threads of a command", []string{"-t", "1", "--", "make"}, "-t"},
		{"unknown ending", []string{"-p", "1", "-o", "out.png"},
			".folded .txt .pb.gz .pprof .pb .svg .html .speedscope.json .json"},
		{"no ending", []string{"-p", "1", "-o", "out"}, "give -f"},
		{"unknown format", []string{"-p", "1", "-f", "png"}, "folded, pprof, svg, html, speedscope or json"},
		{"format of a dump", []string{"-p", "1", "-f", "text"}, "want folded"},
		{"rate is negative", []string{"-p", "1", "-F", "-1"}, "--rate -1"},
		{"rate is no number", []string{"-p", "1", "-F", "NaN"}, "--rate NaN"},
		{"rate beyond any machine", []string{"-p", "1", "-F", "1e9"}, "--rate"},
		{"duration of nothing", []string{"-p", "1", "-d", "0s"}, "--duration"},
		{"duration that is no time", []string{"-p", "1", "-d", "soon"}, "duration"},
		{"share beyond the whole", []string{"-p", "1", "--max-overhead", "5"}, "as 5% or 0.05"},
		{"unknown mode", []string{"-p", "1", "--mode", "gpu"}, "wall or cpu"},
		{"negative number of frames", []string{"-p", "1", "--max-frames", "-1"}, "--max-frames -1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := show(t, append([]string{"record"}, tt.args...)...)
			checkUsage(t, o, tt.want)
		})
	}
}

// TestRecordReportsBefore: what cannot be written is reported before the recording, not after it.
func TestRecordReportsBefore(t *testing.T) {
	p := duty(t, "100", "1", "cpu", "100")
	dir := room(t)
	if err := os.Mkdir(filepath.Join(dir, "folder.svg"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, path, want string }{
		{"folder that is not there", filepath.Join(dir, "no", "out.svg"), "no such file or directory"},
		{"a folder", filepath.Join(dir, "folder.svg"), "is a directory"},
		{"folder of the kernel", "/proc/out.svg", "no such file or directory"},
	} {
		begin := time.Now()
		o := show(t, "record", "-p", strconv.Itoa(p.pid), "-d", "20s", "-o", tt.path)
		if o.status != 2 || !strings.Contains(o.stderr, tt.want) || !strings.Contains(o.stderr, tt.path) {
			t.Errorf("%s: status %d, %q; want 2 and %q", tt.name, o.status, o.stderr, tt.want)
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%s: reported after %v", tt.name, took)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("files %q are left", got)
	}
}

var savedAs = regexp.MustCompile(`The recording was saved as (\S+)\n`)

// TestRecordFullDisk: a result that does not fit leaves nothing half-written, and is saved where it
// does.
func TestRecordFullDisk(t *testing.T) {
	asRoot(t)
	p := duty(t, "100", "1", "cpu", "70", "30")
	full, elsewhere := room(t), room(t)
	if err := syscall.Mount("tmpfs", full, "tmpfs", 0, "size=8k"); err != nil {
		t.Skipf("no small file system can be had: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(full, syscall.MNT_DETACH) })
	out := filepath.Join(full, "out.html")
	t.Setenv("TMPDIR", elsewhere)
	o := show(t, "record", "-p", strconv.Itoa(p.pid), "-d", "500ms", "-o", out)
	if o.status != 1 || !strings.Contains(o.stderr, "no space left on device") {
		t.Errorf("status %d, %q; want 1 and the reason", o.status, o.stderr)
	}
	if got := names(t, full); len(got) > 0 {
		t.Errorf("files on the full disk: %q", got)
	}
	m := savedAs.FindStringSubmatch(o.stderr)
	if m == nil || filepath.Dir(m[1]) != elsewhere {
		t.Fatalf("not reported where it was saved: %q", o.stderr)
	}
	htmlFile(t, m[1])

	if o := show(t, "record", "-o", out, "--", "sh", "-c", "exit 3"); o.status != 125 {
		t.Errorf("with a command: status %d, want 125; %s", o.status, o.stderr)
	}
	t.Setenv("TMPDIR", full)
	o = show(t, "record", "-p", strconv.Itoa(p.pid), "-d", "500ms", "-o", out)
	if got := names(t, full); o.status != 2 || len(got) > 0 || strings.Count(o.stderr, "no space left") != 2 {
		t.Errorf("nowhere to go: status %d, files %q, %q; want 2, none and both reasons", o.status, got, o.stderr)
	}
}

// TestRecordFileSizeLimit: a limit is no reason to die.
func TestRecordFileSizeLimit(t *testing.T) {
	p := duty(t, "100", "1", "cpu", "70", "30")
	dir := room(t)
	t.Setenv("TMPDIR", dir)
	o := execute(t, bound, "sh", "-c", `ulimit -f 4; exec "$0" record -p "$1" -d 500ms -o "$2"`, fpstack,
		strconv.Itoa(p.pid), filepath.Join(dir, "out.html"))
	checkEnd(t, o, nil)
	if got := names(t, dir); o.status != 2 || len(got) > 0 || !strings.Contains(o.stderr, "file too large") {
		t.Errorf("status %d, files %q, %q; want 2, none and the reason", o.status, got, o.stderr)
	}
}

// TestRecordStandardOutput: a full disk below standard output is reported.
func TestRecordStandardOutput(t *testing.T) {
	p := duty(t, "100", "1", "cpu", "70", "30")
	dir := room(t)
	t.Setenv("TMPDIR", dir)
	o := execute(t, bound, "sh", "-c", `exec "$0" record -p "$1" -d 500ms >/dev/full`, fpstack, strconv.Itoa(p.pid))
	checkEnd(t, o, nil)
	m := savedAs.FindStringSubmatch(o.stderr)
	if o.status != 1 || !strings.Contains(o.stderr, "no space left on device") || m == nil {
		t.Fatalf("status %d, %q; want 1, the reason and where it was saved", o.status, o.stderr)
	}
	if self := foldedFile(t, m[1]); self["work_a"] == 0 {
		t.Errorf("saved: %v", self)
	}
}

// TestRecordKeepsDevices: a device or a pipe is written to, not replaced by a file.
func TestRecordKeepsDevices(t *testing.T) {
	p := duty(t, "100", "1", "cpu", "70", "30")
	pid := strconv.Itoa(p.pid)
	o := show(t, "record", "-p", pid, "-d", "300ms", "-f", "svg", "-o", "/dev/null")
	if info, err := os.Stat("/dev/null"); o.status != 0 || err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Fatalf("status %d, /dev/null is %v, %v; %s", o.status, info.Mode(), err, o.stderr)
	}
	o = show(t, "record", "-q", "-p", pid, "-d", "300ms", "-f", "folded", "-o", "/dev/stdout")
	if self := foldedSelf(t, o.stdout); self["work_a"] == 0 {
		t.Errorf("/dev/stdout: status %d, %v, %s", o.status, self, o.stderr)
	}
	dir := room(t)
	link, file := filepath.Join(dir, "latest.svg"), filepath.Join(dir, "first.svg")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("first.svg", link); err != nil {
		t.Fatal(err)
	}
	o = show(t, "record", "-q", "-p", pid, "-d", "300ms", "-o", link)
	if to, err := os.Readlink(link); o.status != 0 || err != nil || to != "first.svg" || len(readFile(t, file)) == 0 {
		t.Errorf("status %d, link to %q, %v; %s", o.status, to, err, o.stderr)
	}
}
