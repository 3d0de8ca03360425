//go:build linux

package live

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// roundsOf is how often a proof is made: the environment may want more, or less.
func roundsOf(t *testing.T, variable string, usual int) int {
	t.Helper()
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	return usual
}

// lockedFor is a program in a scenario of locks.c that is started again now and then: it ends by itself after two
// minutes.
type lockedFor struct {
	scenario string
	*locked
}

func (l *lockedFor) pidIn(t *testing.T, round, every int) string {
	t.Helper()
	if round%every == 0 {
		if l.locked = startLocked(t, "locks", l.scenario); l.scenario != "busy" {
			l.settled(t)
		}
	}
	return strconv.Itoa(l.pid)
}

// TestWaitsOfABusyProgram: in a program whose threads take locks in one order, as fast as they can, no cycle is ever
// shown, and in a deadlock there always is. LIVE_WAITS_ROUNDS is the number of rounds.
func TestWaitsOfABusyProgram(t *testing.T) {
	busy, stuck := lockedFor{scenario: "busy"}, lockedFor{scenario: "abba"}
	rounds, edges, between := roundsOf(t, "LIVE_WAITS_ROUNDS", 100), 0, 0
	for i := range rounds {
		doc := waitsOf(t, "-p", busy.pidIn(t, i, 1000))
		for _, c := range doc.Cycles {
			t.Fatalf("round %d: a cycle that there is not: %+v", i, c)
		}
		if edges += doc.Owned; doc.Owned > 0 {
			between++
		}
		doc = waitsOf(t, "-p", stuck.pidIn(t, i, 1000))
		if len(doc.Cycles) != 1 || doc.Cycles[0].Kind != "deadlock" {
			t.Fatalf("round %d: cycles %+v, want the deadlock", i, doc.Cycles)
		}
	}
	if edges == 0 {
		t.Errorf("in %d rounds no thread waited for another", rounds)
	}
	t.Logf("%d rounds, in %d of them %d edges in the busy program", rounds, between, edges)
}

// TestDumpsOfABusyProgram: the same for dumps, beside a busy loop on each CPU. LIVE_WAITS_DUMPS is their number.
func TestDumpsOfABusyProgram(t *testing.T) {
	busy, stuck := lockedFor{scenario: "busy"}, lockedFor{scenario: "abba"}
	rounds := roundsOf(t, "LIVE_WAITS_DUMPS", 12)
	for i := range rounds {
		if i%200 == 0 { // they end by themselves too
			for range 2 {
				duty(t, "100", "1", "cpu", "70", "30")
			}
		}
		if o := show(t, "-p", busy.pidIn(t, i, 200)); o.status != 0 || strings.Contains(o.stdout, "deadlock:") ||
			strings.Contains(o.stdout, "cycle of waits:") {
			t.Fatalf("dump %d: status %d, of a program without a deadlock:\n%s%s", i, o.status, o.stdout, o.stderr)
		}
		if o := show(t, "-p", stuck.pidIn(t, i, 200)); o.status != 0 ||
			!strings.Contains(o.stdout, "\ndeadlock: 2 threads wait for each other\n") {
			t.Fatalf("dump %d: status %d, without the deadlock:\n%s%s", i, o.status, o.stdout, o.stderr)
		}
	}
	t.Logf("%d dumps of each", rounds)
}
