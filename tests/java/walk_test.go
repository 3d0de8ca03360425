//go:build linux && (amd64 || arm64)

package java

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/walked"
)

// modes are the ways in which a JVM executes, by its flags.
var modes = map[string][]string{
	"interpreted": {"-Xint"},
	"c1":          {"-XX:TieredStopAtLevel=1"},
	"c2":          {"-XX:-TieredCompilation"},
	"tiered":      nil,
	"compiled":    {"-Xcomp", "-XX:TieredStopAtLevel=1"},
	"framed":      {"-XX:+PreserveFramePointer"},
	"noinline":    {"-XX:-Inline"},
	"oneheap":     {"-XX:-SegmentedCodeCache"},
	"described":   {"-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"},
	"wide":        {"-XX:-UseCompressedOops"},
	"zgc":         {"-XX:+UseZGC"},
	"shenandoah":  {"-XX:+UseShenandoahGC"},
	"serial":      {"-XX:+UseSerialGC"},
	"parallel":    {"-XX:+UseParallelGC"},
	"compact":     {"-XX:+UnlockExperimentalVMOptions", "-XX:+UseCompactObjectHeaders"},
	"g1":          {"-XX:+UseG1GC"}, // which a JVM does not choose on a small machine
	"signed":      {signs},
}

// signs has return addresses signed, on arm64.
const signs = "-XX:UseBranchProtection=standard"

// lacks are modes that a version does not have.
var lacks = map[string][]string{"8": {"oneheap", "zgc", "shenandoah", "compact", "signed"},
	"11": {"zgc", "shenandoah", "compact", "signed"}, "17": {"compact", "signed"}, "21": {"compact"}}

// forEach runs a test for each version and mode.
func forEach(t *testing.T, f func(t *testing.T, version string, flags []string)) {
	for _, version := range versions(t) {
		usual := []string{"interpreted", "c1", "c2", "tiered"}
		if version != "17" {
			usual = []string{"interpreted", "tiered"}
		}
		for _, mode := range slices.Sorted(maps.Keys(modes)) {
			if !*full && !slices.Contains(usual, mode) || slices.Contains(lacks[version], mode) ||
				mode == "signed" && runtime.GOARCH != "arm64" {
				continue
			}
			t.Run(version+"/"+mode, func(t *testing.T) { f(t, version, modes[mode]) })
		}
	}
}

// count is how many samples are taken of each version and mode.
func count(usual, all int) int {
	switch {
	case *samples > 0:
		return *samples
	case *full:
		return all
	}
	return usual
}

// verdict counts samples.
type verdict struct{ all, whole, wrong, lost int }

// sampleEach stops the process again and again, and asks check of the stack of the thread that runs method what is
// wrong with it, "" for nothing. A stack that is not complete and says so is lost, not wrong.
func (p *program) sampleEach(t *testing.T, n int, method string, check func(*profile.Stack) string) verdict {
	t.Helper()
	var v verdict
	tid := p.threadIn(t, method)
	var stopped []int // nil for all
	if *alone {
		stopped = []int{tid}
	}
	for i := range n {
		walked.Pause(i)
		shot := p.StopWith(t, p.Runtimes.Copiers(), stopped...)
		for k := range shot.Threads {
			if shot.Threads[k].TID != tid {
				continue
			}
			s := p.Stack(shot, k)
			v.all++
			why := check(&s)
			unsure := func(f profile.Frame) bool { return f.Gap || f.Unsure }
			marked := !s.Complete || slices.ContainsFunc(s.Frames, unsure)
			switch {
			case why == "":
				v.whole++
			case marked:
				if v.lost++; v.lost < 4 {
					t.Logf("sample %d is lost: %s\n%s", i, why, show(&s))
				}
			default:
				if v.wrong++; v.wrong < 4 {
					t.Errorf("sample %d: %s\n%s", i, why, show(&s))
				}
			}
		}
	}
	t.Logf("%+v", v)
	if v.all == 0 || v.lost > max(1, v.all/200) {
		t.Errorf("%d of %d samples are lost", v.lost, v.all)
	}
	return v
}

