//go:build linux && (amd64 || arm64)

package java

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// TestForeign: C that Java calls by the foreign function interface has its caller, and so has Java that C calls back.
func TestForeign(t *testing.T) {
	if !exists(filepath.Join(fetched, "classes", "Foreign.class")) {
		t.Skip("Foreign.class is not here: it takes a javac of JDK 22 or later")
	}
	forEach(t, func(t *testing.T, version string, flags []string) {
		if n, _ := strconv.Atoi(version); n < 22 {
			t.Skipf("JDK %s has no such interface: it came with 22", version)
		}
		// Some collectors have no place in the loop of spin that the compiler describes: inlined, spin is named as
		// whatever is described next.
		flags = append(slices.Clone(flags), "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Foreign.spin")
		p := start(t, version, append(flags, "--enable-native-access=ALL-UNNAMED", "Foreign")...)
		back := 0
		p.sampleEach(t, count(100, 1500), "Foreign.main", func(s *profile.Stack) string {
			if slices.Contains(functions(s.Frames), "Foreign.compare") {
				back++
			}
			return inForeign(s)
		})
		if t.Logf("%d were called back", back); back == 0 {
			t.Error("no sample was called back by C")
		}
	})
}

// inForeign says what is wrong with a stack of Foreign, "" for nothing.
func inForeign(s *profile.Stack) string {
	var names []string // of the program's own, and of C between them
	for _, f := range sure(s.Frames) {
		switch {
		case strings.HasPrefix(f.Func, "Foreign."):
			names = append(names, strings.TrimPrefix(f.Func, "Foreign."))
		case strings.HasPrefix(f.Func, "qsort"), f.Func == "usleep":
			names = append(names, "C")
		case f.Kind == profile.Java && !f.Stub && strings.HasSuffix(f.Func, "Stub.invoke"):
			return f.Func + " stands between"
		}
	}
	slices.Reverse(names)
	names = slices.Compact(names)
	chains := [][]string{{"main", "rounds", "sort", "C", "compare", "spin"}, {"main", "rounds", "nap", "C"}}
	for _, chain := range chains {
		if s.Complete && len(names) > 0 && len(names) <= len(chain) && slices.Equal(names, chain[:len(names)]) {
			return ""
		}
	}
	return fmt.Sprintf("it is %q, complete: %t", names, s.Complete)
}
