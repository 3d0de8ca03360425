package v8

import (
	"errors"
	"slices"

	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/view"
)

const (
	// loopNote is said where the table of positions has that of the loop alone: see heap.CodeMap.Repeats.
	loopNote = "V8 keeps no positions inside of this loop: the line is that of the loop"
	// nearNote is said where V8 keeps no table of positions, and the code can be given up at places in several lines
	// around.
	nearNote = "V8 keeps few positions of this code: the line is that of the last one known before"
	// givenUpNote is said where code that V8 gives up returns to an exit, and the lists of its version are not read.
	givenUpNote = "V8 gives this code up: the line is the function's first, and inlined calls may be missing"
	// maglevNote is said where what V8 keeps cannot be read.
	maglevNote = "V8 keeps few positions of this code: the line may be an earlier one, and inlined calls are missing"
)

// optimized names an activation of the optimised code c: the functions that were inlined at its PC, and the one that it
// was made of. If that is another than the one of its frame, f, then c took the place of the code that ran.
func (r *Runtime) optimized(a *activation, c *code, f *function, v *view.View) (unwind.Site, error) {
	key := a.in(c, f)
	if s, ok := r.sites.byCode.Get(key); ok && r.sites.has(s) {
		a.sure = true
		return s, nil
	}
	t := turbofanTier
	if c.Kind == heap.Maglev {
		t = maglevTier
	}
	shared, err := r.heap(v).CodeFunction(c.Code)
	switch {
	case err == nil && f != nil && shared != f.Shared:
		return r.noted(f, t, inlinedNote, v)
	case err == nil && f == nil:
		f, err = r.describe(shared, v)
	case err == nil:
		a.sure = true
	}
	if err != nil {
		return 0, err
	}
	calls, err := r.calls(a, c, v)
	if errors.Is(err, errAtExit) {
		return r.noted(f, t, givenUpNote, v)
	} else if err != nil {
		return 0, err
	}
	if len(calls) == 0 {
		return r.noted(f, t, maglevNote, v)
	}
	functions := make([]logical, 0, len(calls))
	for _, call := range calls {
		g, err := r.describe(call.Shared, v)
		if err != nil {
			c.codes = nil // what it was copied from may have moved
			return 0, err
		}
		functions = append(functions, logical{g, call.Offset})
	}
	unread := r.sites.unread
	frames := r.frames(functions, t, v)
	for i := range frames {
		if calls[i].note != "" {
			frames[i].Note, frames[i].Column = calls[i].note, 0
		}
	}
	s, err := r.sites.of(frames)
	if err == nil && unread == r.sites.unread {
		r.sites.byCode.Keep(key, s, placeCost)
	}
	return s, err
}

// inlined is a function, where it is in its script, and what is not sure of that.
type inlined struct {
	heap.Call
	note string
}

// calls are the functions that run at a's PC in c, innermost first. There are none if c does not say.
//
// Of a call the deoptimisation data say it, as V8 itself asks them for Error.stack: the table of positions has none of
// the builtins that were inlined, and in Maglev's code is wrong in loops. Elsewhere it is all there is.
func (r *Runtime) calls(a *activation, c *code, v *view.View) ([]inlined, error) {
	h := r.heap(v)
	codes, mapErr := r.codeMap(c, v)
	offset := int(a.pc - c.Start)
	if mapErr == nil {
		if i, ok := deoptAt(codes, offset, a); ok {
			if calls := callsOf(codes, h, i); calls != nil {
				return calls, nil
			}
		}
	}
	if mapErr != nil && isExit(h, c, offset, a) {
		return nil, errAtExit
	}
	position, ok := r.lookup(c.Positions, offset, v)
	if !ok && mapErr == nil && c.Kind == heap.Maglev {
		return r.around(codes, offset, h), nil
	}
	if !ok {
		return nil, nil
	}
	tabled, err := h.Calls(c.Code, position)
	if err != nil {
		return nil, err
	}
	calls := make([]inlined, len(tabled))
	for i, call := range tabled {
		calls[i].Call = call
	}
	switch {
	case c.Kind == heap.Maglev && mapErr != nil:
		calls[0].note = maglevNote
	case c.Kind == heap.Maglev:
		r.adjust(calls, codes, offset, h)
	}
	if mapErr == nil {
		calls = withBuiltins(codes, h, calls)
	}
	return calls, nil
}

