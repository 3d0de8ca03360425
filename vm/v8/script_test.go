package v8

import (
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/vm/view"
)

// TestTextNotCompared: where the length of a script's text cannot be read its lines say that they may be of another
// text than the file's, and it is tried again; the second time and the fourth, not each time.
func TestTextNotCompared(t *testing.T) {
	r := runtimeWithoutBuiltins(t)
	r.look = func(string) (*module.File, error) { return &module.File{Data: []byte("text")}, nil }
	s, nothing := &script{file: "/srv/a.js"}, view.Copied(nil)
	for i := range 5 {
		tried := r.sites.unread
		if r.meet(s, &nothing); s.met || s.other != notComparedNote || r.sites.unread == tried {
			t.Errorf("time %d: met %t, %q", i, s.met, s.other)
		}
	}
	if s.meetings != 5 {
		t.Errorf("met %d times, want 5", s.meetings)
	}
}