// TestRing: each sample of a ring of calls has the one chain that there can be.
func TestRing(t *testing.T) {
	forEach(t, func(t *testing.T, version string, flags []string) {
		p := start(t, version, append(slices.Clone(flags), "Ring")...)
		p.sampleEach(t, count(100, 1500), "Ring.main", inRing)
	})
}

// sure are frames without those that are said to be inlined where compiled code was interrupted: compilers move
// instructions, and describe few of them.
func sure(frames []profile.Frame) []profile.Frame {
	last := 0
	for last+1 < len(frames) && frames[last+1].Index == frames[0].Index {
		last++
	}
	if len(frames) > 0 && frames[last].Interrupted {
		return frames[last:]
	}
	return frames
}

// inRing says what is wrong with a stack of Ring, "" for nothing.
func inRing(s *profile.Stack) string {
	names := functions(sure(javaFrames(s)))
	if n := len(names); n < 1 || names[n-1] != "Ring.main" || !s.Complete {
		return "main is not at the end"
	}
	names = names[:len(names)-1]
	if n := len(names); n == 0 || names[n-1] != "Ring.round" {
		if n == 0 {
			return ""
		}
		return "round is not above main"
	}
	names = names[:len(names)-1]
	const next = "abc"
	for i := range names {
		name := names[len(names)-1-i]
		if name == "Ring.leaf" && i == 31 {
			continue
		}
		if i > 30 || name != "Ring."+next[i%3:i%3+1] {
			return fmt.Sprintf("frame %d from round is %s", i, name)
		}
	}
	return ""
}

// TestTruth: a program prints its own stack, and stays there; each frame is the same.
func TestTruth(t *testing.T) {
	calls := []string{"5", "30000"}
	if *full {
		calls = []string{"5", "3000", "30000", "300000"}
	}
	forEach(t, func(t *testing.T, version string, flags []string) {
		for _, n := range calls {
			p := start(t, version, append(slices.Clone(flags), "Truth", n)...)
			s := p.asleepIn(t, "Truth.report")
			var got []string
			for _, f := range javaFrames(&s) {
				if f.File == "" && strings.Contains(f.Func, "$$Lambda") {
					continue // getStackTrace hides them
				}
				if strings.HasPrefix(f.Func, "java.lang.Thread.") || f.Func == "Truth.report" {
					continue
				}
				got = append(got, fmt.Sprintf("%s %s:%d", f.Func, f.File, f.Line))
			}
			if !slices.Equal(got, p.said) {
				t.Errorf("%s calls: got\n%s\nwant\n%s\n%s", n, strings.Join(got, "\n"), strings.Join(p.said, "\n"),
					show(&s))
			}
		}
	})
}

// asleepIn returns the stack of the thread that is in that function of Java, when it has come to sleep below it: what
// it has written is read by us before it is done with writing.
func (p *program) asleepIn(t *testing.T, function string) profile.Stack {
	t.Helper()
	for i := range 200 {
		walked.Pause(i)
		s, k := p.stackOf(p.Stop(t), function)
		if k < 0 {
			continue
		}
		if frames := javaFrames(&s); strings.HasPrefix(frames[0].Func, "java.lang.Thread.sleep") {
			return s
		}
	}
	t.Fatalf("no thread sleeps in %s", function)
	return profile.Stack{}
}

// TestChaos: what the JVM has stubs and slow paths for is below the same callers in each sample.
func TestChaos(t *testing.T) {
	forEach(t, func(t *testing.T, version string, flags []string) {
		p := start(t, version, append(slices.Clone(flags), "Chaos")...)
		p.sampleEach(t, count(100, 1500), "Chaos.main", inChaos)
	})
}