var errAtExit = errors.New("the code is given up, and what its exits belong to is not read")

// isExit reports whether a's PC, at offset, leads to an exit of c, of which the table of positions says nothing: it has
// the line of what lies before the exits.
func isExit(h heap.Heap, c *code, offset int, a *activation) bool {
	if !a.interrupted && !a.deoptimizes {
		offset++ // the return address
	}
	exits, err := h.ExitsOf(c.Code)
	return err == nil && offset >= exits
}

// deoptAt is the number of the deoptimisation that says which functions run at a's PC.
func deoptAt(codes *heap.CodeMap, offset int, a *activation) (int, bool) {
	if a.interrupted || a.deoptimizes {
		return codes.Exit(offset)
	}
	return codes.Returns(offset + 1)
}

// callsOf are the functions at a deoptimisation; nil if it cannot be read.
func callsOf(codes *heap.CodeMap, h heap.Heap, deopt int) []inlined {
	if deopt < 0 {
		return nil
	}
	places, err := codes.Frames(h, deopt)
	if err != nil {
		return nil
	}
	calls := make([]inlined, len(places))
	for i, p := range places {
		calls[i].Call = heap.Call{Shared: p.Shared, Offset: codes.Offset(h, p)}
	}
	return calls
}

// withBuiltins puts the builtins between calls that were inlined with what they call.
func withBuiltins(codes *heap.CodeMap, h heap.Heap, calls []inlined) []inlined {
	var out []inlined
	for i, c := range calls {
		out = append(out, c)
		if i+1 == len(calls) {
			break
		}
		for _, b := range codes.Between(h, c.Call, calls[i+1].Call) {
			out = append(out, inlined{Call: heap.Call{Shared: b, Offset: -1}})
		}
	}
	return out
}

// codeMap is the map of c.
func (r *Runtime) codeMap(c *code, v *view.View) (*heap.CodeMap, error) {
	if c.codes == nil {
		c.codes, c.err = r.heap(v).CodeMapOf(c.Code)
		if c.err == nil {
			r.codes.byStream.Keep(c.stream, c, codeCost+c.codes.Size())
		}
	}
	return c.codes, c.err
}

// functionsOf are the places without builtins.
func functionsOf(places []heap.Place) []heap.Place {
	return slices.DeleteFunc(slices.Clone(places), func(p heap.Place) bool { return p.Builtin })
}

// near are the functions at the deoptimisations before and behind a place, outermost first; nil where there is none.
func near(codes *heap.CodeMap, offset int, h heap.Heap) (before, behind []heap.Place) {
	i, k := codes.Around(offset)
	if i >= 0 {
		before, _ = codes.Frames(h, i)
	}
	if k >= 0 {
		behind, _ = codes.Frames(h, k)
	}
	before, behind = functionsOf(before), functionsOf(behind)
	slices.Reverse(before)
	slices.Reverse(behind)
	return before, behind
}

// adjust corrects the positions of calls, which the table of positions of Maglev's code has, innermost first, by the
// deoptimisations around: that has the right functions, but in loops that were compiled twice wrong positions.
func (r *Runtime) adjust(calls []inlined, codes *heap.CodeMap, offset int, h heap.Heap) {
	before, behind := near(codes, offset, h)
	for i := len(calls) - 1; i > 0; i-- { // callers of what is inlined
		at, ok := calledAt(calls, i, before, codes, h)
		if at2, ok2 := calledAt(calls, i, behind, codes, h); ok2 && (!ok || at2 == calls[i].Offset) {
			at, ok = at2, ok2
		}
		if ok {
			calls[i].Offset = at
		} else {
			r.noteLoop(calls[i:], codes, offset, h)
		}
	}
	last := len(calls) - 1
	if reaches(before, calls, last) && reaches(behind, calls, last) {
		p, q := before[last], behind[last]
		if between := offsetsBetween(codes, p, q, h); r.oneLine(calls[0].Call, between, h) {
			if !slices.Contains(between, calls[0].Offset) {
				calls[0].Offset = between[0]
			}
			return
		}
	}
	r.noteLoop(calls, codes, offset, h)
}

