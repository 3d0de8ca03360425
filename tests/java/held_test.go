//go:build linux && (amd64 || arm64)

package java

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/walked"
)

// TestHeld: who waits for a lock that a virtual thread holds which no thread runs is told which it is; one that runs is
// held by its carrier.
func TestHeld(t *testing.T) {
	for _, version := range versions(t) {
		if version == "8" || version == "11" || version == "17" {
			continue
		}
		t.Run(version, func(t *testing.T) {
			p := start(t, version, "Held")
			sleeper := regexp.MustCompile(`^virtual thread \d+ "sleeps" holds it, which no thread runs$`)
			spins := regexp.MustCompile(`runs virtual thread \d+ "spins"`)
			var got []string
			for end := time.Now().Add(10 * time.Second); time.Now().Before(end); walked.Pause(1) {
				shot := p.dumped(t)
				facts := p.Runtimes.ThreadFacts(shot)
				_, all := p.locks(shot)
				got = nil
				for _, l := range all {
					for _, w := range l.Waiters {
						owner := facts[l.Owner].Facts
						switch name := facts[w].Name; {
						case name == "wants the lock" && l.Owner == 0 && sleeper.MatchString(l.Note):
							got = append(got, "lock")
						case name == "wants the monitor" && slices.ContainsFunc(owner, spins.MatchString):
							got = append(got, "monitor")
						default:
							got = append(got, fmt.Sprintf("%s: %+v", name, l))
						}
					}
				}
				if slices.Sort(got); slices.Equal(got, []string{"lock", "monitor"}) {
					return
				}
			}
			t.Errorf("got %q", got)
		})
	}
}
