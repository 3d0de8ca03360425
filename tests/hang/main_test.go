//go:build linux

// Package hang starts jobs that hang, and some that do not, and compares what fpstack says of them with the sentence
// that it must say.
package hang

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

var (
	fpstack string
	start   func(*exec.Cmd) error // on a thread that lasts
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	r, err := harness.Prepare("hang")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(r.Scratch)
	fpstack, start = r.Fpstack, r.Start
	flag.Parse()
	parallel := "12" // they sleep, most of the time: all at once take as long as one
	if *all {
		parallel = "3"
	}
	if err := flag.Set("test.parallel", parallel); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
