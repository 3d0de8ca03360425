//go:build linux

package dotnet

import (
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/walked"
)

var known = flag.Int("known", 100, "stops of testdata/dotnet/known.cs in each of its ways")

// knownChain are the methods that call each other in testdata/dotnet/known.cs, outermost first.
var knownChain = []string{"Known.Chain.Run", "Known.Chain.First", "Known.Step.ByTable", "Known.Step.ByInterface",
	"Known.Pair<__Canon>.Shared<int>", "Known.Chain.Sorting", "Known.Chain.Compare", "Known.Chain.Caught",
	"Known.Chain.OnStack", "Known.Chain.Wide", "Known.Chain.Narrow", "Known.Step.GetHashCode", "Known.Chain.Numbers",
	"Known.Chain.Last"}

// beside are methods that are called for a moment, and by which.
var beside = map[string]string{"Known.Chain.Throw": "Known.Chain.Caught", "Known.Chain.Fold": "Known.Chain.Wide",
	"Known.Step.Equals": "Known.Chain.Narrow"}

// TestKnown: a thread that runs through a fixed chain of calls has, in each stop, the first methods of it and no
// others, and its outermost frame. It is run as the runtime does by itself (tiers, on-stack replacement), with code
// that is never optimized, optimized at once, and without precompiled code.
func TestKnown(t *testing.T) {
	for _, version := range append(folders(), singleFiles()...) {
		for name, way := range map[string]string{"tiers": "", "unoptimized": "DOTNET_JITMinOpts=1",
			"optimized": "DOTNET_TieredCompilation=0", "compiled": "DOTNET_ReadyToRun=0"} {
			t.Run(version+"/"+name, func(t *testing.T) {
				s, thread := startKnown(t, version, way)
				right, unsure, cut, precompiled := 0, 0, 0, 0
				innermost := map[string]int{}
				for i := range *known {
					walked.Pause(i)
					shot := s.Stop(t)
					for k, stack := range s.Stacks(shot) {
						th := &shot.Threads[k]
						if !thread(th) {
							continue
						}
						if id := s.Runtimes.ThreadFacts(shot)[th.TID].ID; id == 0 || (id == 1) != (th.TID == s.PID()) {
							t.Errorf("the thread is number %d", id)
						}
						why := outOfChain(&stack)
						switch {
						case !stack.Complete:
							cut++
							t.Logf("stop %d ends early: %s %s%s", i, stack.Stop, stack.Detail, tail(&stack))
						case why != "" && anyUnsure(&stack):
							unsure++
							t.Logf("stop %d is unsure: %s%s", i, why, tail(&stack))
						case why != "":
							t.Errorf("stop %d: %s\n%s", i, why, frames(&stack))
						default:
							right++
						}
						if f := &stack.Frames[0]; f.Kind == profile.DotNet {
							innermost[f.Func]++
							if f.Module != 0 {
								precompiled++
							}
						}
					}
				}
				t.Logf("%d right, %d unsure, %d end early; innermost %v", right, unsure, cut, innermost)
				fmt.Printf("| %s %s | %d right | %d unsure | %d cut |\n", version, name, right, unsure, cut)
				if least := *known - max(1, *known/100); right < least {
					t.Errorf("%d of %d stacks are right", right, *known)
				}
			})
		}
	}
}

// singleFiles are programs of a single file whose runtimes known.dll is run in. Those for arm64 have of the libraries
// what they want themselves.
func singleFiles() []string {
	if runtime.GOARCH == "arm64" {
		return []string{"8.0.6", "9.0.5", "9.0.9"}
	}
	return []string{"8.0.30"}
}

// startKnown starts known.dll in the runtime of a version, and tells the thread that runs through the chain.
func startKnown(t *testing.T, version, way string) (s *server, thread func(*snapshot.Thread) bool) {
	t.Helper()
	if slices.Contains(folders(), version) {
		s = startHost(t, filepath.Join(fetched, version), own, []string{way}, "known.dll")
		return s, func(th *snapshot.Thread) bool { return th.Comm == "known" }
	}
	cmd := knownInPlace(t, version, way)
	s = startWaiting(t, cmd)
	thread = func(th *snapshot.Thread) bool { return th.TID == s.PID() }
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		s.open(t, cmd)
		shot := s.Stop(t)
		for k, stack := range s.Stacks(shot) {
			if thread(&shot.Threads[k]) && (len(methodsIn(&stack, "Known.Chain.")) > 0 || time.Now().After(end)) {
				return s, thread
			}
		}
	}
}

// knownInPlace is a program of a single file with known.dll in the place of its own assembly.
func knownInPlace(t *testing.T, version, way string) *exec.Cmd {
	t.Helper()
	name := programs[version].name
	if runtime.GOARCH == "arm64" {
		name = "vsce-sign"
	}
	cmd := inPlaceOf(t, version, name, "known.dll", "first")
	cmd.Env = append(cmd.Env, way)
	return cmd
}

// outOfChain says what is wrong with the methods of a stack, "" if nothing is.
func outOfChain(s *profile.Stack) string {
	next := 0
	before := ""
	for i := len(s.Frames) - 1; i >= 0; i-- {
		f := &s.Frames[i]
		switch name := f.Func; {
		case f.Kind == profile.JIT:
			return "a frame has no name: " + f.Note
		case f.Kind != profile.DotNet || !strings.HasPrefix(name, "Known."):
		case name == "Known.Program.Main" && next == 0:
		case beside[name] != "" && beside[name] == before:
			before = name
		case next < len(knownChain) && name == knownChain[next]:
			next++
			before = name
		case name == "Known.Chain.Caught" && before == "Known.Chain.Throw", name == before: // a funclet
			before = name
		default:
			return fmt.Sprintf("%s is called by %s", name, before)
		}
	}
	if next == 0 && len(s.Frames) > 0 {
		return "no method is there"
	}
	return ""
}

func anyUnsure(s *profile.Stack) bool {
	for i := range s.Frames {
		if s.Frames[i].Unsure {
			return true
		}
	}
	return false
}

// frames are those of a stack as lines.
func frames(s *profile.Stack) string {
	var b strings.Builder
	for i := range s.Frames {
		f := &s.Frames[i]
		fmt.Fprintf(&b, "\t%#x %s {%s} %s\n", f.Addr, f.Func, f.Origin, f.Note)
	}
	return b.String()
}
