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
	seen := map[string]int{}
	for range rounds {
		o := execute(t, bound, fpstack, "-p", pid)
		if o.status != 0 {
			t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
		}
		lines := strings.Split(o.stdout, "\n")
		head := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, "thread ") })
		inner := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, "  #0 ") })
		if head < 0 || inner < head {
			t.Fatalf("no stack:\n%s", o.stdout)
		}
		what, call, _ := strings.Cut(strings.TrimSpace(strings.SplitN(lines[head], `"flicker"`, 2)[1]), "  ")
		seen[what]++
		if sleeps := strings.Contains(lines[inner], "nanosleep"); what == "S" && !sleeps {
			t.Errorf("it is said to sleep where it computes:\n%s", o.stdout)
		}
		if asleep := what == "S"; asleep != strings.Contains(call, "nanosleep(") || !asleep && inner != head+1 {
			t.Errorf("the call or what it waits for is of another moment:\n%s", o.stdout)
		}
	}
	if seen["S"] < rounds/20 || seen["R"] < rounds/20 {
		t.Errorf("%v: it was not met in both states", seen)
	}
}
