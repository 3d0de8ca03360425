//go:build linux

package verdict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// usual says that a row is judged in every test run: programs in C, which start at once and take no CPU, of which no
// fault is known. -every judges all of them.
func (r *row) usual() bool {
	return !r.cpu && known[r.name] == nil && strings.HasPrefix(strings.TrimPrefix(r.name, "healthy "), "C ")
}

// TestVerdict judges each of those rows once. What a row is known to get wrong is listed in known_test.go, and must be
// wrong: a row that is right now is taken off that list.
func TestVerdict(t *testing.T) {
	if *matrix {
		t.Skip("-matrix counts only")
	}
	for i := range rows {
		r := &rows[i]
		if !*every && !r.usual() {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			need(t, r.needs...)
			for found, a := range r.judge(t, 1) {
				r.hold(t, found, a)
			}
		})
	}
}

// judge starts the program and has it judged n times; it yields what is right and wrong each time.
func (r *row) judge(t testing.TB, n int) func(yield func(map[aspect]string, *answer) bool) {
	return func(yield func(map[aspect]string, *answer) bool) {
		t.Helper()
		if r.cpu {
			computing <- struct{}{}
			defer func() { <-computing }()
		}
		p := r.program(t)
		pid := 0
		if r.argv != nil && r.ready != "" {
			pid = p.Begin(t)
		}
		by := r.by
		if by == nil {
			by = hang
		}
		for range n {
			a := by(t, p, pid)
			if *shown {
				fmt.Printf("%-50s %s\n", r.name, a.Verdict.Sentence)
			}
			if !yield(r.is.compare(a, p), a) {
				return
			}
		}
	}
}

// hold compares what is right and wrong with what is known to be.
func (r *row) hold(t *testing.T, found map[aspect]string, a *answer) {
	t.Helper()
	faults := known[r.name]
	bad := false
	for _, what := range slices.Sorted(maps.Keys(found)) {
		wrong, reason := found[what], faults[what]
		switch {
		case wrong != "" && reason == "":
			t.Errorf("%s: %s", what, wrong)
			bad = true
		case wrong == "" && reason != "":
			t.Errorf("%s is right now: take %q off the known faults", what, reason)
			bad = true
		case wrong != "":
			t.Logf("known: %s: %s (%s)", what, wrong, reason)
		}
	}
	if bad {
		t.Logf("status %d\n%s", a.status, brief(a.text))
	}
}

// brief is what of the document explains the verdict, for a test that fails.
func brief(text string) string {
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &all) != nil {
		return text
	}
	var b bytes.Buffer
	for _, name := range []string{"trigger", "verdict", "activity", "problems"} {
		fmt.Fprintf(&b, "\n%s: ", name)
		json.Compact(&b, all[name])
	}
	return b.String()
}

// TestKnown: what is listed as wrong is of a row, and of an aspect that is compared there.
func TestKnown(t *testing.T) {
	for name, faults := range known {
		i := slices.IndexFunc(rows, func(r row) bool { return r.name == name })
		if i < 0 {
			t.Errorf("%q is no row", name)
			continue
		}
		for what, reason := range faults {
			if _, compared := rows[i].is.compare(&answer{Verdict: new(verdictOf)},
				nil)[what]; !compared || reason == "" {
				t.Errorf("%q: %s is not compared, or has no reason", name, what)
			}
		}
	}
}

// TestRows: names are unique, and half of the rows are healthy.
func TestRows(t *testing.T) {
	seen, well := map[string]bool{}, 0
	for i := range rows {
		if seen[rows[i].name] {
			t.Errorf("%q is there twice", rows[i].name)
		}
		seen[rows[i].name] = true
		if rows[i].is.state == healthy {
			well++
		}
	}
	t.Logf("%d rows, %d of them healthy", len(rows), well)
	if len(rows) < 80 || well < len(rows)*2/5 {
		t.Errorf("%d rows, %d healthy: want 80, and two in five", len(rows), well)
	}
}