// inChaos says what is wrong with a stack of Chaos, "" for nothing.
func inChaos(s *profile.Stack) string {
	names := functions(sure(javaFrames(s)))
	want := []string{"Chaos.main", "Chaos.loop", "Chaos.f1", "Chaos.f2", "Chaos.f3", "Chaos.f4"}
	if !s.Complete {
		return "it is not complete"
	}
	if len(names) == 0 {
		return "it has no frame of Java"
	}
	for i, w := range want {
		if i >= len(names) || i == 1 && names[len(names)-2] == "java.lang.ClassLoader.loadClass" {
			return "" // it begins
		}
		if name := names[len(names)-1-i]; name != w {
			return fmt.Sprintf("frame %d from the outermost is %s, want %s", i, name, w)
		}
	}
	return ""
}

// TestDeopt: frames whose code is given up have the method and line that they are in.
func TestDeopt(t *testing.T) {
	forEach(t, func(t *testing.T, version string, flags []string) {
		p := start(t, version, append(slices.Clone(flags), "Deopt")...)
		walked.Pause(1)
		s, k := p.stackOf(p.Stop(t), "Deopt.stay")
		if k < 0 {
			t.Fatal("no thread is in it")
		}
		names := functions(javaFrames(&s))
		want := []string{"Deopt.stay", "Deopt.end"}
		for range 10 {
			want = append(want, "Deopt.rec", "Deopt$First.step")
		}
		want = append(want, "Deopt.rec", "Deopt.mid", "Deopt.go", "Deopt.main")
		for len(names) > 0 && strings.HasPrefix(names[0], "java.lang.Thread.") {
			names = names[1:]
		}
		if !slices.Equal(names, want) || !s.Complete {
			t.Errorf("got %q\nwant %q\n%s", names, want, show(&s))
		}
	})
}

// TestMaths: functions of Math and the end of constructors, which the JVM executes without a frame of theirs, have the
// callers that they have.
func TestMaths(t *testing.T) {
	forEach(t, func(t *testing.T, version string, flags []string) {
		p := start(t, version, append(slices.Clone(flags), "Maths")...)
		p.sampleEach(t, count(100, 1500), "Maths.main", inMaths)
	})
}

// inMaths says what is wrong with a stack of Maths, "" for nothing.
func inMaths(s *profile.Stack) string {
	names := functions(sure(javaFrames(s)))
	if !s.Complete {
		return "it is not complete"
	}
	slices.Reverse(names)
	for i, want := range []string{"Maths.main", "Maths.rounds", "Maths.work"} {
		switch {
		case i > 0 && i == len(names):
			return ""
		case i >= len(names) || names[i] != want:
			return fmt.Sprintf("frame %d from the outermost of %q is not %s", i, names, want)
		}
	}
	for _, name := range names[3:] {
		if !strings.HasPrefix(name, "java.lang.") && !strings.HasPrefix(name, "Maths$Box.") {
			return name + " is called by work"
		}
	}
	return ""
}

// TestCasts: code that has pushed words for a stub of the JVM that checks a cast has the callers that it has.
func TestCasts(t *testing.T) {
	forEach(t, func(t *testing.T, version string, flags []string) {
		p := start(t, version, append(slices.Clone(flags), "Casts")...)
		p.sampleEach(t, count(100, 1500), "Casts.main", below("Casts.main", "Casts.rounds", "Casts.work"))
	})
}

// TestThrows: what an exception leaves, and the stubs that it leaves it by, have the callers that they have.
func TestThrows(t *testing.T) {
	forEach(t, func(t *testing.T, version string, flags []string) {
		p := start(t, version, append(slices.Clone(flags), "Throws")...)
		p.sampleEach(t, count(200, 1500), "Throws.main", below("Throws.main", "Throws.rounds", "Throws.work"))
	})
}

// below returns what says what is wrong with a stack that has those methods, outermost first, below all others.
func below(methods ...string) func(*profile.Stack) string {
	return func(s *profile.Stack) string {
		names := functions(sure(javaFrames(s)))
		if !s.Complete {
			return "it is not complete"
		}
		slices.Reverse(names)
		for i, want := range methods {
			if i == len(names) && i > 0 {
				return ""
			}
			if i >= len(names) || names[i] != want {
				return fmt.Sprintf("frame %d from the outermost of %q is not %s", i, names, want)
			}
		}
		return ""
	}
}
