//go:build linux && (amd64 || arm64)

package python

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

// TestShares: functions have the shares of CPU time that the script counts itself.
func TestShares(t *testing.T) {
	for _, in := range harness.Sharers(interpreters(t)) {
		t.Run(in.name, func(t *testing.T) {
			cmd := exec.Command(in.path, copyScripts(t, in)+"/parts.py")
			cmd.Env = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1"}
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Chroot: in.root}
			cmd.Dir = "/"
			pid, said := harness.StartShares(t, cmd)
			harness.CompareShares(t, pid, said)
		})
	}
}
