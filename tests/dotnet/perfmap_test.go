//go:build linux

package dotnet

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/walked"
)

var (
	full   = flag.Bool("full", false, "all versions, and 5,000 stacks of each")
	stacks = flag.Int("stacks", 400, "stacks of each version")
)

// quick are the versions of each run without -full.
var quick = []string{"8.0.30", "9.0.5", "10.0.9"}

// TestStacks compares the frames of a busy server with the perf map that it writes.
func TestStacks(t *testing.T) {
	n := *stacks
	if *full {
		n = max(n, 5000)
	}
	for _, version := range versions(t) {
		if *full || slices.Contains(quick, version) {
			t.Run(version, func(t *testing.T) { compare(t, version, n) })
		}
	}
}

// seen is a frame that was shown: where its method begins, and its name.
type seen struct {
	start uint64
	name  string
}

// counts are of the stacks of one server.
type counts struct {
	stacks, complete                int
	managed, right, unlisted, stubs int
	unnamed, wrong                  int
	methods                         map[seen]bool
}

// compare takes n stacks and checks each frame of .NET.
func compare(t *testing.T, version string, n int) {
	s := start(t, version, "DOTNET_PerfMapEnabled=3")
	path := fmt.Sprintf("/tmp/perf-%d.map", s.PID())
	t.Cleanup(func() { os.Remove(path) })
	go s.work()
	c := counts{methods: map[seen]bool{}}
	frames := map[seen]int{}
	for i := 0; c.stacks < n; i++ {
		walked.Pause(i)
		shot := s.Stop(t)
		for k, stack := range s.Stacks(shot) {
			if len(stack.Frames) == 0 {
				continue
			}
			if c.stacks++; stack.Complete {
				c.complete++
			} else {
				where := fmt.Sprintf("%s %s%s", stack.Stop, stack.Detail, tail(&stack))
				t.Logf("thread %d %q ends: %s", shot.Threads[k].TID, shot.Threads[k].Comm, where)
			}
			c.collect(&stack, frames)
		}
	}
	s.end()
	c.judge(t, frames, readMap(t, path))
	t.Logf("%d stacks, %d complete; %d frames of .NET: %d right of %d methods, %d not in the map (precompiled), "+
		"%d stubs, %d not named, %d wrong", c.stacks, c.complete, c.managed, c.right, len(c.methods), c.unlisted,
		c.stubs, c.unnamed, c.wrong)
	switch {
	case c.wrong > 0 || c.unnamed > max(1, c.managed/1000):
		t.Errorf("%d frames are named wrongly, %d are not named", c.wrong, c.unnamed)
	case c.complete < c.stacks-max(1, c.stacks/1000):
		t.Errorf("%d of %d stacks are complete", c.complete, c.stacks)
	case c.right < c.stacks/4 || len(c.methods) < 20:
		t.Errorf("%d frames of %d methods were compared: too few", c.right, len(c.methods))
	}
}

// TestMapAlone: of a runtime that is not read, since its table for the debugger has another name, methods have the
// names that its perf map gives them, or its jitdump.
func TestMapAlone(t *testing.T) {
	for name, mode := range map[string]string{"map": "3", "jitdump": "2"} {
		t.Run(name, func(t *testing.T) {
			cmd := knownInPlace(t, singleFiles()[0], "DOTNET_PerfMapEnabled="+mode)
			program, err := os.ReadFile(cmd.Path)
			if err == nil {
				program = bytes.ReplaceAll(program, []byte("g_dacTable\x00"), []byte("g_otherXXX\x00"))
				err = os.WriteFile(cmd.Path, program, 0o755)
			}
			if err != nil {
				t.Fatal(err)
			}
			s := startWaiting(t, cmd)
			t.Cleanup(func() {
				os.Remove(fmt.Sprintf("/tmp/perf-%d.map", cmd.Process.Pid))
				os.Remove(fmt.Sprintf("/tmp/jit-%d.dump", cmd.Process.Pid))
			})
			right := 0
			for end := time.Now().Add(patience); right < 5 && time.Now().Before(end); {
				time.Sleep(50 * time.Millisecond)
				s.open(t, cmd)
				shot := s.Stop(t)
				for k, stack := range s.Stacks(shot) {
					if shot.Threads[k].TID == s.PID() && chainByMap(t, &stack) > 4 {
						right++
					}
				}
			}
			if right < 5 {
				t.Errorf("the chain was there %d times", right)
			}
		})
	}
}

