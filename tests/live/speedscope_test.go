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

	"github.com/fpstack/fpstack/tests/harness"
)

// TestSpeedscopeLarge: of a file that its page may not open a line on standard error says so; nothing is left out.
func TestSpeedscopeLarge(t *testing.T) {
	harness.Long(t)
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
	if err != nil || o.status != 0 || info.Size() < 50_000_000 ||
		!strings.Contains(o.stderr, fmt.Sprintf("may not open a file of %d MB", info.Size()/1e6)) {
		t.Fatalf("status %d, %v, %v, %q", o.status, info, err, o.stderr)
	}
	sum, self := 0.0, speedscopeSums(t, out, "none")
	for _, v := range self {
		sum += v
	}
	if math.Abs(sum-want) > 0.5 || self["leaf48"] != 49 {
		t.Errorf("sum %v, want %v; leaf48 has %v, want 49", sum, want, self["leaf48"])
	}
	if o := show(t, "flame", "-q", in, "-o", out); o.status != 0 || o.stderr != "" {
		t.Errorf("-q: status %d, %q", o.status, o.stderr)
	}
}
