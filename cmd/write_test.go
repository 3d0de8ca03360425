package cmd

import (
	"bytes"
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

// TestEveryFormWrites: a row of forms is all that a format needs here, for a profile and for a comparison.
func TestEveryFormWrites(t *testing.T) {
	b := profile.NewBuilder(profile.SamplesCount, profile.WallTime)
	b.Add(b.Child(0, b.Frame(profile.Frame{Func: "work", Module: -1})), -1, 1, 100)
	for _, old := range []*profile.Profile{nil, b.Profile()} {
		v, err := newView(b.Profile(), old, false, &viewOptions{}, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		for i := range forms {
			if forms[i].name == "folded" && old != nil {
				continue // it has one number a line
			}
			var out bytes.Buffer
			if err := forms[i].write(&out, v); err != nil || out.Len() == 0 {
				t.Errorf("%s of a comparison %v: %d bytes, %v", forms[i].name, old != nil, out.Len(), err)
			}
		}
	}
}
