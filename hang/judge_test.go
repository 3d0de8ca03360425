package hang_test

import (
	"compress/gzip"
	"encoding/gob"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/hang"
)

var update = flag.Bool("update", false, "rewrite the expected verdicts")

// TestRecordedCases judges the cases that tests/hang recorded of real jobs.
func TestRecordedCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.gob.gz")
	if err != nil || len(files) < 18 {
		t.Fatalf("got %d recorded cases, %v, want 18 or more", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".gob.gz"), func(t *testing.T) {
			t.Parallel()
			got := shown(hang.Judge(recorded(t, file)))
			golden := strings.TrimSuffix(file, ".gob.gz") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// recorded reads a case.
func recorded(t testing.TB, file string) *hang.Case {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	c := &hang.Case{}
	if err := gob.NewDecoder(z).Decode(c); err != nil {
		t.Fatal(err)
	}
	return c
}

// shown is a verdict as text, with the class of each thread, within the columns of all text.
func shown(v *hang.Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", v.Kind)
	for _, line := range append([]string{v.Sentence}, v.Because...) {
		words := strings.Fields(line)
		column := 0
		for i, word := range words {
			if i > 0 && column+len(word) > 100 {
				b.WriteString("\n   ")
				column = 3
			}
			if i > 0 {
				b.WriteString(" ")
			}
			b.WriteString(word)
			column += len(word) + 1
		}
		b.WriteString("\n")
	}
	if c := v.Culprit; c != nil && c.Frame != nil {
		fmt.Fprintf(&b, "culprit: %s in %s\n", c.Process, c.Frame.Func)
	}
	for _, t := range v.Threads {
		fmt.Fprintf(&b, "%d %s\n", t.TID, t.Class)
	}
	return b.String()
}
