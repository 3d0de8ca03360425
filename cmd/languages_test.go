package cmd

import (
	"slices"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// TestNear: that lines of Java are those of a place near by is said where it is so, of a dump and of a recording.
func TestNear(t *testing.T) {
	for _, near := range []bool{true, false} {
		f := profile.Frame{Func: "Bank.hot", Kind: profile.Java, Module: -1, Near: near, Interrupted: true}
		d := &profile.Dump{Threads: []profile.Thread{{Stack: profile.Stack{Frames: []profile.Frame{f}}}}}
		b := profile.NewBuilder(profile.SamplesCount)
		b.Add(b.Child(0, b.Frame(f)), -1, 1)
		for what, notes := range map[string][]string{"dump": dumpNotes(d), "recording": profileNotes(b.Profile())} {
			if slices.Contains(notes, nearNote) != near {
				t.Errorf("near %t: notes of the %s are %q", near, what, notes)
			}
		}
	}
}
