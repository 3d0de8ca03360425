package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func readEvents(t *testing.T, events string) *run {
	t.Helper()
	r := newRun(&strings.Builder{})
	if err := r.readAll(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	return r
}

// everyLive says that all tests of package p are of live processes.
var everyLive = live{"p": true}

const twoFail = `{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Test":"TestB/one"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p"}
`

func TestAgain(t *testing.T) {
	four := `{"Action":"fail","Package":"p","Test":"TestD"}
{"Action":"fail","Package":"p","Test":"TestE"}
`
	for _, tt := range []struct {
		name   string
		live   live
		events string
		want   string
	}{
		{"those that failed, without subtests", everyLive, twoFail, "^(TestB|TestC)$"},
		{"one of the package is of live processes", live{"p TestB": true}, twoFail, "^(TestB)$"},
		{"those of live processes passed", live{"p TestA": true, "q": true}, twoFail, ""},
		{"too many", everyLive, twoFail + four, ""},
		{"many, few of them of live processes", live{"p TestC": true}, twoFail + four, "^(TestC)$"},
		{"none failed", everyLive, `{"Action":"pass","Package":"p","Test":"TestA"}`, ""},
		{"one found a race", everyLive,
			`{"Action":"output","Package":"p","Test":"TestD","Output":"WARNING: DATA RACE\n"}
{"Action":"fail","Package":"p","Test":"TestD"}
`, ""},
		{"a package ended in the middle beside", everyLive, twoFail + `{"Action":"fail","Package":"q"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := readEvents(t, tt.events).again(tt.live); got != tt.want || ok != (tt.want != "") {
				t.Errorf("got %q, %v, want %q", got, ok, tt.want)
			}
		})
	}
}

// TestSecondTry: what passed there counts as passed and is named; what failed twice has failed.
func TestSecondTry(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "live.json"), filepath.Join(dir, "live.again.json")
	write := func(path, events string) {
		if err := os.WriteFile(path, []byte(events), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(first, twoFail)
	check := func(name string, l live, want string, status int) {
		var out strings.Builder
		if got := sumUp([]string{second, first}, l, &out); got != status || out.String() != want {
			t.Errorf("%s: got %q, status %d, want %q, status %d", name, out.String(), got, want, status)
		}
	}
	write(second, `{"Action":"pass","Package":"p","Test":"TestB/one"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p","Test":"TestC"}
`)
	check("one of two", everyLive, `unsteady: p TestB: failed, and passed when it ran again by itself
unsteady: p TestB/one: failed, and passed when it ran again by itself
3 passed, 1 failed, 0 skipped
`, 1)
	write(second, `{"Action":"pass","Package":"p","Test":"TestB/one"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p","Test":"TestC"}
`)
	check("both", everyLive, `unsteady: p TestB: failed, and passed when it ran again by itself
unsteady: p TestB/one: failed, and passed when it ran again by itself
unsteady: p TestC: failed, and passed when it ran again by itself
4 passed, 0 failed, 0 skipped
`, 0)
	check("the other one is not of live processes", live{"p TestB": true},
		`unsteady: p TestB: failed, and passed when it ran again by itself
unsteady: p TestB/one: failed, and passed when it ran again by itself
3 passed, 1 failed, 0 skipped
`, 1)
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if got := sumUp([]string{first}, everyLive, &out); got != 1 ||
		!strings.HasSuffix(out.String(), "1 passed, 3 failed, 0 skipped\n") {
		t.Errorf("no second try: got %q, status %d", out.String(), got)
	}
}

// TestReadLive: the lists name whole packages and single tests.
func TestReadLive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live")
	if err := os.WriteFile(path, []byte("p\nq TestA\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := readLive(path)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"p TestX": true, "p TestX/part": true, "q TestA": true, "q TestA/part": true,
		"q TestAB": false, "r TestA": false} {
		if got := l.holds(key); got != want {
			t.Errorf("%q: got %v", key, got)
		}
	}
	if _, err := readLive(path + "-none"); err == nil {
		t.Error("a file that is not there was read")
	}
}

// TestCountUnsteady counts in how many runs a test was unsteady, not how many of its parts.
func TestCountUnsteady(t *testing.T) {
	line := func(key string) string { return fmt.Sprintf(unsteadyLine, key) }
	dir := t.TempDir()
	run := func(name string, keys ...string) string {
		path, text := filepath.Join(dir, name), "skipped: p TestX: why\n"
		for _, key := range keys {
			text += line(key)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	none, a, b := run("none"), run("a", "p TestA", "p TestA", "p TestA/one"), run("b", "p TestB", "p TestA")
	for _, tt := range []struct {
		name   string
		paths  []string
		want   string
		status int
	}{
		{"none", []string{none, none}, "", 0},
		{"each once", []string{none, a}, "1 of 2 runs: p TestA\n1 of 2 runs: p TestA/one\n", 0},
		{"one twice", []string{a, none, b}, "2 of 3 runs: p TestA\n1 of 3 runs: p TestA/one\n" +
			"1 of 3 runs: p TestB\n", 1},
		{"no such file", []string{filepath.Join(dir, "x")}, "", 1},
	} {
		var out strings.Builder
		if got := countUnsteady(tt.paths, &out); got != tt.status || out.String() != tt.want {
			t.Errorf("%s: got %q, status %d, want %q, status %d", tt.name, out.String(), got, tt.want, tt.status)
		}
	}
}
