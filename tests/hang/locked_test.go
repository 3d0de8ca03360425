//go:build linux

package hang

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/hang/capture"
)

// TestLockedFiles: a file that another process has locked is told from one that was inherited with its lock.
func TestLockedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	locked, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer locked.Close()
	if err := syscall.Flock(int(locked.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	other, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, tt := range []struct {
		name  string
		file  *os.File
		locks int
	}{{"inherited with its lock", locked, 0}, {"opened by itself", other, 1}} {
		cmd := exec.Command("sleep", "100")
		cmd.ExtraFiles = []*os.File{tt.file}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		got := capture.Describe([]int{cmd.Process.Pid})
		cmd.Process.Kill()
		cmd.Wait()
		if len(got) != 1 || len(got[0].LockedFiles) != tt.locks {
			t.Errorf("%s: %+v, want %d locked files", tt.name, got, tt.locks)
		}
	}
}
