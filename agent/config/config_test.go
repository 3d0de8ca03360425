package config

import (
	"strings"
	"testing"
)

func isOption(name string) bool { return strings.Contains(" rate push label ", " "+name+" ") }

func TestParse(t *testing.T) {
	f, err := Parse([]byte(`
# what is recorded
processes:
  - name: [redis-server, nginx]
    service: web
    labels: {team: db, tier: "1"}
  - unit: postgresql@*
    user: [0, 12]
  - pid: [17]
exclude:
  - cgroup: /user.slice
rate: 9.5
push:
  - otlp+http://a
  - file:///x
`), isOption)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Processes) != 3 || len(f.Exclude) != 1 || f.Processes[0].Service != "web" ||
		strings.Join(f.Processes[0].Labels, " ") != "team=db tier=1" || f.Processes[1].Users[1] != 12 ||
		f.Processes[2].PIDs[0] != 17 || f.Exclude[0].Cgroups[0] != "/user.slice" {
		t.Errorf("%+v", f)
	}
	if len(f.Options) != 2 || f.Options[0].Values[0] != "9.5" || len(f.Options[1].Values) != 2 ||
		f.Options[1].Line != 13 {
		t.Errorf("%+v", f.Options)
	}
	if f, err := Parse([]byte("# nothing\n"), isOption); err != nil || len(f.Processes) != 0 {
		t.Errorf("an empty file: %v, %v", f, err)
	}
}

// TestMistakes: what is not understood is refused, with line and key.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"processes:\n  - nam: x\n":                        `line 2: unknown key "nam" of a rule`,
		"rat: 1\n":                                        `line 1: unknown key "rat"`,
		"rate: 1\nrate: 2\n":                              `line 2: key "rate" is there twice`,
		"processes:\n  - name: x\n    name: y\n":          `line 3: key "name" is there twice`,
		"rate: {a: 1}\n":                                  "line 1: rate: want a value",
		"rate:\n":                                         "line 1: rate: want a value",
		"processes: redis\n":                              "line 1: processes: want a list",
		"processes:\n  - redis\n":                         "line 2: processes: want keys with values",
		"processes:\n  - name: []\n":                      "line 2: name: no value",
		"processes:\n  - service: x\n":                    "line 2: a rule of processes that chooses nothing",
		"processes:\n  - pid: x\n":                        `line 2: pid: "x" is no id`,
		"processes:\n  - user: no-such-user\n":            "line 2: find user",
		"processes:\n  - name: x\n    service: [a, b]\n":  "line 3: service: want one name",
		"exclude:\n  - name: x\n    service: a\n":         "line 3: service: want one name",
		"exclude:\n  - name: x\n    labels: {a: b}\n":     "line 3: labels: only in a rule",
		"processes:\n  - name: x\n    labels: [a]\n":      "line 3: labels: want keys",
		"processes:\n  - name: x\n    labels: {a: [b]}\n": `line 3: label "a": want a value`,
		"processes:\n  - container: 12\n":                 "line 2: container",
		"- a\n":                                           "line 1: the file: want keys",
		"a: [\n":                                          "line",
		"a: &x [*x]\n":                                    "",
		"processes:\n  - name: x\n    ? [a]\n    : b\n":   "line 3: processes: want a word as a key",
		strings.Repeat("#", MaxSize+1):                    "larger than",
	} {
		_, err := Parse([]byte(text), isOption)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("processes:\n  - name: [x]\nrate: 1\n"))
	f.Add([]byte("a: &a [*a, *a]\n"))
	f.Fuzz(func(_ *testing.T, text []byte) { Parse(text, isOption) })
}

// TestRelabel: rules of relabelling, in their order, and what is none.
func TestRelabel(t *testing.T) {
	const two = "relabel:\n  - {from: hostname, match: '(.+)-0', to: a, value: $1}\n  - from: cgroup\n    to: b\n"
	f, err := Parse([]byte(two), func(string) bool { return false })
	if err != nil || len(f.Relabel) != 2 || f.Relabel[0] != (Relabel{"hostname", "(.+)-0", "a", "$1", 2}) ||
		f.Relabel[1] != (Relabel{From: "cgroup", To: "b", Line: 3}) {
		t.Errorf("%+v, %v", f, err)
	}
	for _, text := range []string{"relabel: x", "relabel: [x]", "relabel: [{from: [a]}]", "relabel: [{form: a}]",
		"relabel: [{from: a, from: b}]"} {
		if _, err := Parse([]byte(text), func(string) bool { return false }); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
