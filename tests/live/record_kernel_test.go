//go:build linux

package live

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestRecordKernel has --kernel show where in the kernel a thread waits, as kernel frames behind its call, and say once
// why it cannot.
func TestRecordKernel(t *testing.T) {
	asRoot(t)
	p := runTarget(t, "parks", "1")
	if b, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/stack"); err != nil || len(b) == 0 {
		t.Skipf("this kernel shows no /proc/PID/stack: %v", err)
	}
	out := filepath.Join(t.TempDir(), "out.folded")
	o := execute(t, bound, fpstack, "record", "-p", strconv.Itoa(p.pid), "-d", "500ms", "--kernel", "--annotate",
		"-o", out)
	b, err := os.ReadFile(out)
	if err != nil || o.status != 0 {
		t.Fatalf("status %d: %v\n%s", o.status, err, o.stderr)
	}
	for line := range strings.Lines(string(b)) {
		stack, _, _ := strings.Cut(line, " ")
		kernel := 0
		for frame := range strings.SplitSeq(stack, ";") {
			if strings.HasSuffix(frame, "_[k]") {
				kernel++
			}
		}
		if kernel < 3 {
			t.Errorf("no call with functions of the kernel behind it: %s", line)
		}
	}
	o = execute(t, bound, fpstack, "record", "-p", strconv.Itoa(p.pid), "--kernel", "--mode", "cpu", "-o", out)
	if o.status != 64 || !strings.Contains(o.stderr, "--kernel") {
		t.Errorf("with --mode cpu: status %d\n%s", o.status, o.stderr)
	}
}
