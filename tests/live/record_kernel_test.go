//go:build linux

package live

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/flame"
	"github.com/fpstack/fpstack/profile"
)

// TestRecordKernel has --kernel show where in the kernel a thread waits, as kernel frames behind its call, and say once
// why it cannot.
func TestRecordKernel(t *testing.T) {
	asRoot(t)
	p := runTarget(t, "parks", "1")
	if b, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/stack"); err != nil || len(b) == 0 {
		t.Skipf("this kernel shows no /proc/PID/stack: %v", err)
	}
	out := filepath.Join(t.TempDir(), "out.json")
	o := execute(t, bound, fpstack, "record", "-p", strconv.Itoa(p.pid), "-d", "500ms", "--kernel", "-o", out)
	if o.status != 0 {
		t.Fatalf("status %d\n%s", o.status, o.stderr)
	}
	got, err := flame.ReadJSON(strings.NewReader(readFile(t, out)))
	if err != nil || len(got.Samples) == 0 {
		t.Fatalf("%v, %+v", err, got)
	}
	for _, s := range got.Samples {
		kernel := 0
		var stack []string
		for _, f := range got.Tree.Append(nil, s.Stack) {
			stack = append(stack, got.Name(f))
			if got.Frames[f].Kind == profile.Kernel {
				kernel++
			}
		}
		if kernel < 3 {
			t.Errorf("no call with functions of the kernel behind it: %q", stack)
		}
	}
	folded := filepath.Join(t.TempDir(), "out.folded")
	o = execute(t, bound, fpstack, "record", "-p", strconv.Itoa(p.pid), "-d", "500ms", "--kernel", "-o", folded)
	for line := range strings.Lines(readFile(t, folded)) {
		if strings.Count(line, "_[k]") < 3 {
			t.Errorf("status %d: folded text without the kernel's frames marked: %q", o.status, line)
		}
	}
	o = execute(t, bound, fpstack, "top", "-p", strconv.Itoa(p.pid), "--once", "500ms", "--kernel", "--idle")
	if o.status != 0 || strings.Count(o.stdout, " (waits)") < 3 {
		t.Errorf("top: status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	o = execute(t, bound, fpstack, "record", "-p", strconv.Itoa(p.pid), "--kernel", "--mode", "cpu", "-o", out)
	if o.status != 64 || !strings.Contains(o.stderr, "--kernel") {
		t.Errorf("with --mode cpu: status %d\n%s", o.status, o.stderr)
	}
}

// TestRecordKernelWithoutRight: without the right it is said once, and the call itself is there.
func TestRecordKernelWithoutRight(t *testing.T) {
	asRoot(t)
	script := `"$0" 1000 & until [ "$(cut -d' ' -f3 /proc/$!/stat)" = S ] &&
		[ "$(tr -d '\0' </proc/$!/cmdline)" != "$(tr -d '\0' </proc/$$/cmdline)" ]; do sleep 0.01; done
		"$1" record -p $! -d 500ms -f folded -o /dev/stdout --kernel; s=$?; kill $!; exit $s`
	o := execute(t, bound, installed(t, "setpriv"), "--reuid", "65534", "--regid", "65534", "--clear-groups", "sh",
		"-c", script, installed(t, "sleep"), fpstack)
	if o.status != 0 || strings.Count(o.stderr, "where in the kernel threads wait is not shown") != 1 ||
		!strings.Contains(o.stdout, "nanosleep ") || strings.Contains(o.stdout, "_[k]") {
		t.Errorf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
}
