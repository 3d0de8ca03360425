//go:build linux

package live

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const diffProgram = `
#include <time.h>
volatile unsigned long x;
__attribute__((noinline)) void same(long n) { for (long i = 0; i < n; i++) x += i * i; }
#ifdef OLD
__attribute__((noinline)) void forgotten(long n) { for (long i = 0; i < n; i++) x ^= i; }
#endif
int main(void) {
	while (clock() < 3 * CLOCKS_PER_SEC / 2) {
		same(400000);
#ifdef OLD
		forgotten(400000);
#endif
	}
	return 0;
}
`

// TestFlameDiffOfTwoBuilds is README's example: two builds of a program, each in a folder of its own.
func TestFlameDiffOfTwoBuilds(t *testing.T) {
	t.Parallel()
	dir := room(t)
	source := filepath.Join(dir, "t.c")
	if err := os.WriteFile(source, []byte(diffProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	for folder, flag := range map[string]string{"old": "-DOLD", "new": "-DNEW"} {
		bin := filepath.Join(dir, folder, "prog")
		if err := os.Mkdir(filepath.Dir(bin), 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("gcc", "-O1", "-g", flag, "-o", bin, source).CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, out)
		}
		out := filepath.Join(dir, folder+".json")
		if o := show(t, "record", "-q", "--mode", "cpu", "-o", out, "--", bin); o.status != 0 {
			t.Fatal(o.stderr)
		}
	}
	svg, doc := filepath.Join(dir, "d.svg"), filepath.Join(dir, "d.json")
	o := show(t, "flame", filepath.Join(dir, "new.json"), "--diff", filepath.Join(dir, "old.json"), "-o", svg)
	if o.status != 0 || !regexp.MustCompile(`(?m)^ +0\.0% +-\d+\.\d\d ± +\d+\.\d\d  forgotten  \[prog\]$`).MatchString(
		o.stderr) {
		t.Errorf("status %d, %s", o.status, o.stderr)
	}
	picture := readFile(t, svg)
	if n := strings.Count(picture, "<title>same (t.c"); n != 1 {
		t.Errorf("same is in %d boxes, want 1: two builds have it in common", n)
	}
	if n := len(regexp.MustCompile(`<title>main \(t\.c[^)]*\): [^<]* [-+]\d+\.\d\d ± \d+\.\d\d points`).FindAllString(
		picture, -1)); n != 1 {
		t.Errorf("main is in %d boxes with the error of its change, want 1", n)
	}
	if !regexp.MustCompile(`<title>forgotten \(t\.c[^)]*\): gone, was [^<]* -\d+\.\d\d ± \d+\.\d\d points`).MatchString(
		picture) {
		t.Error("what only the older build has is not in the picture")
	}
	if o := show(t, "flame", "-q", filepath.Join(dir, "new.json"), "--diff", filepath.Join(dir, "old.json"), "-o",
		doc); o.status != 0 || o.stderr != "" {
		t.Errorf("to JSON: status %d, %q", o.status, o.stderr)
	}
	var read struct {
		Difference struct {
			Functions []struct {
				Function   string
				Self       int64
				SelfBefore int64    `json:"self_before"`
				SelfError  *float64 `json:"self_error"`
				SelfNoise  bool     `json:"self_noise"`
			}
		}
	}
	if err := json.Unmarshal([]byte(readFile(t, doc)), &read); err != nil {
		t.Fatal(err)
	}
	for _, f := range read.Difference.Functions {
		if f.Function == "forgotten" && (f.Self != 0 || f.SelfBefore == 0 || f.SelfError == nil || *f.SelfError == 0 ||
			f.SelfNoise) {
			t.Errorf("forgotten: %+v", f)
		}
	}
	if n := len(read.Difference.Functions); n < 3 {
		t.Errorf("%d functions in the document, want main, same and forgotten at least", n)
	}
}
