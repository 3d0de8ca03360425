//go:build linux && (amd64 || arm64)

package dotnet

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

// TestShares: methods have the shares of CPU time that the program counts itself.
func TestShares(t *testing.T) {
	for _, version := range harness.Sharers(append(singleFiles(), folders()...)) {
		t.Run(version, func(t *testing.T) {
			pid, said := harness.StartShares(t, sharesIn(t, version))
			harness.CompareShares(t, pid, said)
		})
	}
}

// sharesIn is shares.dll in the runtime of a version.
func sharesIn(t *testing.T, version string) *exec.Cmd {
	t.Helper()
	var cmd *exec.Cmd
	switch {
	case slices.Contains(folders(), version):
		host, err := filepath.Abs(filepath.Join(own, "host"))
		if err != nil {
			t.Fatal(err)
		}
		path, err := filepath.Abs(filepath.Join(fetched, version))
		if err != nil {
			t.Fatal(err)
		}
		for _, needed := range []string{host, path, filepath.Join(own, "shares.dll")} {
			if _, err := os.Stat(needed); err != nil {
				t.Skipf("%v: scripts/build-dotnet makes it", err)
			}
		}
		cmd = exec.Command(host, path, "shares.dll")
		cmd.Dir = own
		cmd.Env = append(os.Environ(), "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1")
	case runtime.GOARCH == "arm64":
		cmd = inPlaceOf(t, version, "vsce-sign", "shares.dll")
	default:
		cmd = inPlaceOf(t, version, programs[version].name, "shares.dll")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}
