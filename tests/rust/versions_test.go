//go:build linux && (amd64 || arm64)

package rust

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestVersions: what is true of the newest tokio is of others: those that scripts/build-rust --all has made, optimized
// and not.
func TestVersions(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		program string
		lists   func(t *testing.T, program, scheduler string)
	}{{"tasks", listsTasks}, {"held", listsHeld}, {"several", listsSeveral}} {
		t.Run(of.program, func(t *testing.T) {
			found, err := filepath.Glob(filepath.Join(built, of.program+"-1.*"))
			if err != nil {
				t.Fatal(err)
			}
			var programs []string
			for _, path := range found {
				if name := filepath.Base(path); name != "tasks-1.28" && !strings.HasSuffix(name, ".new") { // TestTasks
					programs = append(programs, name)
				}
			}
			if len(programs) == 0 {
				t.Skipf("%s of another tokio is not here: scripts/build-rust --all makes it", of.program)
			}
			eachScheduler(t, programs, of.lists)
		})
	}
}
