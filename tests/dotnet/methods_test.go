//go:build linux

package dotnet

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// namer is a runtime that names what is at an address.
type namer interface {
	unwind.Starter
	unwind.Identifier
	resolve.SiteNamer
}

// runtime is the CoreCLR of s.
func (s *server) runtime(t testing.TB) namer {
	t.Helper()
	for _, r := range s.Runtimes.All() {
		if n, ok := r.(namer); ok && strings.HasPrefix(fmt.Sprint(r), ".NET") {
			return n
		}
	}
	t.Fatalf("no CoreCLR is found: %v", s.Runtimes.Err())
	return nil
}

// at names the method at an address; false if it is none.
func (s *server) at(n namer, pc uint64) (profile.Frame, bool) {
	th := &snapshot.Thread{}
	n.Start(th, s.Process)
	stack := unwind.Stack{Frames: []unwind.Frame{{PC: mem.Addr(pc), Interrupted: true}}}
	n.Identify(th, &stack, s.Process)
	frames := n.Frames(stack.Frames[0].Site)
	if len(frames) == 0 {
		return profile.Frame{Note: stack.Frames[0].Note}, false
	}
	return frames[0], true
}

// TestMethods names an address in each method of the perf map that a server writes, and compares type, generic
// arguments, method, assembly and start.
func TestMethods(t *testing.T) {
	least, busy := 1000, time.Second
	if *full {
		least, busy = 5000, 20*time.Second
	}
	for _, version := range versions(t) {
		if !*full && version != library {
			continue
		}
		t.Run(version, func(t *testing.T) {
			environment := []string{"DOTNET_PerfMapEnabled=3"}
			if version == "9.0.1" { // a small program: without precompiled code it compiles enough
				environment = append(environment, "DOTNET_ReadyToRun=0")
			}
			s := start(t, version, environment...)
			path := fmt.Sprintf("/tmp/perf-%d.map", s.PID())
			t.Cleanup(func() { os.Remove(path) })
			go s.work()
			time.Sleep(busy)
			lines := readLines(t, path)
			for end := time.Now().Add(patience); len(lines) < 2*least && time.Now().Before(end); {
				time.Sleep(busy)
				lines = readLines(t, path)
			}
			s.Forget(t)
			s.compareMethods(t, lines, least)
		})
	}
}

// compareMethods compares each method of a perf map.
func (s *server) compareMethods(t *testing.T, m map[uint64]method, least int) {
	t.Helper()
	n := s.runtime(t)
	right, dynamic, gone := 0, 0, 0
	random := rand.New(rand.NewPCG(1, 2))
	for start, want := range m {
		pc := start + random.Uint64N(max(want.size, 1))
		f, ok := s.at(n, pc)
		switch {
		case strings.Contains(want.name, "[dynamicClass]") || strings.Contains(want.name, "dynamicClass::"):
			dynamic++ // what is at its address may be another one by now
		case !ok:
			gone++
			t.Logf("%#x is not named (%s), the map says %q", pc, f.Note, want.name)
		case pc-f.Offset != start || !sameMethod(want.name, &f):
			t.Errorf("%#x is %q at %#x, the map says %q at %#x", pc, f.Linkage, pc-f.Offset, want.name, start)
		default:
			right++
		}
	}
	t.Logf("%d methods right, %d dynamic methods, %d not named", right, dynamic, gone)
	if right < least || gone > right/1000 {
		t.Errorf("%d methods are right and %d not named, want at least %d right", right, gone, least)
	}
}

// sameMethod reports whether the line of a perf map, "RETURN [ASSEMBLY] TYPE[ARGUMENTS]::METHOD(SIGNATURE)[TIER]",
// means the frame. It has no generic arguments of the method itself.
func sameMethod(line string, f *profile.Frame) bool {
	raw := f.Linkage
	if i := strings.Index(raw, "::"); i >= 0 {
		bare, _, _ := strings.Cut(raw[i:], "[")
		raw = raw[:i] + bare
	}
	return strings.Contains(" "+line, " "+raw+"(")
}
