//go:build linux

package manners

import (
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// checker is a running selfcheck: it notices bad manners and says so when it ends.
type checker struct {
	*target
	begun time.Time
}

// young reports whether it will live long enough for another round: it ends by itself after two minutes.
func (c checker) young() bool { return time.Since(c.begun) < time.Minute }

// report is the line of a selfcheck: faults are all after the word "faults".
type report struct {
	text   string
	counts map[string]int
}

func startChecker(t testing.TB, args ...string) checker {
	t.Helper()
	return checker{start(t, "selfcheck", args...), time.Now()}
}

// finish ends the selfcheck, which first waits for all signals that it sent, and fails if
// it noticed anything.
func (c checker) finish(t testing.TB) report {
	t.Helper()
	checkFree(t, c.pid)
	if err := unix.Kill(c.pid, unix.SIGTERM); err != nil {
		t.Fatalf("selfcheck %d: %v", c.pid, err)
	}
	r := parseReport(c.next(t, patience))
	if !strings.HasPrefix(r.text, "ok ") || r.counts["sent"] != r.counts["received"] {
		t.Errorf("the process noticed: %s", r.text)
	}
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("selfcheck: %v", err)
	}
	return r
}

func parseReport(line string) report {
	r := report{line, map[string]int{}}
	for word := range strings.FieldsSeq(line) {
		if name, value, ok := strings.Cut(word, "="); ok {
			r.counts[name], _ = strconv.Atoi(value)
		}
	}
	return r
}

// tally adds up what several selfchecks did.
type tally struct {
	counts map[string]int
	begun  time.Time
}

func newTally() *tally { return &tally{map[string]int{}, time.Now()} }

func (y *tally) add(r report) {
	for name := range maps.Keys(r.counts) {
		y.counts[name] += r.counts[name]
	}
}

func (y *tally) report(t testing.TB, what string) {
	t.Helper()
	t.Logf("%s in %v: %d signals sent, %d received, %d naps, %d messages, %d register checks; noticed: gap=%d "+
		"doubled=%d lost=%d forged=%d stuck=%d eintr=%d registers=%d",
		what, time.Since(y.begun).Round(time.Millisecond), y.counts["sent"], y.counts["received"], y.counts["beats"],
		y.counts["messages"], y.counts["spins"], y.counts["gap"], y.counts["doubled"], y.counts["lost"],
		y.counts["forged"], y.counts["stuck"], y.counts["eintr"], y.counts["registers"])
}
