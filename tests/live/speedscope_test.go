//go:build linux

package live

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSpeedscopeStaysOpenable: what would be a file of 80 MB is joined until it has less than 50, reported on
// standard error and in the file; the sums stay.
func TestSpeedscopeStaysOpenable(t *testing.T) {
	t.Parallel()
	dir := room(t)
	in, out := filepath.Join(dir, "in.folded"), filepath.Join(dir, "out.speedscope.json")
	f, err := os.Create(in)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	var callers strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&callers, "f%d;", i)
	}
	want := 0.0
	for i := range 20_000 {
		fmt.Fprintf(w, "%sleaf%d %d\n", callers.String(), i, 1+i%50)
		want += float64(1 + i%50)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	o := show(t, "flame", in, "-o", out)
	info, err := os.Stat(out)
	if err != nil || o.status != 0 || info.Size() > 50_000_000 ||
		!strings.Contains(o.stderr, "to stay below 50 MB, stacks below ") {
		t.Fatalf("status %d, %v, %v, %q", o.status, info, err, o.stderr)
	}
	if text := readFile(t, out); !strings.Contains(text,
		`"name":"all threads, speedscope opens no large files: to stay below 50 MB`) {
		t.Errorf("the file does not say it: %.300q", text[strings.Index(text, `"profiles"`):])
	}
	sum, self := 0.0, speedscopeSums(t, out, "none")
	for _, v := range self {
		sum += v
	}
	if math.Abs(sum-want) > 0.5 || self["(smaller)"] == 0 || self["leaf49"] != 50 {
		t.Errorf("sum %v, want %v; joined %v; leaf49 has %v, want 50", sum, want, self["(smaller)"], self["leaf49"])
	}
	if o := show(t, "flame", "-q", in, "-o", out); o.status != 0 || o.stderr != "" {
		t.Errorf("-q: status %d, %q", o.status, o.stderr)
	}
}
