//go:build linux

package live

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestStateIsOfTheStack dumps a thread that falls asleep and wakes ten thousand times a second: the state, the call and
// what it waits for are those of the moment at which the stack was copied, and not of another.
func TestStateIsOfTheStack(t *testing.T) {
	pid := strconv.Itoa(runTarget(t, "flicker").pid)
	const rounds = 150
	seen := map[bool]int{} // asleep or not
	for range rounds {
		o := execute(t, bound, fpstack, "-p", pid)
		if o.status != 0 {
			t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
		}
		lines := strings.Split(o.stdout, "\n")
		head := slices.IndexFunc(lines, func(s string) bool { return strings.Contains(s, ` "flicker"  `) })
		inner := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, "  #0 ") })
		if head < 0 || inner < head {
			t.Fatalf("no stack:\n%s", o.stdout)
		}
		what := strings.TrimSpace(strings.SplitN(lines[head], `"flicker"`, 2)[1])
		asleep := strings.HasPrefix(what, "sleeps") || strings.HasPrefix(what, "waits in clock_nanosleep")
		returns := strings.HasPrefix(what, "runs, in clock_nanosleep") // it has slept
		if !asleep && !returns && what != "computes" || inner != head+1 {
			t.Errorf("what it waits for is of another moment:\n%s", o.stdout)
		}
		seen[asleep]++
		if (asleep || returns) && !strings.Contains(lines[inner], "nanosleep") {
			t.Errorf("it is said to sleep where it computes:\n%s", o.stdout)
		}
	}
	if seen[true] < rounds/20 || seen[false] < rounds/20 {
		t.Errorf("%v: it was not met in both states", seen)
	}
}
