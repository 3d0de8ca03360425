package cmd

import (
	"compress/gzip"
	"context"
	"encoding/gob"
	"flag"
	"io"
	"os"
	"testing"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/hang/capture"
)

var (
	casePID = flag.Int("case.pid", 0, "record the case of this `process`")
	caseOut = flag.String("case.out", "", "in this `file`")
)

// TestRecordCase records the case of a process for the tests of the room hang; see tests/hang.
func TestRecordCase(t *testing.T) {
	if *casePID == 0 {
		t.Skip("a tool: -case.pid names a process to record")
	}
	a := &app{stdout: io.Discard, stderr: os.Stderr, unheed: func() {}}
	c := a.capture(context.Background(), &caseOptions{trigger: hang.Trigger{Kind: hang.Asked}, roots: []int{*casePID},
		children: true, at: capture.Usual})
	shrink(c)
	f, err := os.Create(*caseOut)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	if err := gob.NewEncoder(z).Encode(c); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// shrink drops what the verdict does not rest on.
func shrink(c *hang.Case) {
	for _, list := range [][]hang.Process{c.Processes, c.Outside} {
		for i := range list {
			list[i].Variables, list[i].Lines, list[i].Dir = nil, nil, ""
		}
	}
	for i := range c.Moments {
		for _, d := range c.Moments[i].Dumps {
			d.Sources = nil
			for k := range d.Modules {
				d.Modules[k].Symbols, d.Modules[k].BuildID = nil, ""
			}
			if i < len(c.Moments)-1 {
				d.FiberStacks, d.Fibers, d.Waits = nil, nil, nil
			}
		}
		if i < len(c.Moments)-1 {
			c.Moments[i].Waits = nil
		}
	}
}
