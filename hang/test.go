package hang

import (
	"slices"
	"unicode/utf8"

	"github.com/fpstack/fpstack/hang/testcase"
	"github.com/fpstack/fpstack/text"
)

// mostTests is how many tests that run are named.
const mostTests = 3

// tests lists the tests that run in the last moment of c, that of the culprit first.
func tests(c *Case, culprit *Culprit) []testcase.Test {
	type found struct {
		testcase.Test
		rank int
	}
	var all []found
	if len(c.Moments) == 0 {
		return nil
	}
	for _, d := range c.Moments[len(c.Moments)-1].Dumps {
		p := &testcase.Process{}
		for i := range c.Processes {
			if one := &c.Processes[i]; one.PID == d.Process.PID {
				p = &testcase.Process{Dir: one.Dir, Args: one.Args, Variables: one.Variables}
			}
		}
		for _, t := range testcase.Of(d, p) {
			rank := 2
			if culprit != nil && d.Process.PID == culprit.PID {
				rank = 1
				if t.TID == culprit.TID && t.TID != 0 {
					rank = 0
				}
			}
			all = append(all, found{t, rank})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return a.rank - b.rank })
	if len(all) > 0 { // where the culprit is in a test, others only wait for their turn
		best := all[0].rank
		all = slices.DeleteFunc(all, func(t found) bool { return t.rank > best })
	}
	var out []testcase.Test
	for _, t := range all[:min(mostTests, len(all))] {
		out = append(out, t.Test)
	}
	return out
}

// inTests says in which tests that is, "" where there are none.
func inTests(all []testcase.Test) string {
	words := ""
	for i := range all {
		if words != "" {
			words += ", "
		}
		words += text.Escape(all[i].Name)
	}
	switch len(all) {
	case 0:
		return ""
	case 1:
		return "; in the test " + words
	}
	return "; in the tests " + words
}

// withTests is a sentence with the tests that it is about, cut so far that there is room for them.
func withTests(sentence, tests string) string {
	const most = mostSentence / 2
	tests = cut(tests, most)
	return cut(sentence, mostSentence-utf8.RuneCountInString(tests)) + tests
}
