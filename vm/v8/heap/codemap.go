package heap

import (
	"slices"
	"sort"

	"github.com/fpstack/fpstack/mem"
)

// CodeMap is what one optimised code says of its own: which functions run at which instruction. It is copied words, as
// [Deopts] are.
type CodeMap struct {
	*Deopts
	calls []Safepoint // ascending by Return
	// checks are the places before the late code at which the code may be given up, ascending; late is the code that
	// lies behind all other and belongs to a place before it. Both are those of Maglev's code alone.
	checks []check
	late   []late
	// edges and repeats are nil before they are asked for.
	edges   map[edge][]Shared
	repeats []repeat
}

const (
	// maxMapped bounds the instructions that are searched for checks, bytes.
	maxMapped = 1 << 20
	// maxJumps bounds the jumps of each kind that are kept of one code.
	maxJumps = 1 << 16
)

// CodeMapOf reads that of c.
func (h Heap) CodeMapOf(c Code) (*CodeMap, error) {
	d, err := h.DeoptsOf(c)
	if err != nil {
		return nil, err
	}
	m := &CodeMap{Deopts: d}
	if m.calls, err = h.Safepoints(c); err != nil {
		return nil, err
	}
	sort.SliceStable(m.calls, func(i, j int) bool { return m.calls[i].Return < m.calls[j].Return })
	if c.Kind != Maglev || m.exits > maxMapped {
		return m, nil
	}
	code := make([]byte, m.exits)
	if err := h.read(code, c.Start, 0); err != nil {
		return nil, err
	}
	m.findChecks(code)
	return m, nil
}

// Size is about how much memory m takes, bytes.
func (m *CodeMap) Size() int {
	return m.Deopts.Size() + 24*len(m.calls) + 16*len(m.checks) + 16*len(m.late)
}

// Returns is the number of the deoptimisation that says which functions have made the call that returns to offset,
// bytes from the start of the code; false if the code says none, as a call that cannot give the code up has none. A
// return address to code that was given up meanwhile is that of an exit.
func (m *CodeMap) Returns(offset int) (deopt int, ok bool) {
	i := sort.Search(len(m.calls), func(i int) bool { return m.calls[i].Return >= offset })
	if i < len(m.calls) && m.calls[i].Return == offset {
		return m.calls[i].Deopt, m.calls[i].Deopt >= 0
	}
	return m.Exit(offset)
}

// Exit is the number of the deoptimisation whose exit has the instruction at offset.
func (m *CodeMap) Exit(offset int) (deopt int, ok bool) {
	deopt = (offset - m.exits) / exitSize
	return deopt, offset >= m.exits && deopt < len(m.translations)
}

// check is a place where the code may be given up: behind an instruction that jumps to an exit, or behind a call.
type check struct{ at, deopt int }

// late is a piece of code that is seldom run. It lies behind all other and begins at start; at origin is the jump to
// it.
type late struct{ start, origin int }

// jump is one over a distance of 4 bytes.
type jump struct{ from, behind, to int }

// findChecks searches the instructions: jumps to the exits, and jumps to late code, which goes back behind the jump to
// it. Bytes that only look like a jump are not told apart: they hardly ever lead to an exit, or to where others do.
func (m *CodeMap) findChecks(code []byte) {
	var forward []jump
	back := map[int]int{} // where a jump backwards leads to -> the last of them
	for i := 0; i+6 <= len(code); i++ {
		j := jump{from: i, behind: i + 5}
		switch {
		case code[i] == 0xe9:
		case code[i] == 0x0f && code[i+1]&0xf0 == 0x80:
			j.behind++
		default:
			continue
		}
		distance := int32(le32(code[j.behind-4:]))
		switch j.to = j.behind + int(distance); {
		case j.to >= m.exits:
			deopt, ok := m.Exit(j.to)
			if ok && (j.to-m.exits)%exitSize == 0 && len(m.checks) < maxJumps {
				m.checks = append(m.checks, check{j.behind, deopt})
			}
		case distance < 0 && j.to >= 0 && len(back) < maxJumps:
			back[j.to] = i
		case distance >= 0 && code[i] == 0x0f && len(forward) < maxJumps:
			forward = append(forward, j)
		}
	}
	m.findLate(forward, back)
	for _, c := range m.calls {
		if c.Deopt >= 0 {
			m.checks = append(m.checks, check{m.origin(c.Return - 1), c.Deopt})
		}
	}
	sort.SliceStable(m.checks, func(i, j int) bool { return m.checks[i].at < m.checks[j].at })
}

