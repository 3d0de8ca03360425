package harness

import (
	"os"
	"testing"
)

// All says that all is asked for that a release must pass, as by `scripts/test --all` and in CI: every version of a
// runtime and whole runs, where a change is tried on some of them. FPSTACK_ALL=1 sets it.
var All = os.Getenv("FPSTACK_ALL") == "1"

// Long skips a test that takes long and is no part of what each change must pass.
func Long(t testing.TB) {
	t.Helper()
	if !All {
		t.Skip("it takes long: scripts/test --all runs it")
	}
}

// Last is the last of a sorted list of versions; all of them with [All].
func Last[T any](versions []T) []T {
	if All || len(versions) == 0 {
		return versions
	}
	return versions[len(versions)-1:]
}

// With are those that each run tries, and with [All] the others behind them.
func With[T any](always []T, others ...T) []T {
	if All {
		return append(always, others...)
	}
	return always
}

// Times is how often something is done that is done so often with [All]: a fifth of it else, and once at least.
func Times(all int) int {
	if All {
		return all
	}
	return max(1, all/5)
}
