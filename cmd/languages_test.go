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
// no source map is read.
func TestMadeFromAnotherLanguage(t *testing.T) {
	for _, tt := range []struct {
		file, level string
		kind        profile.Kind
		want        bool
	}{
		{"/app/server.ts", "lines", profile.JavaScript, true}, {"/app/page.vue", "lines", profile.JavaScript, true},
		{"/app/server.js", "lines", profile.JavaScript, false}, {"/app/server.ts", "full", profile.JavaScript, false},
		{"/app/server.ts", "functions", profile.JavaScript, false}, {"/app/a.ts", "lines", profile.Native, false},
	} {
		o := &namingOptions{level: choice{word: tt.level}}
		f := profile.Frame{Func: "handle", Kind: tt.kind, File: tt.file, Line: 2, Module: -1}
		d := &profile.Dump{FiberStacks: []profile.FiberStack{{Stack: profile.Stack{Frames: []profile.Frame{f}}}}}
		b := profile.NewBuilder(profile.SamplesCount)
		b.Add(b.Child(0, b.Frame(f)), -1, 1)
		for what, notes := range map[string][]string{"dump": dumpNotes(d, o),
			"recording": profileNotes(b.Profile(), o)} {
			if slices.Contains(notes, madeNote) != tt.want {
				t.Errorf("%s, --names %s: notes of the %s are %q", tt.file, tt.level, what, notes)
			}
		}
		if tt.kind != profile.JavaScript { // loops call nothing else
			continue
		}
		called := []profile.Handle{{Calls: []profile.Call{{Func: f.Func, File: f.File, Line: f.Line}}}}
		loop := &profile.Dump{Threads: []profile.Thread{{Loop: &profile.Loop{Handles: called}}}}
		if notes := dumpNotes(loop, o); slices.Contains(notes, madeNote) != tt.want {
			t.Errorf("%s, --names %s: notes where an event loop calls it are %q", tt.file, tt.level, notes)
		}
	}
}