func le32(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// findLate finds the late code: from the first place on that a jump leads to which some jump behind it leads back from,
// right behind the first.
func (m *CodeMap) findLate(forward []jump, back map[int]int) {
	first := -1
	for _, j := range forward {
		if from, ok := back[j.behind]; ok && from >= j.to && (first < 0 || j.to < first) {
			first = j.to
		}
	}
	if first < 0 {
		return
	}
	slices.SortFunc(forward, func(a, b jump) int { return a.to - b.to })
	for _, j := range forward {
		if n := len(m.late); j.to >= first && (n == 0 || m.late[n-1].start != j.to) {
			m.late = append(m.late, late{j.to, m.origin(j.from)})
		}
	}
}

// origin is the place that the instruction at offset belongs to: itself if it is not late.
func (m *CodeMap) origin(offset int) int {
	if i := m.lateAt(offset); i >= 0 {
		return m.late[i].origin
	}
	return offset
}

// lateAt is the piece of late code at offset, below 0 if it is not late.
func (m *CodeMap) lateAt(offset int) int {
	return sort.Search(len(m.late), func(i int) bool { return m.late[i].start > offset }) - 1
}

// Around are the deoptimisations that say most of the instruction at offset: before it and behind it, below 0 where
// there is none. They are the same in late code that makes a call which says it.
//
// What is checked before a place may still be in effect there: that the bytecode of an instruction is not before that
// of the deoptimisation before it is sure, that it is not behind that of the next is not.
func (m *CodeMap) Around(offset int) (before, behind int) {
	if i := m.lateAt(offset); i >= 0 {
		end := m.exits
		if i+1 < len(m.late) {
			end = m.late[i+1].start
		}
		for _, c := range m.calls {
			if c.Deopt >= 0 && c.Return > m.late[i].start && c.Return <= end {
				return c.Deopt, c.Deopt
			}
		}
	}
	at := m.origin(offset)
	before, behind = -1, -1
	i := sort.Search(len(m.checks), func(i int) bool { return m.checks[i].at > at })
	if i > 0 {
		before = m.checks[i-1].deopt
	}
	if i < len(m.checks) {
		behind = m.checks[i].deopt
	}
	return before, behind
}

// edge is a call that was inlined: of callee, at a place of the text of caller.
type edge struct {
	callee, caller mem.Addr
	offset         int
}

// maxEdges bounds the deoptimisations that are searched for builtins.
const maxEdges = 1 << 12

// Between are the builtins that stand between two functions of which one is inlined into the other, innermost first: a
// callback of Array.prototype.forEach is called by that, which no table of positions has, and not by the function that
// calls forEach. It is empty where there are none, or where it is not known.
func (m *CodeMap) Between(h Heap, callee, caller Call) []Shared {
	if m.edges == nil {
		m.edges = map[edge][]Shared{}
		for i := range min(len(m.translations), maxEdges) {
			if places, err := m.Frames(h, i); err == nil {
				m.addEdges(h, places)
			}
		}
	}
	return m.edges[edge{callee.Shared.Addr, caller.Shared.Addr, caller.Offset}]
}

func (m *CodeMap) addEdges(h Heap, places []Place) {
	callee := -1
	for i, p := range places {
		if p.Builtin {
			continue
		}
		if callee >= 0 && i > callee+1 {
			var between []Shared
			for _, b := range places[callee+1 : i] {
				between = append(between, b.Shared)
			}
			m.edges[edge{places[callee].Shared.Addr, p.Shared.Addr, m.Offset(h, p)}] = between
		}
		callee = i
	}
}
