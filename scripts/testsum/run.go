package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// event is one line of `go test -json`. Source: go doc cmd/test2json; build-output
// is described in go help buildjson.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build-output and build-fail
	Test        string // empty: the event is about the whole package
	Elapsed     float64
	Output      string
	FailedBuild string // of a package's fail: the ImportPath that did not build
}

// counts are numbers of tests, subtests included.
type counts struct{ passed, failed, skipped int }

func (c *counts) add(d counts) {
	c.passed += d.passed
	c.failed += d.failed
	c.skipped += d.skipped
}

func (c counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.passed, c.failed, c.skipped)
}

// status is 1 if a test failed or none ran: an empty run has shown nothing.
func (c counts) status() int {
	if c.failed > 0 || c.passed+c.skipped == 0 {
		return 1
	}
	return 0
}

// run collects one run of go test and prints it as it goes on.
type run struct {
	counts counts
	skips  []string          // one line each: the test and its reason
	ended  map[string]string // how each test did, by package and test: pass, fail or skip
	strict bool              // a tool that is missing is a failure
	broken bool              // a panic, a data race, or a package failed and none of its tests is to blame

	w       io.Writer
	output  map[string][]string // by package and test, until its result is known
	blamed  map[string]bool     // packages of which a test has failed
	ofBuild map[string][]string // compiler output by import path
}

func newRun(w io.Writer) *run {
	return &run{w: w, strict: os.Getenv("CI") != "", ended: map[string]string{}, output: map[string][]string{},
		blamed: map[string]bool{}, ofBuild: map[string][]string{}}
}

// readAll reads events to the end of r. A line that is none (go vet writes such
// ones) is printed as it is.
func (r *run) readAll(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
				fmt.Fprint(r.w, line)
			} else {
				r.take(e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read test events: %w", err)
		}
	}
}

func (r *run) take(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		r.output[key] = append(r.output[key], e.Output)
	case "build-output":
		r.ofBuild[e.ImportPath] = append(r.ofBuild[e.ImportPath], e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e)
		} else {
			r.endTest(e)
		}
		delete(r.output, key)
	}
}

func (r *run) endTest(e event) {
	output := r.output[e.Package+" "+e.Test]
	r.ended[e.Package+" "+e.Test] = e.Action
	switch e.Action {
	case "pass":
		r.counts.passed++
	case "skip":
		said, why := "skipped", reason(output)
		if r.strict && lacksTool(why) {
			said = "failed for want of a tool"
			r.counts.failed++
		} else {
			r.counts.skipped++
		}
		r.skips = append(r.skips, fmt.Sprintf("%s: %s %s: %s", said, e.Package, e.Test, why))
		fmt.Fprintln(r.w, r.skips[len(r.skips)-1])
	case "fail":
		r.counts.failed++
		r.blamed[e.Package] = true
		r.broken = r.broken || slices.ContainsFunc(output, grave)
		fmt.Fprintf(r.w, "FAILED: %s %s (%.1fs)\n", e.Package, e.Test, e.Elapsed)
		r.print(output)
	}
}

// lacksTool reports whether the reason of a skip is that a tool, or what a tool makes, is missing. Tests say so in
// one of these words.
func lacksTool(reason string) bool {
	return slices.ContainsFunc([]string{"is not installed", "is not built", "does not work here"},
		func(words string) bool {
			return strings.Contains(reason, words)
		})
}

// grave reports whether a line of a failed test's output is of a fault that a second try must not hide.
func grave(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") ||
		strings.HasPrefix(line, "WARNING: DATA RACE")
}

// endPackage prints one line for a package. Its failure counts as one more only if
// no test of it is to blame: it did not build, or it ended in the middle.
func (r *run) endPackage(e event) {
	switch {
	case e.Action == "skip":
		fmt.Fprintf(r.w, "-     %s (no tests)\n", e.Package)
	case e.Action == "pass":
		fmt.Fprintf(r.w, "ok    %s (%.1fs)\n", e.Package, e.Elapsed)
	default:
		fmt.Fprintf(r.w, "FAIL  %s (%.1fs)\n", e.Package, e.Elapsed)
		if !r.blamed[e.Package] {
			r.counts.failed++
			r.broken = true
			r.print(r.ofBuild[e.FailedBuild])
			r.printUnfinished(e.Package)
		}
	}
}

// printUnfinished prints what a package and those of its tests said that never came
// to a result; a panic or a time limit is there.
func (r *run) printUnfinished(pkg string) {
	for key, output := range r.output {
		if strings.HasPrefix(key, pkg+" ") {
			r.print(output)
		}
	}
}

func (r *run) print(output []string) {
	for _, line := range output {
		fmt.Fprint(r.w, "    ", line)
	}
}

// reason is what a skipped test said: its output without the lines of go test. A
// skip with no word of its own is reported as such.
func reason(output []string) string {
	var said []string
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		said = append(said, line)
	}
	if len(said) == 0 {
		return "no reason given"
	}
	return strings.Join(said, " ")
}
