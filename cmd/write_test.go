package cmd

import (
	"testing"

	"github.com/fpstack/fpstack/profile"
)

func TestUnitNote(t *testing.T) {
	p := &profile.Profile{Types: []profile.ValueType{profile.SamplesCount, profile.WallTime, profile.CPUTime,
		{Type: "inuse_space", Unit: "bytes"}}}
	for i, want := range []string{"samples", "nanoseconds of wall time", "nanoseconds of CPU time",
		"bytes of inuse_space"} {
		p.Default = i
		if got := formNamed("folded").unitNote(&view{profile: p}); got != "; each number is "+want {
			t.Errorf("%v: got %q, want %q", p.Types[i], got, want)
		}
		if got := formNamed("json").unitNote(&view{profile: p}); got != "" {
			t.Errorf("json says its unit itself, not %q", got)
		}
	}
}