// chainByMap counts the methods of known.cs in a stack: those of its chain follow each other.
func chainByMap(t *testing.T, s *profile.Stack) (n int) {
	t.Helper()
	next := 0
	for i := len(s.Frames) - 1; i >= 0; i-- {
		f := &s.Frames[i]
		if !strings.HasPrefix(f.Func, "Known.") {
			continue
		}
		_, method, _ := strings.Cut(plain(f), "::")
		at := slices.IndexFunc(knownChain[next:], func(c string) bool {
			c, _, _ = strings.Cut(c[strings.LastIndexByte(c, '.')+1:], "<")
			return c == method
		})
		switch {
		case at >= 0:
			next += at
			n++
		case method != "Main" && method != "Fold" && method != "Throw" && method != "Equals" && method != "Caught":
			t.Errorf("%s is not in the chain here:\n%s", f.Func, frames(s))
		}
	}
	return n
}

// tail shows the last frames of a stack that ended.
func tail(s *profile.Stack) string {
	var b strings.Builder
	for _, f := range s.Frames[max(0, len(s.Frames)-4):] {
		fmt.Fprintf(&b, "\n\t%#x %s module %d at %#x {%s} %s", f.Addr, f.Func, f.Module, f.ModuleAddr, f.Origin, f.Note)
	}
	return b.String()
}

// collect counts the frames of .NET of a stack.
func (c *counts) collect(s *profile.Stack, frames map[seen]int) {
	for i := range s.Frames {
		f := &s.Frames[i]
		switch {
		case f.Kind == profile.JIT:
			c.managed++
			c.unnamed++
		case f.Kind != profile.DotNet:
		case f.Stub:
			c.managed++
			c.stubs++
		default:
			c.managed++
			frames[seen{f.Addr - f.Offset, plain(f)}]++
		}
	}
}

// method is one line of a perf map.
type method struct {
	size uint64
	name string
}

// readMap reads the last line of each address: type and method.
func readMap(t *testing.T, path string) map[uint64]method {
	t.Helper()
	out := readLines(t, path)
	for start, m := range out {
		m.name = named(m.name)
		out[start] = m
	}
	return out
}

// readLines reads the last line of each address as it is.
func readLines(t *testing.T, path string) map[uint64]method {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[uint64]method{}
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(f) != 3 || strings.HasPrefix(f[2], "stub ") || strings.HasPrefix(f[2], "stub<") {
			continue
		}
		start, err := strconv.ParseUint(strings.TrimPrefix(f[0], "0x"), 16, 64)
		size, err2 := strconv.ParseUint(f[1], 16, 64)
		if err != nil || err2 != nil {
			t.Fatalf("line %q of the map", line)
		}
		out[start] = method{size, f[2]}
	}
	return out
}

// named is the type and the method of a line of a map: "void [Assembly] Type[Arguments]::Method(signature)[tier]". The
// arguments of the method itself are not in a map.
func named(text string) string {
	i := strings.Index(text, "::")
	if i < 0 {
		return text
	}
	method, _, _ := strings.Cut(text[i:], "(")
	if k := strings.LastIndex(text[:i], "] "); k >= 0 {
		text, i = text[k+2:], i-k-2
	}
	if k := strings.IndexByte(method, '['); k > 0 {
		method = method[:k]
	}
	return text[:i] + method
}

// plain is the raw name of a frame in the same form.
func plain(f *profile.Frame) string {
	name := f.Func
	if f.Linkage != "" {
		name = f.Linkage
	}
	return named(name)
}

// judge compares what was shown with the map.
func (c *counts) judge(t *testing.T, frames map[seen]int, m map[uint64]method) {
	t.Helper()
	starts := make([]uint64, 0, len(m))
	for start := range m {
		starts = append(starts, start)
	}
	slices.Sort(starts)
	for f, n := range frames {
		want, ok := m[f.start]
		i, _ := slices.BinarySearch(starts, f.start+1)
		switch {
		case ok && want.name == f.name:
			c.right += n
			c.methods[f] = true
		case ok:
			c.wrong += n
			t.Errorf("%#x is %q, the map says %q", f.start, f.name, want.name)
		case i > 0 && f.start < starts[i-1]+m[starts[i-1]].size:
			c.wrong += n
			t.Errorf("%#x is shown as the beginning of %q, and lies in %q", f.start, f.name, m[starts[i-1]].name)
		default:
			c.unlisted += n
		}
	}
}
