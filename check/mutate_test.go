package check

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps/module"
)

// TestMutatedFiles looks at programs in which some bytes are others. Headers and tables are small beside
// code, so half of the changes go to the first and last pages.
func TestMutatedFiles(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 7))
	looked, slowest := 0, time.Duration(0)
	for _, name := range []string{"threads-stripped", "threads-m32", "threads-fp"} {
		whole, err := readBuilt(name)
		if err != nil {
			t.Skipf("no file to change: %v", err)
		}
		for range 150 {
			data := slices.Clone(whole)
			for range 1 + random.IntN(40) {
				at := random.IntN(len(data))
				switch random.IntN(4) {
				case 0:
					at = random.IntN(4096)
				case 1:
					at = len(data) - 1 - random.IntN(4096)
				}
				data[at] = byte(random.Uint32())
			}
			m, err := module.NewFile(&module.File{Data: data, Path: name})
			if err != nil {
				continue
			}
			begun := time.Now()
			r := Inspect(m, Options{Sample: 50})
			slowest = max(slowest, time.Since(begun))
			looked++
			if f := r.Frames; f.Looked != f.Kept+f.Missing+f.NotNeeded+f.Unclear || r.Tables.Covered > r.Code {
				t.Fatalf("got %+v", r)
			}
		}
	}
	t.Logf("%d files looked at, the slowest in %v", looked, slowest)
	if looked < 100 {
		t.Errorf("only %d of 450 files are objects still", looked)
	}
}
