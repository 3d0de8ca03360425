//go:build linux

package dotnet

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

// TestProfiler: where a library is loaded that the runtime can begin as a profiler it is said that lines may be those
// of rewritten methods; nothing is said where none is.
func TestProfiler(t *testing.T) {
	library := harness.Compile(t, "gcc", "profiler.c", "int DllGetClassObject(void) { return 1; }", "libprofiler.so",
		"-shared", "-fPIC")
	for _, loaded := range []bool{false, true} {
		var environment []string
		if loaded {
			environment = []string{"LD_PRELOAD=" + library}
		}
		s := startHost(t, filepath.Join(fetched, library), own, environment, "shapes.dll", "generic")
		s.Stacks(s.Stop(t))
		err := s.Runtimes.Err()
		if said := err != nil && strings.Contains(err.Error(), "libprofiler.so"); said != loaded {
			t.Errorf("loaded %t: %v", loaded, err)
		}
	}
}
