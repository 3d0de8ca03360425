//go:build linux

package verdict

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

var (
	every  = flag.Bool("every", false, "judge all rows, not only those of every test run")
	matrix = flag.Bool("matrix", false, "count verdicts over -rounds, and print the table of docs/dev/verdicts.md")
	rounds = flag.Int("rounds", 20, "how often -matrix looks at each row")
	load   = flag.Bool("load", false, "keep all CPUs busy meanwhile")
	kept   = flag.String("keep", "", "folder for the JSON of each answer that -matrix finds wrong")
	shown  = flag.Bool("sentences", false, "print what is said of each row")
)

var (
	fpstack string
	scratch string
	// computing bounds the rows that take a CPU: many at once would starve each other.
	computing = make(chan struct{}, runtime.NumCPU()+1)
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	r, err := harness.Prepare("verdict")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(r.Scratch)
	fpstack, scratch = r.Fpstack, r.Scratch
	flag.Parse()
	if err := flag.Set("test.parallel", "24"); err != nil { // they sleep, most of the time
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
