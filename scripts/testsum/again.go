package main

import (
	"fmt"
	"slices"
	"strings"
)

// againSuffix ends the name of the log of a second try, next to the one of the first.
const againSuffix = ".again.json"

// mostAgain is how many tests may be tried once more: where more fail it is no accident.
const mostAgain = 3

// failedTests lists the tests, without subtests, that failed.
func (r *run) failedTests() []string {
	var names []string
	for key, how := range r.ended {
		_, name, _ := strings.Cut(key, " ")
		if how == "fail" && !strings.Contains(name, "/") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// again is the pattern of the tests that may be tried once more: those that failed, if they are few and
// nothing graver happened beside them.
func (r *run) again() (pattern string, ok bool) {
	names := r.failedTests()
	if r.broken || len(names) == 0 || len(names) > mostAgain {
		return "", false
	}
	return "^(" + strings.Join(names, "|") + ")$", true
}

// amend takes the result of a second try for each test that failed in r, and returns a line for each
// that passed there.
func (r *run) amend(second *run) []string {
	var unsteady []string
	for key, how := range r.ended {
		if how == "fail" && second.ended[key] == "pass" {
			r.counts.failed--
			r.counts.passed++
			unsteady = append(unsteady, fmt.Sprintf("unsteady: %s: failed, and passed when it ran again by itself", key))
		}
	}
	slices.Sort(unsteady)
	return unsteady
}
