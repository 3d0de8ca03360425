package profile_test

import (
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// Stacks that share their frames are changed once, in place or by others, and stay equal.
func TestFrameListsOnce(t *testing.T) {
	shared := []profile.Frame{{Line: 1}, {Line: 2}}
	d := &profile.Dump{Threads: make([]profile.Thread, 4), FiberStacks: make([]profile.FiberStack, 1)}
	d.Threads[0].Stack.Frames, d.Threads[1].Stack.Frames = shared, shared
	d.Threads[2].Stack.Frames = shared[:1] // another list
	d.FiberStacks[0].Stack.Frames = shared
	given := 0
	for list := range d.FrameLists() {
		if given++; len(*list) == 2 {
			(*list)[1].Line++
			*list = append([]profile.Frame{{Func: "added"}}, *list...)
		}
	}
	if given != 4 { // the shared one, its beginning, and two that are empty
		t.Errorf("%d lists were given, want 4", given)
	}
	for i, s := range []*profile.Stack{&d.Threads[0].Stack, &d.Threads[1].Stack, &d.FiberStacks[0].Stack} {
		if len(s.Frames) != 3 || s.Frames[0].Func != "added" || s.Frames[2].Line != 3 {
			t.Errorf("stack %d: got %+v, want what the list became", i, s.Frames)
		}
	}
	if f := d.Threads[2].Stack.Frames; len(f) != 1 || f[0].Line != 1 {
		t.Errorf("the beginning: got %+v, want it as it was", f)
	}
}
