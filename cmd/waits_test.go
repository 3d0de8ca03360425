//go:build linux

package cmd

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/procfs"
)

// TestWaitsForOurselves: what waits for this very process says so, and that is no problem.
func TestWaitsForOurselves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Skipf("no locks: %v", err)
	}
	c := exec.Command("flock", path, "true")
	if err := c.Start(); err != nil {
		t.Skipf("no flock: %v", err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		st, err := procfs.ReadStat("/proc", c.Process.Pid)
		if err == nil && st.State == 'S' && st.Comm == "flock" {
			break
		}
	}
	var out, complaint bytes.Buffer
	status := Execute([]string{"--waits", "-p", fmt.Sprint(c.Process.Pid)}, &out, &complaint)
	if strings.Contains(complaint.String(), "permi") {
		t.Skip(complaint.String())
	}
	if status != statusAll || !strings.Contains(out.String(), "waits for this fpstack") ||
		strings.Contains(out.String(), "stop itself") || complaint.Len() > 0 {
		t.Errorf("status %d, %q, %q", status, out.String(), complaint.String())
	}
}
