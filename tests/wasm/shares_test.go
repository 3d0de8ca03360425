//go:build linux

package wasm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

// TestShares: a loop, tail calls, and the host below WebAssembly have the shares of CPU time that the host counts.
func TestShares(t *testing.T) {
	for _, version := range harness.Sharers(strings.Split(*versions, ",")) {
		t.Run("v"+version, func(t *testing.T) {
			program := filepath.Join(folder, "host-v"+version)
			if _, err := os.Stat(program); err != nil {
				t.Skipf("%v: scripts/build-wasm makes it", err)
			}
			cmd := exec.Command(program, "shares", modules)
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			pid, said := harness.StartShares(t, cmd)
			harness.CompareShares(t, pid, said)
		})
	}
}
