package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// againSuffix ends the name of the log of a second try, next to the one of the first.
const againSuffix = ".again.json"

// mostAgain is how many tests may be tried once more: where more fail it is no accident.
const mostAgain = 3

// live says which tests sample live processes, by lines of a package, or of a package and one of its tests:
// "example.org/p", "example.org/q TestA". What others do on the machine may decide how those end.
type live map[string]bool

// readLive reads such lines from the file at path.
func readLive(path string) (live, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read which tests are of live processes: %w", err)
	}
	l := live{}
	for line := range strings.Lines(string(text)) {
		l[strings.TrimSpace(line)] = true
	}
	return l, nil
}

// holds reports whether a test, or the one that it is a part of, is of live processes.
func (l live) holds(key string) bool {
	pkg, name, _ := strings.Cut(key, " ")
	name, _, _ = strings.Cut(name, "/")
	return l[pkg] || l[pkg+" "+name]
}

// failedTests lists the tests of live processes, without subtests, that failed.
func (r *run) failedTests(l live) []string {
	var names []string
	for key, how := range r.ended {
		_, name, _ := strings.Cut(key, " ")
		if how == "fail" && l.holds(key) && !strings.Contains(name, "/") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// again is the pattern of the tests that may be tried once more: those of live processes that failed, if they are
// few and nothing graver happened beside them.
func (r *run) again(l live) (pattern string, ok bool) {
	names := r.failedTests(l)
	if r.broken || len(names) == 0 || len(names) > mostAgain {
		return "", false
	}
	return "^(" + strings.Join(names, "|") + ")$", true
}

// amend takes the result of a second try for each test of a live process that failed in r, and returns those that
// passed there, by package and name. A test whose part failed and did not run again, as its name is another each
// time, has not passed.
func (r *run) amend(second *run, l live) []string {
	var unsteady []string
	for key, how := range r.ended {
		if how == "fail" && l.holds(key) && second.ended[key] == "pass" {
			r.counts.failed--
			r.counts.passed++
			unsteady = append(unsteady, key)
		}
	}
	slices.Sort(unsteady)
	return unsteady
}

// unsteadyLine is how sumUp reports a test that amend returned.
const unsteadyLine = "unsteady: %s: failed, and passed when it ran again by itself\n"

var unsteadyName = regexp.MustCompile(`^unsteady: (\S+ \S+): `)

// countUnsteady reads the files at paths, one of each run, for lines of unsteadyLine, and prints in how many runs
// each test was unsteady. The status is 1 if one was twice.
func countUnsteady(paths []string, w io.Writer) int {
	runs := map[string]int{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, "testsum:", err)
			return 1
		}
		seen := map[string]bool{}
		for line := range strings.Lines(string(text)) {
			if m := unsteadyName.FindStringSubmatch(line); m != nil && !seen[m[1]] {
				seen[m[1]] = true
				runs[m[1]]++
			}
		}
	}
	names, status := make([]string, 0, len(runs)), 0
	for name := range runs {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if runs[a] != runs[b] {
			return runs[b] - runs[a]
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		fmt.Fprintf(w, "%d of %d runs: %s\n", runs[name], len(paths), name)
		if runs[name] > 1 {
			status = 1
		}
	}
	return status
}
