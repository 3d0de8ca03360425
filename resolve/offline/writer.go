package offline

import (
	"errors"
	"slices"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol"
)

// writer puts stacks together from what the dump knows and what the files said.
type writer struct {
	answers  []map[place]answer // by module
	outcomes []Outcome          // by module
	modules  []profile.Module   // as the dump has them
	opt      symbol.Options
	frames   int  // written so far
	cut      bool // there were more than maxFrames
}

// stack returns frames with names. Inlined frames are before the physical one that they belong
// to.
func (w *writer) stack(frames []profile.Frame) []profile.Frame {
	out := make([]profile.Frame, 0, len(frames))
	begin := 0
	for i := range frames {
		if frames[i].Inlined && i+1 < len(frames) && frames[i+1].Index == frames[i].Index {
			continue
		}
		out = append(out, w.wanted(w.physical(frames[begin:i+1]))...)
		begin = i + 1
	}
	w.frames += len(out)
	return out
}

// wanted drops what the options leave out.
func (w *writer) wanted(frames []profile.Frame) []profile.Frame {
	if w.opt.NoInlines {
		frames = frames[len(frames)-1:]
	}
	if w.opt.NoLines {
		frames = slices.Clone(frames)
		for i := range frames {
			frames[i].File, frames[i].Line = "", 0
		}
	}
	return frames
}

// physical returns the logical frames of one physical frame, old being what the dump has.
func (w *writer) physical(old []profile.Frame) []profile.Frame {
	self := &old[len(old)-1]
	if !lies(self, len(w.modules)) {
		return old
	}
	o := &w.outcomes[self.Module]
	o.Frames++
	a := w.answers[self.Module][placeOf(self)]
	frames := old
	if a.knowsMoreThan(answer{old, isFull(w.modules[self.Module].Symbols)}) {
		frames = at(a.frames, self)
	}
	if w.frames+len(frames) > maxFrames {
		frames = frames[len(frames)-1:]
		if !w.cut {
			w.cut, o.Err = true, errors.Join(o.Err, errManyFrames)
		}
	}
	if frames[len(frames)-1].Func == "" && self.Kind != profile.Signal {
		o.Unnamed++
	}
	return frames
}

// at returns what a file said with the place of self in its stack.
func at(said []profile.Frame, self *profile.Frame) []profile.Frame {
	out := make([]profile.Frame, len(said))
	kind := self.Kind
	if kind == profile.Unknown {
		kind = profile.Native // it lies in an object
	}
	for i, f := range said {
		f.Index, f.Module, f.Kind = self.Index, self.Module, kind
		if f.Inlined && kind == profile.Signal {
			f.Kind = profile.Native
		}
		out[i] = f
	}
	last := &out[len(out)-1]
	last.Addr, last.ModuleAddr, last.Interrupted = self.Addr, self.ModuleAddr, self.Interrupted
	last.Origin, last.Note = self.Origin, self.Note
	return out
}
