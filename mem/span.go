package mem

import (
	"cmp"
	"slices"
)

// Span is the addresses [Start, End), of a process or as linked.
type Span[A ~uint64] struct{ Start, End A }

// Holds reports whether a lies in s.
func (s Span[A]) Holds(a A) bool { return a >= s.Start && a < s.End }

// Spans is a list of spans, ascending, not overlapping.
type Spans[A ~uint64] []Span[A]

// Joined sorts spans and joins what overlaps or touches. It uses the memory of list.
func Joined[A ~uint64](list []Span[A]) Spans[A] {
	slices.SortFunc(list, func(a, b Span[A]) int { return cmp.Compare(a.Start, b.Start) })
	out := list[:0]
	for _, x := range list {
		if n := len(out); n > 0 && x.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, x.End)
			continue
		}
		out = append(out, x)
	}
	return out
}

// Union returns the addresses that lie in s or t.
func (s Spans[A]) Union(t Spans[A]) Spans[A] { return Joined(slices.Concat(s, t)) }

// Find returns the span that holds a.
func (s Spans[A]) Find(a A) (Span[A], bool) {
	i, found := slices.BinarySearchFunc(s, a, func(x Span[A], a A) int { return cmp.Compare(x.Start, a) })
	if !found {
		i--
	}
	if i < 0 || !s[i].Holds(a) {
		return Span[A]{}, false
	}
	return s[i], true
}

// Contain reports whether a lies in one of them.
func (s Spans[A]) Contain(a A) bool {
	_, found := s.Find(a)
	return found
}
