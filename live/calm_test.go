package live

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestRecordingIsCalm asks a command under fpstack record what its timers and those of fpstack are: the
// runtime's watching thread has coarse ones, the command what it would have had, and fpstack its name.
func TestRecordingIsCalm(t *testing.T) {
	script := `cat /proc/self/timerslack_ns; cat /proc/$PPID/timerslack_ns 2>/dev/null || echo hidden; cat /proc/$PPID/comm; tr '\0' ' ' </proc/$PPID/cmdline`
	cmd := exec.Command(fpstack, "record", "-q", "-o", t.TempDir()+"/x.folded", "--", "/bin/sh", "-c", script)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitN(string(out), "\n", 4)
	hidden := len(lines) > 1 && lines[1] == "hidden" && os.Geteuid() != 0 // CAP_SYS_NICE is needed to read it
	if len(lines) != 4 || lines[0] != "50000" || lines[1] != "4000000" && !hidden || lines[2] != "fpstack" {
		t.Errorf("the command's slack, ours and our name: got %q, want 50000, 4000000, fpstack", lines)
	}
	if want := strings.Join(cmd.Args, " "); !strings.HasPrefix(lines[len(lines)-1], want) {
		t.Errorf("command line %q, want %q", lines[len(lines)-1], want)
	}
}
