//go:build linux && (amd64 || arm64)

package java

import (
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// parked lists the virtual threads of p that no thread runs, each with its frames of Java and why its stack ended.
func (p *program) parked(t *testing.T) (fibers []snapshot.Fiber, stacks [][]profile.Frame, ends []string) {
	t.Helper()
	for _, l := range p.Runtimes.FiberListers() {
		if l.FiberKind() != "virtual thread" {
			continue
		}
		if present, err := l.OpenFibers(); err != nil || !present {
			t.Fatalf("present %v, %v", present, err)
		}
		shot, err := p.Snapshot(t.Context(), tracer.StopOptions{Copiers: p.Runtimes.DumpCopiers(),
			ProcessCopiers: []snapshot.ProcessCopier{l.(snapshot.ProcessCopier)}})
		if err != nil {
			t.Fatal(err)
		}
		if fibers, err = l.Fibers(shot); err != nil {
			t.Fatal(err)
		}
		for i := range fibers {
			var s unwind.Stack
			l.(vm.FiberStacker).FiberStack(fibers[i].ID, &s)
			var frames []profile.Frame
			end := fmt.Sprint(s.Stop, s.Err)
			for _, f := range s.Frames {
				if f.Unsure || f.Note != "" {
					end += "; " + f.Note
				}
				if r, ok := f.Runtime.(resolve.SiteNamer); ok {
					frames = append(frames, r.Frames(f.Site)...)
				}
			}
			stacks, ends = append(stacks, frames), append(ends, end)
		}
	}
	return fibers, stacks, ends
}

// TestParked: virtual threads that are parked are listed, each with the one stack that it can have, whether what waits
// is interpreted or compiled, and wherever they are listed.
func TestParked(t *testing.T) {
	const count = 45
	for _, version := range versions(t) {
		if n, _ := strconv.Atoi(version); n < 21 {
			continue
		}
		for _, flags := range []string{"", "-Xint", "-Xcomp -XX:TieredStopAtLevel=1", "-XX:+UseZGC",
			"-XX:-UseCompressedOops", signs} {
			if flags != "" && flags != "-Xint" && !*full || flags == signs && runtime.GOARCH != "arm64" {
				continue
			}
			t.Run(version+flags, func(t *testing.T) {
				p := start(t, version, append(strings.Fields(flags), "Parked", fmt.Sprint(count), "2000")...)
				fibers, stacks, ends := p.parked(t)
				got := map[string]int{}
				for i := range fibers {
					got[fibers[i].Name]++
					if want := fmt.Sprint(unwind.Root, error(nil)); ends[i] != want {
						t.Errorf("%s ends by %s", fibers[i].Name, ends[i])
					}
					checkParked(t, &fibers[i], stacks[i])
				}
				want := map[string]int{"sleeps": 1, "locks": 1, "pooled": 1}
				for d := range 5 {
					want[fmt.Sprintf("rests-%d", d)] = count / 5
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("got %v, want %v", got, want)
				}
			})
		}
	}
}

// checkParked checks a stack against the one that a thread of that name has.
func checkParked(t *testing.T, f *snapshot.Fiber, frames []profile.Frame) {
	t.Helper()
	var own []string
	for i := range frames {
		if fr := &frames[i]; strings.HasPrefix(fr.Func, "Parked.") {
			own = append(own, strings.TrimPrefix(fr.Func, "Parked."))
		}
	}
	depth, call := 1, "rest"
	switch {
	case f.Name == "sleeps", f.Name == "locks":
		call = f.Name
	case f.Name == "pooled":
		depth = 2
	case strings.HasPrefix(f.Name, "rests-"):
		n, _ := strconv.Atoi(strings.TrimPrefix(f.Name, "rests-"))
		depth = n + 1
	}
	want := slices.Repeat([]string{call}, depth)
	rest := own[min(depth, len(own)):]
	all := make([]string, len(frames))
	for i := range frames {
		all[i] = frames[i].Func
	}
	last := all[len(all)-1]
	if len(own) < depth || !slices.Equal(own[:depth], want) || slices.Contains(rest, call) ||
		last != "jdk.internal.vm.Continuation.enter" ||
		!strings.HasPrefix(all[0], "jdk.internal.vm.Continuation.yield") {
		t.Errorf("%s: got %q", f.Name, all)
	}
}

// TestBlocked: a virtual thread that waits for a lock says which, and who has it: another virtual thread, or one of the
// kernel's. Those that wait for what nobody has name nobody.
func TestBlocked(t *testing.T) {
	for _, version := range versions(t) {
		if n, _ := strconv.Atoi(version); n < 21 {
			continue
		}
		for _, flags := range []string{"", "-XX:-UseCompressedOops", "-XX:+UseZGC"} {
			if flags != "" && !*full {
				continue
			}
			t.Run(version+flags, func(t *testing.T) {
				p := start(t, version, append(strings.Fields(flags), "Blocked")...)
				fibers, _, _ := p.parked(t)
				got, ids := map[string]string{}, map[string]uint64{}
				address := regexp.MustCompile(` 0x[0-9a-f]+`)
				for _, f := range fibers {
					got[f.Name], ids[f.Name] = address.ReplaceAllString(f.State, ""), f.ID
					if by := f.Name == "lock"; by != (len(f.HeldBy) == 1) || by && f.HeldBy[0] != ids["sleeps"] {
						t.Errorf("%s is held by %d, sleeps is %d", f.Name, f.HeldBy, ids["sleeps"])
					}
				}
				const lock = "parked, for the lock java.util.concurrent.locks.ReentrantLock$"
				main := p.threadIn(t, "Blocked.main")
				want := map[string]string{"sleeps": "parked with a time limit", "pool": "parked with a time limit",
					"lock": lock + fmt.Sprintf("NonfairSync, held by virtual thread %d %q", ids["sleeps"], "sleeps"),
					"fair": lock + fmt.Sprintf("FairSync, held by thread %d", main)}
				for _, name := range []string{"queue", "semaphore", "latch", "future", "condition", "parks"} {
					want[name] = "parked"
				}
				if !maps.Equal(got, want) {
					t.Errorf("got %q\nwant %q", got, want)
				}
			})
		}
	}
}
