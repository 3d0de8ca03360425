//go:build linux

package dotnet

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind"
)

// TestUnloaded: where an assembly was unloaded and another one loaded, methods of the second have their own names, also
// those that lie where methods of the first lay. They are sure from the second stop on: what leads to their code is
// copied from then on.
func TestUnloaded(t *testing.T) {
	rounds := 12
	if *full {
		rounds = 400
	}
	folder, err := filepath.Abs(own)
	if err != nil {
		t.Fatal(err)
	}
	methods := map[string]string{"first": "Plugins.Earlier.BeforeAll", "second": "Plugins.Another.AfterThat"}
	for _, version := range folders() {
		t.Run(version, func(t *testing.T) {
			s := startHost(t, filepath.Join(fetched, version), own, []string{"DOTNET_TieredCompilation=0"},
				"unloaded.dll", folder)
			at := map[mem.Addr]map[string]bool{}
			for i := range rounds {
				line, err := s.out.ReadString('\n')
				if err != nil {
					t.Fatalf("round %d: %v", i, err)
				}
				want := methods[strings.TrimSpace(line)]
				for again := range 2 {
					name, start, unsure := s.plugin(t)
					if name != want || unsure && again > 0 {
						t.Errorf("round %d, stop %d: %q, unsure %t, want %q", i, again, name, unsure, want)
					}
					if at[start] == nil {
						at[start] = map[string]bool{}
					}
					at[start][want] = true
				}
				fmt.Fprintln(s.in)
			}
			both := 0
			for _, names := range at {
				if len(names) > 1 {
					both++
				}
			}
			t.Logf("methods lay in %d places, those of both assemblies in %d of them", len(at), both)
		})
	}
}

// plugin is the method of an assembly that was loaded which a thread is in.
func (s *server) plugin(t *testing.T) (name string, start mem.Addr, unsure bool) {
	t.Helper()
	shot := s.Stop(t)
	for i := range shot.Threads {
		walked := s.Walk(shot, i)
		for _, f := range walked.Frames {
			if f.Runtime == nil {
				continue
			}
			one := walked
			one.Frames = []unwind.Frame{f}
			if x := s.Names.Stack(&one).Frames[0]; strings.HasPrefix(x.Func, "Plugins.") {
				return x.Func, mem.Addr(x.Addr - x.Offset), f.Unsure
			}
		}
	}
	return "", 0, false
}
