package arm64

import "github.com/fpstack/fpstack/code/paths"

// Records is what the instructions of one function tell about its frame pointer.
type Records struct {
	Calls int  // calls that can be reached
	Bare  int  // those of them that find no frame record of this function under the frame pointer
	Made  bool // a frame record is under the frame pointer somewhere
	Whole bool // every instruction on the way was understood
}

// maxRecordFunction bounds the code of one function that Records follows, in bytes.
const maxRecordFunction = 256 << 10

// Records follows the function [entry, end) along all its paths. A frame record is the caller's x29 with the return
// address above it; who follows frame pointers finds the caller of a function only where one is under x29.
//
// grows says that calls made before x30 was stored do not count: those by which Go code, before anything else, asks
// for a larger stack.
func (c *Code) Records(entry, end uint64, grows bool) Records {
	end = min(end, c.End())
	if !c.Contains(entry) || end <= entry {
		return Records{}
	}
	w := newWalk(c, paths.Whole(entry, min(end, entry+maxRecordFunction)))
	r := Records{Whole: end-entry <= maxRecordFunction}
	visit := func(pc uint64, i Inst, s *state) bool {
		record := s.record()
		r.Made = r.Made || record
		if !i.IsCall() || grows && !s.holds(lr) {
			return false
		}
		if r.Calls++; !record {
			r.Bare++
		}
		return false
	}
	w.Add(path{PC: entry, State: newState(false)})
	for range paths.MaxResumed {
		w.run(visit)
		if !w.resume(w.Hi - 1) {
			break
		}
	}
	r.Whole = r.Whole && w.steps < maxSteps
	return r
}

// holds reports whether the start value of r is in memory.
func (s *state) holds(r register) bool {
	for i := range s.slots {
		if s.slots[i].v == initial(r) {
			return true
		}
	}
	return false
}
