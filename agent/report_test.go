package agent

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The grammar of the text format.
// Source: prometheus.io/docs/instrumenting/exposition_formats.
var (
	helpLine   = regexp.MustCompile(`^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) [^\n]+$`)
	typeLine   = regexp.MustCompile(`^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge)$`)
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"` +
		`(?:,[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*")*)\})? (\S+)$`)
)

// parseMetrics reads a page strictly: each metric has its HELP and its TYPE before its samples, all in one group;
// counters end in _total.
func parseMetrics(t *testing.T, page string) map[string]float64 {
	t.Helper()
	values, seen, current, typed := map[string]float64{}, map[string]bool{}, "", false
	if !strings.HasSuffix(page, "\n") {
		t.Error("the last line does not end")
	}
	for _, line := range strings.Split(strings.TrimSuffix(page, "\n"), "\n") {
		if m := helpLine.FindStringSubmatch(line); m != nil {
			if seen[m[1]] {
				t.Errorf("%s is there twice", m[1])
			}
			current, typed, seen[m[1]] = m[1], false, true
			continue
		}
		if m := typeLine.FindStringSubmatch(line); m != nil {
			if m[1] != current || typed || (m[2] == "counter") != strings.HasSuffix(m[1], "_total") {
				t.Errorf("unexpected %q", line)
			}
			typed = true
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil || m[1] != current || !typed {
			t.Errorf("malformed %q", line)
			continue
		}
		v, err := strconv.ParseFloat(m[4], 64)
		if _, twice := values[m[1]+m[2]]; err != nil || twice {
			t.Errorf("%q: %v", line, err)
		}
		values[m[1]+m[2]] = v
	}
	return values
}

func TestReports(t *testing.T) {
	m := newMachine()
	m.followed[3], m.threads[3] = true, 500
	m.followed[4], m.threads[4] = true, 2
	o := m.options()
	a := New(o)
	a.leftOut = map[string]int{"not permitted": 2, "a \"b\\\n": 1}
	r := a.Report()
	r.Counts.Targets[0].Rate = 2.375
	var b bytes.Buffer
	if err := r.WriteMetrics(&b); err != nil {
		t.Fatal(err)
	}
	got := parseMetrics(t, b.String())
	const store = `{store="file:///a\"b"}`
	for name, want := range map[string]float64{"processes": 2, "threads": 502, "lowest_rate": 2.375, "wanted_rate": 19,
		"slowed_processes": 1, `left_out_processes{reason="not permitted"}`: 2, "profiles_taken_total" + store: 7,
		"profiles_sent_total" + store: 3, "profiles_spooled" + store: 2, "store_trouble" + store: 1,
		`profiles_dropped_total{store="file:///a\"b",reason="the spool is full"}`: 2,
		"resident_memory_bytes": 10 << 20, "cpu_budget": 0.01} {
		if v, ok := got["fpstack_agent_"+name]; !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	if got["fpstack_agent_profiles_taken_total"+store] != got["fpstack_agent_profiles_sent_total"+store]+
		got["fpstack_agent_profiles_spooled"+store]+2 {
		t.Error("taken is not sent, spooled and dropped")
	}
	line := r.Line()
	for _, want := range []string{"2 processes, 502 threads", "1 sampled less often (2.38/s)", "3 left out",
		"3 sent, 2 waiting, 2 dropped (away"} {
		if !strings.Contains(line, want) {
			t.Errorf("%q lacks %q", line, want)
		}
	}
	all := r.Accounts()
	for _, want := range []string{"not recorded: 2, not permitted", "profiles: 7 taken, 3 sent, 2 waiting",
		"2 dropped (the spool is full)", "note: a note", "the budget of 1% of a CPU bites"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q lacks %q", all, want)
		}
	}
}
