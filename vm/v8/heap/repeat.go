package heap

import "slices"

// A loop that Maglev takes the first round out of is compiled twice, and the table of positions says of the second
// time, which runs most, that all of it is where the loop goes back: V8 reads the positions of bytecode forwards
// alone. What the deoptimisations say is right both times.

// repeat is the second time of a loop: code from one offset to another, which the table of positions has for where
// places is, innermost first. First is the first bytecode that is known of the loop.
type repeat struct {
	from, to int
	places   []Place
	first    int
}

// maxRepeatChecks bounds the checks of a code in which repeats are searched.
const maxRepeatChecks = 1 << 12

// findRepeats finds loops that were compiled twice: the same call, that of the check whether to go on, is made at two
// places, and what lies between is elsewhere in the same function.
func (m *CodeMap) findRepeats(h Heap) []repeat {
	out := []repeat{}
	if len(m.checks) > maxRepeatChecks {
		return out
	}
	calls := map[int]bool{} // by number of the deoptimisation
	for _, c := range m.calls {
		calls[c.Deopt] = true
	}
	places := make([][]Place, len(m.checks))
	last := map[Place]int{} // by the innermost place, the check of a call there
	for i, c := range m.checks {
		if places[i], _ = m.Frames(h, c.deopt); len(places[i]) == 0 || !calls[c.deopt] {
			continue
		}
		p := places[i][0]
		before, ok := last[p]
		if last[p] = i; !ok || !slices.Equal(places[before], places[i]) {
			continue
		}
		first := p.Bytecode
		for _, b := range places[before+1 : i] {
			if sameFunctions(b, places[i]) {
				first = min(first, b[0].Bytecode)
			}
		}
		if first < p.Bytecode {
			out = append(out, repeat{m.checks[before].at, c.at, places[i], first})
		}
	}
	return out
}

func sameFunctions(a, b []Place) bool {
	return slices.EqualFunc(a, b, func(a, b Place) bool { return a.Shared == b.Shared })
}

// Repeats are the offsets of the text of the loop that calls[0] is in at the instruction at offset, if the position
// that the table of positions has for it is only that of the loop; nil if it is more. Calls are the functions by that
// table, innermost first.
func (m *CodeMap) Repeats(h Heap, offset int, calls []Call) []int {
	if m.repeats == nil {
		m.repeats = m.findRepeats(h)
	}
	at := m.origin(offset)
	for i := range m.repeats {
		r := &m.repeats[i]
		p := r.places[0]
		if at <= r.from || at > r.to || m.Offset(h, p) != calls[0].Offset {
			continue
		}
		if slices.EqualFunc(r.places, calls, func(p Place, c Call) bool { return p.Shared == c.Shared }) {
			last := p.Bytecode
			p.Bytecode = r.first
			return append(m.Offsets(h, p, last), calls[0].Offset)
		}
	}
	return nil
}
