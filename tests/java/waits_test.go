//go:build linux && (amd64 || arm64)

package java

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/waits"
)

// TestWaits: two classes whose initialisers need each other, a class that another thread initialises, results that
// another thread computes, and one that nobody does.
func TestWaits(t *testing.T) {
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) {
			want := []string{
				"completable: the result of java.util.concurrent.CompletableFuture only",
				"future: the result of java.util.concurrent.FutureTask computes",
				"init: the initialisation of class Waits$Slow slow",
				"join: the end of thread computes",
				"left: the initialisation of class Waits$Right right",
				"right: the initialisation of class Waits$Left left",
				"starved: the result of java.util.concurrent.FutureTask ",
			}
			if version == "8" { // without symbols it is not known what its own functions are
				want = slices.DeleteFunc(want, func(s string) bool { return strings.Contains(s, "initialisation") })
			}
			p := start(t, version, "Waits")
			var got []string
			var all []waits.Lock
			for end := time.Now().Add(10 * time.Second); time.Now().Before(end); walked.Pause(1) {
				shot := p.dumped(t)
				facts := p.Runtimes.ThreadFacts(shot)
				_, all = p.locks(shot)
				got = nil
				for _, l := range all {
					name := l.Name
					if i := strings.LastIndexAny(name, " "); strings.HasPrefix(name[i+1:], "0x") || l.Ends {
						name = name[:i] // an address, an id
					}
					for _, w := range l.Waiters {
						got = append(got, fmt.Sprintf("%s: %s %s", facts[w].Name, name, facts[l.Owner].Name))
					}
				}
				if slices.Sort(got); slices.Equal(got, want) {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %q\nwant %q", got, want)
			}
			for _, l := range all {
				if !l.Instant && !l.Ends && l.Owner != 0 {
					t.Errorf("%s was not read in the stop", l.Name)
				}
			}
		})
	}
}

// TestSafepoint: while one thread is in a loop without a safepoint, the VM thread and the one that asked it for a
// collection wait for that one.
func TestSafepoint(t *testing.T) {
	for _, version := range versions(t) {
		if version == "8" { // without symbols
			continue
		}
		t.Run(version, func(t *testing.T) {
			p := start(t, version, "-XX:-UseCountedLoopSafepoints", "-XX:-TieredCompilation",
				"-XX:LoopStripMiningIter=0", "Nopoll")
			want := []string{"VM Thread", "collects"}
			got := map[string]string{} // who waits for whom
			var all []waits.Lock
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); walked.Pause(1) {
				shot := p.dumped(t)
				facts := p.Runtimes.ThreadFacts(shot)
				clear(got)
				_, all = p.locks(shot)
				for _, l := range all {
					if l.Kind != waits.Safepoint || l.Owner == 0 || !l.Instant {
						continue
					}
					for _, th := range shot.Threads {
						if slices.Contains(l.Waiters, th.TID) {
							got[th.Comm] = facts[l.Owner].Name
						}
					}
					if state := facts[l.Owner].State; state != "in Java" {
						t.Errorf("who has not come is %q", state)
					}
				}
				if len(got) >= len(want) {
					break
				}
			}
			for _, w := range want {
				if got[w] != "main" {
					t.Errorf("%s waits for %q, want main; all: %v, %+v", w, got[w], slices.Sorted(maps.Keys(got)), all)
				}
			}
		})
	}
}

// TestIdleRoles: the JVM's own threads that wait for work are idle, by what they are for.
func TestIdleRoles(t *testing.T) {
	for _, version := range versions(t) {
		if version == "8" { // without symbols
			continue
		}
		t.Run(version, func(t *testing.T) {
			start(t, version, "-XX:+UseG1GC", "Dead").idle(t, map[string]string{"VM Thread": "JVM", "GC Thread#0": "GC",
				"C2 CompilerThread0": "JIT compilers", "Signal Dispatcher": "JVM"}, "m-é", "spins", "semaphore")
		})
	}
}

// TestIdleLauncher: the thread that has started the JVM, and the one whose main method has ended, are idle; what goes
// on is not.
func TestIdleLauncher(t *testing.T) {
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) {
			want := map[string]string{launcher: "Java launcher"}
			if version != "8" { // without symbols
				want["DestroyJavaVM"] = "JVM"
			}
			start(t, version, "Ends").idle(t, want, "stays")
		})
	}
}

// launcher stands for the name of the thread that a process began with, which is that of the program.
const launcher = "the first thread"

// idle waits until threads have those roles by their names, and checks that others have none.
func (p *program) idle(t *testing.T, want map[string]string, others ...string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); len(want) > 0 && time.Now().Before(end); walked.Pause(1) {
		shot := p.dumped(t)
		facts := p.Runtimes.ThreadFacts(shot)
		for i := range shot.Threads {
			th := &shot.Threads[i]
			name := cmp.Or(facts[th.TID].Name, th.Comm)
			if th.TID == p.pid {
				name = launcher
			}
			stack := p.Walk(shot, i)
			why := p.Walker.Idle(th, &stack)
			if role := want[name]; role != "" && why == role {
				delete(want, name)
			}
			if slices.Contains(others, name) && why != "" {
				t.Errorf("%s: %s", name, why)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("not idle: %v", want)
	}
}
