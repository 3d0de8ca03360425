//go:build linux

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

// TestShares: functions of C, with frame pointers and without, and of Go have the shares of CPU time that they count
// themselves: loops, copies in a function of libc without a frame, memory, calls of the kernel that fail, and panics.
func TestShares(t *testing.T) {
	all := []string{"shares-fp", "shares-notables", "shares-go-stripped", "shares-go", "shares"}
	for _, name := range harness.Sharers(all) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(built, name)
			if _, err := os.Stat(path); err != nil {
				t.Skipf("%v: scripts/build-live makes it", err)
			}
			cmd := exec.Command(path)
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			pid, said := harness.StartShares(t, cmd)
			harness.CompareShares(t, pid, said)
		})
	}
}
