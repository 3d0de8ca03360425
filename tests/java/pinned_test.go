//go:build linux && (amd64 || arm64)

package java

import (
	"regexp"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/walked"
)

// TestPinned: a virtual thread that keeps its only carrier waits for a lock that one has which is to be run there: the
// carrier says what it runs, and who has the lock.
func TestPinned(t *testing.T) {
	if jvms()["21"] == nil {
		t.Skip("no JVM of 21 is here: scripts/build-java 21 gets one")
	}
	p := start(t, "21", "-Djdk.virtualThreadScheduler.parallelism=1", "-Djdk.virtualThreadScheduler.maxPoolSize=1",
		"Pinned")
	runs := regexp.MustCompile(`runs virtual thread \d+ "pins"`)
	holds := regexp.MustCompile(`^virtual thread \d+ "holds" holds it, which no thread runs$`)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); walked.Pause(1) {
		shot := p.dumped(t)
		facts := p.Runtimes.ThreadFacts(shot)
		_, all := p.locks(shot)
		for _, l := range all {
			for _, w := range l.Waiters {
				for _, fact := range facts[w].Facts {
					if runs.MatchString(fact) && l.Owner == 0 && holds.MatchString(l.Note) {
						return
					}
				}
			}
		}
	}
	t.Error("the carrier does not wait for the lock of the other")
}