// noteLoop notes that the position of calls[0] is only that of a loop, if that has several lines.
func (r *Runtime) noteLoop(calls []inlined, codes *heap.CodeMap, offset int, h heap.Heap) {
	loop := codes.Repeats(h, offset, unnoted(calls))
	if loop != nil && !r.oneLine(calls[0].Call, loop, h) {
		calls[0].note = loopNote
	}
}

// offsetsBetween are those of the text between two places of a bytecode, in any order: where a loop goes back the code
// behind a place is that of earlier bytecode.
func offsetsBetween(codes *heap.CodeMap, p, q heap.Place, h heap.Heap) []int {
	last := max(p.Bytecode, q.Bytecode)
	p.Bytecode = min(p.Bytecode, q.Bytecode)
	return codes.Offsets(h, p, last)
}

// calledAt is where in its text calls[i] calls calls[i-1], as places, outermost first, say.
func calledAt(calls []inlined, i int, places []heap.Place, codes *heap.CodeMap, h heap.Heap) (offset int, ok bool) {
	level := len(calls) - 1 - i
	if !reaches(places, calls, level+1) {
		return 0, false
	}
	offset = codes.Offset(h, places[level])
	return offset, offset >= 0
}

func unnoted(calls []inlined) []heap.Call {
	out := make([]heap.Call, len(calls))
	for i := range calls {
		out[i] = calls[i].Call
	}
	return out
}

// reaches reports whether places, outermost first, are those of calls, innermost first, down to that level.
func reaches(places []heap.Place, calls []inlined, level int) bool {
	if len(places) <= level || len(calls) <= level {
		return false
	}
	for i := range level + 1 {
		if places[i].Shared != calls[len(calls)-1-i].Shared {
			return false
		}
	}
	return true
}

// oneLine reports whether the offsets of the text of a function are known and all in one line.
func (r *Runtime) oneLine(c heap.Call, offsets []int, h heap.Heap) bool {
	f, err := r.describe(c.Shared, h.View)
	if err != nil || f.script == nil || len(offsets) == 0 {
		return false
	}
	line := r.where(f.script, offsets[0], h.View).line
	return line > 0 && !slices.ContainsFunc(offsets, func(o int) bool {
		return r.where(f.script, o, h.View).line != line
	})
}

// around are the functions at a place of code without a table of positions, by the deoptimisations around it: those of
// the one before. They are sure where the one behind has the same functions, and what lies between is one line.
func (r *Runtime) around(codes *heap.CodeMap, offset int, h heap.Heap) []inlined {
	i, k := codes.Around(offset)
	if i < 0 {
		i = k
	}
	calls := callsOf(codes, h, i)
	if len(calls) == 0 {
		return nil
	}
	calls[0].note = nearNote
	before, behind := near(codes, offset, h)
	common := 0
	for common < min(len(before), len(behind)) && before[common] == behind[common] {
		common++
	}
	for i := 0; i < len(calls)-common-1; i++ { // whether these are inlined here is not sure
		calls[i].note = nearNote
	}
	last := len(before) - 1
	if last < 0 || len(behind) != len(before) || before[last].Shared != behind[last].Shared ||
		!slices.Equal(before[:last], behind[:last]) {
		return calls
	}
	of := heap.Call{Shared: before[last].Shared}
	if r.oneLine(of, offsetsBetween(codes, before[last], behind[last], h), h) {
		calls[0].note = ""
	}
	return calls
}
