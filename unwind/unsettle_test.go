package unwind

import (
	"testing"

	"github.com/fpstack/fpstack/maps"
)

func TestUnsettle(t *testing.T) {
	changed := maps.Spans{{Start: 0x2000, End: 0x3000}, {Start: 0x8000, End: 0x9000}}
	for _, tc := range []struct {
		name   string
		frames []Frame
		want   []string // notes
	}{
		{"none of them", []Frame{{PC: 0x1000, Interrupted: true}, {PC: 0x2000}, {PC: 0x3001}}, []string{"", "", ""}},
		{"in the middle", []Frame{{PC: 0x1000, Interrupted: true}, {PC: 0x3000}, {PC: 0x4000}, {PC: 0x8100},
			{PC: 0x9100}},
			[]string{"", unsettledNote, beyondNote, unsettledNote, beyondNote}},
		{"interrupted there", []Frame{{PC: 0x2000, Interrupted: true}, {PC: 0x1000}},
			[]string{unsettledNote, beyondNote}},
		{"what was said before stays", []Frame{{PC: 0x2100, Note: "hm"}, {PC: 0x1000, Note: "ha"}},
			[]string{"hm; " + unsettledNote, "ha; " + beyondNote}},
	} {
		s := Stack{Frames: tc.frames}
		s.Unsettle(nil)
		s.Unsettle(changed)
		for i, want := range tc.want {
			if got := s.Frames[i].Note; got != want {
				t.Errorf("%s, frame %d: got %q, want %q", tc.name, i, got, want)
			}
		}
	}
}
