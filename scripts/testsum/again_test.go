package main

import (
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
		name, events, want string
	}{
		{"those that failed, without subtests", twoFail, "^(TestB|TestC)$"},
		{"too many", twoFail + four, ""},
		{"none failed", `{"Action":"pass","Package":"p","Test":"TestA"}`, ""},
		{"one found a race", `{"Action":"output","Package":"p","Test":"TestD","Output":"WARNING: DATA RACE\n"}
{"Action":"fail","Package":"p","Test":"TestD"}
`, ""},
		{"a package ended in the middle beside", twoFail + `{"Action":"fail","Package":"q"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := readEvents(t, tt.events).again(); got != tt.want || ok != (tt.want != "") {
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
	check := func(name, want string, status int) {
		var out strings.Builder
		if got := sumUp([]string{second, first}, &out); got != status || out.String() != want {
			t.Errorf("%s: got %q, status %d, want %q, status %d", name, out.String(), got, want, status)
		}
	}
	write(second, `{"Action":"pass","Package":"p","Test":"TestB/one"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p","Test":"TestC"}
`)
	check("one of two", `unsteady: p TestB/one: failed, and passed when it ran again by itself
unsteady: p TestB: failed, and passed when it ran again by itself
3 passed, 1 failed, 0 skipped
`, 1)
	write(second, `{"Action":"pass","Package":"p","Test":"TestB/one"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p","Test":"TestC"}
`)
	check("both", `unsteady: p TestB/one: failed, and passed when it ran again by itself
unsteady: p TestB: failed, and passed when it ran again by itself
unsteady: p TestC: failed, and passed when it ran again by itself
4 passed, 0 failed, 0 skipped
`, 0)
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if got := sumUp([]string{first}, &out); got != 1 || !strings.HasSuffix(out.String(), "1 passed, 3 failed, 0 skipped\n") {
		t.Errorf("no second try: got %q, status %d", out.String(), got)
	}
}
