//go:build linux

// Package push sends profiles as users do, and takes away what they go by: the process in the middle, the disk, the
// store.
package push

import (
	"fmt"
	"os"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

var fpstack string // the command under test

func TestMain(m *testing.M) {
	if mode := os.Getenv("PUSH_HELPER"); mode != "" {
		os.Exit(helper(mode))
	}
	r, err := harness.Prepare("push")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fpstack = r.Fpstack
	status := m.Run()
	os.RemoveAll(r.Scratch)
	os.Exit(status)
}
