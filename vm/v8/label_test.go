package v8

import (
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/vm/v8/heap"
)

// TestLabels: a class that is found when a function has been named already is in the name of all its frames, wherever
// the collector has moved it.
func TestLabels(t *testing.T) {
	r := runtimeWithoutBuiltins(t)
	file, text := &script{file: "/robot.js"}, &script{file: heap.Eval}
	add := func(at heap.Tagged, own string, start int, s *script) *function {
		f := &function{Shared: heap.Shared{Addr: 0x1000, NameOrScope: at}, own: own, start: start, script: s}
		f.label = r.sites.labelOf(f)
		return f
	}
	walk, moved := add(0x2001, "walk", 10, file), add(0x3001, "walk", 10, file)
	other, builtin := add(0x4001, "walk", 99, file), add(0x5001, "forEach", -1, nil)
	for _, tc := range []struct {
		name string
		a, b *function
		same bool
	}{
		{"moved", walk, moved, true},
		{"at another place of the file", walk, other, false},
		{"two builtins", builtin, add(0x6001, "forEach", -1, nil), false},
		{"two texts without a file", add(0x7001, "f", 0, text), add(0x8001, "f", 0, text), false},
	} {
		if got := tc.a.label == tc.b.label; got != tc.same {
			t.Errorf("%s: one label %t, want %t", tc.name, got, tc.same)
		}
	}
	site, err := r.sites.of([]frame{{profile.Frame{Tier: "turbofan"}, walk.label}, {profile.Frame{}, other.label}})
	if err != nil {
		t.Fatal(err)
	}
	walk.label.name = "Robot.walk"
	again, err := r.sites.of([]frame{{profile.Frame{Tier: "turbofan"}, moved.label}, {profile.Frame{}, other.label}})
	if err != nil || again != site {
		t.Errorf("site %d, then %d: %v", site, again, err)
	}
	if f := r.Frames(site); f[0].Func != "Robot.walk" || f[1].Func != "walk" {
		t.Errorf("%q called by %q", f[0].Func, f[1].Func)
	}
	for own, final := range map[string]bool{"walk": false, "#secret": true, "ns.deep.fn": true, "": false} {
		if l := add(0x9001, own, 7, file).label; l.final != final || l.shown() == "" {
			t.Errorf("%q: final %t, shown as %q", own, l.final, l.shown())
		}
	}
}
