package mem

import (
	"slices"
	"testing"
)

func TestSpans(t *testing.T) {
	s := Joined([]Span[uint64]{{30, 40}, {10, 20}, {20, 25}, {35, 50}, {60, 70}, {62, 64}})
	if want := (Spans[uint64]{{10, 25}, {30, 50}, {60, 70}}); !slices.Equal(s, want) {
		t.Fatalf("Joined: got %v, want %v", s, want)
	}
	for _, tc := range []struct {
		at   uint64
		want Span[uint64]
	}{{9, Span[uint64]{}}, {10, s[0]}, {24, s[0]}, {25, Span[uint64]{}}, {49, s[1]}, {50, Span[uint64]{}}, {60, s[2]},
		{70, Span[uint64]{}}} {
		got, ok := s.Find(tc.at)
		if got != tc.want || ok != (tc.want != Span[uint64]{}) || s.Contain(tc.at) != ok {
			t.Errorf("Find(%d): got %v, %v; want %v", tc.at, got, ok, tc.want)
		}
	}
	if got, want := s.Union(Spans[uint64]{{24, 30}}), (Spans[uint64]{{10, 50}, {60, 70}}); !slices.Equal(got, want) {
		t.Errorf("Union: got %v, want %v", got, want)
	}
	if got, ok := (Spans[uint64](nil)).Find(0); ok {
		t.Errorf("Find in none: got %v", got)
	}
}
