package cmd

import (
	"slices"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// TestNear: that lines of Java are those of a place near by is said where it is so, of a dump and of a recording.
func TestNear(t *testing.T) {
	o := &namingOptions{level: newNamesLevel()}
	for _, near := range []bool{true, false} {
		f := profile.Frame{Func: "Bank.hot", Kind: profile.Java, Module: -1, Near: near, Interrupted: true}
		d := &profile.Dump{Threads: []profile.Thread{{Stack: profile.Stack{Frames: []profile.Frame{f}}}}}
		b := profile.NewBuilder(profile.SamplesCount)
		b.Add(b.Child(0, b.Frame(f)), -1, 1)
		for what, notes := range map[string][]string{"dump": dumpNotes(d, o),
			"recording": profileNotes(b.Profile(), o)} {
			if slices.Contains(notes, nearNote) != near {
				t.Errorf("near %t: notes of the %s are %q", near, what, notes)
			}
		}
	}
}

// TestMadeFromAnotherLanguage: lines of JavaScript that was made from TypeScript may be those of what was made, where
// no source map was read, and the file has another text.
func TestMadeFromAnotherLanguage(t *testing.T) {
	for _, tt := range []struct {
		file, level string
		generated   bool
		want        bool
	}{
		{"/app/server.ts", "lines", true, true}, {"/app/page.vue", "lines", true, true},
		{"/app/server.ts", "lines", false, false}, {"/app/server.js", "lines", true, false},
		{"/app/server.ts", "full", true, false}, {"/app/server.ts", "functions", true, false},
	} {
		o := &namingOptions{level: choice{word: tt.level}}
		f := profile.Frame{Func: "handle", Kind: profile.JavaScript, File: tt.file, Line: 2, Module: -1,
			Generated: tt.generated}
		d := &profile.Dump{FiberStacks: []profile.FiberStack{{Stack: profile.Stack{Frames: []profile.Frame{f}}}}}
		b := profile.NewBuilder(profile.SamplesCount)
		b.Add(b.Child(0, b.Frame(f)), -1, 1)
		for what, notes := range map[string][]string{"dump": dumpNotes(d, o),
			"recording": profileNotes(b.Profile(), o)} {
			if slices.Contains(notes, madeNote) != tt.want {
				t.Errorf("%+v: notes of the %s are %q", tt, what, notes)
			}
		}
		called := []profile.Handle{{Calls: []profile.Call{{Func: f.Func, File: f.File, Line: f.Line,
			Generated: f.Generated}}}}
		loop := &profile.Dump{Threads: []profile.Thread{{Loop: &profile.Loop{Handles: called}}}}
		if notes := dumpNotes(loop, o); slices.Contains(notes, madeNote) != tt.want {
			t.Errorf("%+v: notes where an event loop calls it are %q", tt, notes)
		}
	}
}
