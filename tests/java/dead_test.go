//go:build linux && (amd64 || arm64)

package java

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/waits"
)

// dumped takes a snapshot as for a dump: what threads wait for is copied too.
func (p *program) dumped(t testing.TB) *snapshot.Snapshot {
	t.Helper()
	s, err := p.Snapshot(t.Context(), tracer.StopOptions{Copiers: p.Runtimes.DumpCopiers()})
	if err != nil {
		t.Fatal(err)
	}
	p.Set.Update(s.Maps)
	p.Walker.Renew()
	return s
}

// locks are what threads of s wait for, as "waiter waits for owner: name" by the names of Java.
func (p *program) locks(s *snapshot.Snapshot) (edges []string, all []waits.Lock) {
	stacks := map[int]*unwind.Stack{}
	for i := range s.Threads {
		walked := p.Walk(s, i)
		walked.Frames = slices.Clone(walked.Frames)
		stacks[s.Threads[i].TID] = &walked
	}
	facts := p.Runtimes.ThreadFacts(s)
	all = p.Runtimes.Locks(s, func(tid int) *unwind.Stack { return stacks[tid] })
	for _, l := range all {
		for _, w := range l.Waiters {
			edges = append(edges, fmt.Sprintf("%s waits for %s: %s", facts[w].Name, facts[l.Owner].Name,
				strings.Fields(l.Name)[1]))
		}
	}
	slices.Sort(edges)
	return edges, all
}

// deadFlags are ways of locking and of laying out objects, and the versions that have them.
var deadFlags = []struct {
	flags    string
	versions string // "" for all
}{
	{"", ""},
	{"-XX:+UseSerialGC", ""},
	{"-XX:+UseParallelGC", ""},
	{"-XX:-UseCompressedOops", ""},
	{"-XX:-UseCompressedOops -XX:-UseCompressedClassPointers", "8 11 17 21"},
	{"-XX:+UseZGC", "21 25 28"},
	{"-XX:+UseZGC -XX:+ZGenerational", "21"},
	{"-XX:+UseShenandoahGC", "17 21 25 28"},
	{"-XX:+UnlockExperimentalVMOptions -XX:+UseCompactObjectHeaders", "25"},
	{"-XX:+UnlockExperimentalVMOptions -XX:LockingMode=2", "21"},
	{"-XX:+UnlockDiagnosticVMOptions -XX:LockingMode=1", "25"},
}

// TestDead: two cycles of locks, a reader behind a writer, and no edge where there is none; threads have the names that
// Java gives them.
func TestDead(t *testing.T) {
	want := []string{
		"l-1 waits for l-2: lock", "l-2 waits for l-1: lock",
		"m-é waits for m-日: monitor", "m-日 waits for m-é: monitor",
		"reader waits for writer: lock", "third waits for m-é: monitor",
	}
	for _, version := range versions(t) {
		for i, row := range deadFlags {
			if row.versions != "" && !slices.Contains(strings.Fields(row.versions), version) || i > 0 && !*full {
				continue
			}
			t.Run(version+row.flags, func(t *testing.T) {
				p := start(t, version, append(strings.Fields(row.flags), "-Dfile.encoding=UTF-8", "Dead")...)
				var edges []string
				var all []waits.Lock
				for end := time.Now().Add(10 * time.Second); time.Now().Before(end); walked.Pause(1) {
					late := func(l waits.Lock) bool { return !l.Instant } // a busy machine ends a stop early
					if edges, all = p.locks(p.dumped(t)); slices.Equal(edges, want) && !slices.ContainsFunc(all, late) {
						break
					}
				}
				if !slices.Equal(edges, want) {
					t.Errorf("got %q\nwant %q\n%+v", edges, want, all)
				}
				for _, l := range all {
					if !l.Instant {
						t.Errorf("%s was not read in the stop", l.Name)
					}
				}
			})
		}
	}
}

// TestNopoll: a loop without a safepoint has its callers, also while all others wait for it.
func TestNopoll(t *testing.T) {
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) {
			flags := []string{"-XX:-UseCountedLoopSafepoints", "-XX:-TieredCompilation"}
			if version != "8" {
				flags = append(flags, "-XX:LoopStripMiningIter=0")
			}
			p := start(t, version, append(flags, "Nopoll")...)
			p.sampleEach(t, count(50, 300), "Nopoll.main", func(s *profile.Stack) string {
				names := functions(sure(javaFrames(s)))
				chain := []string{"Nopoll.hot", "Nopoll.run", "Nopoll.main"}
				if n := len(names); n == 0 || n > len(chain) || !slices.Equal(names, chain[len(chain)-n:]) {
					return fmt.Sprintf("got %q", names)
				}
				return ""
			})
		})
	}
}

// TestVirtual: a virtual thread is on the stack of its carrier as far as it is there, and where it is not that is said.
func TestVirtual(t *testing.T) {
	for _, version := range versions(t) {
		if version == "8" || version == "11" || version == "17" {
			continue
		}
		t.Run(version, func(t *testing.T) {
			p := start(t, version, "Virtual")
			gaps := 0
			p.sampleEach(t, count(50, 300), "Virtual.deep", func(s *profile.Stack) string {
				names := functions(javaFrames(s))
				deep, marked := 0, false
				for i := range s.Frames {
					marked = marked || s.Frames[i].Gap
					if s.Frames[i].Func == "Virtual.deep" {
						deep++
					}
				}
				if marked {
					gaps++
				}
				const outermost = "java.util.concurrent.ForkJoinWorkerThread.run"
				if !s.Complete || len(names) == 0 || names[len(names)-1] != outermost {
					return fmt.Sprintf("got %q", names)
				}
				if deep != 7 && !marked && slices.Contains(names, "Virtual.deep") {
					return fmt.Sprintf("%d frames of deep, and no mark", deep)
				}
				return ""
			})
			t.Logf("%d gaps", gaps)
		})
	}
}

// TestMounted: what a carrier is said to run is what its stack is of, though virtual threads come, go and are moved.
func TestMounted(t *testing.T) {
	for _, version := range versions(t) {
		if version == "8" || version == "11" || version == "17" {
			continue
		}
		t.Run(version, func(t *testing.T) {
			p := start(t, version, "-Xint", "-Xmn2m", "Mounted")
			named := regexp.MustCompile(`^runs virtual thread \d+ "deep-(\d)"$`)
			told, untold := 0, 0
			for i := range count(200, 1500) {
				walked.Pause(i)
				shot := p.dumped(t)
				facts := p.Runtimes.ThreadFacts(shot)
				for k := range shot.Threads {
					s := p.Stack(shot, k)
					names := functions(javaFrames(&s))
					deep := 0
					for _, name := range names {
						if name == "Mounted.deep" {
							deep++
						}
					}
					gap := func(f profile.Frame) bool { return f.Gap }
					if !slices.Contains(names, "Mounted.turns") || slices.ContainsFunc(s.Frames, gap) {
						continue
					}
					fact := strings.Join(facts[shot.Threads[k].TID].Facts, ", ")
					switch said := named.FindStringSubmatch(fact); {
					case said == nil:
						untold++
					case said[1] != fmt.Sprint(deep):
						t.Errorf("it %s with %d frames of deep\n%s", fact, deep, show(&s))
					default:
						told++
					}
				}
			}
			t.Logf("%d carriers have a name, %d have not", told, untold)
			if told < untold || told == 0 {
				t.Errorf("%d carriers have a name, %d have not", told, untold)
			}
		})
	}
}
