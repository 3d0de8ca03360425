package cpython

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/unwind"
)

// parked is what a task or greenlet waits in.
type parked struct {
	frames []unwind.Frame
	why    error // why frames are missing; nil if none are
}

// put makes to the stack of p.
func (p parked) put(to *unwind.Stack) {
	to.Frames, to.Stop = append(to.Frames, p.frames...), unwind.Root
	if p.why != nil && len(to.Frames) > 0 {
		note(&to.Frames[0], p.why.Error())
	}
}

// maxWaitingFrames bounds the frames of all tasks and greenlets together. Each of them has one, even where the others
// have taken all.
const maxWaitingFrames = 1 << 19

var errNoRoom = fmt.Errorf("more frames are left out: %d of all tasks and greenlets are kept", maxWaitingFrames)

// tooMuch is why something was not read that is there.
const tooMuch = "what the objects of the interpreter lead to takes more steps than fpstack makes"

// waiting is what all tasks or all greenlets wait in, by their id.
type waiting struct {
	stacks map[uint64]parked
	frames int // of all of them
	short  int // how many have fewer frames, as there was no room for more
}

func newWaiting() waiting { return waiting{stacks: map[uint64]parked{}} }

func (w *waiting) add(id uint64, p parked) {
	w.stacks[id] = p
	w.frames += len(p.frames)
	if errors.Is(p.why, errNoRoom) {
		w.short++
	}
}

// shortOf says that some of kind have fewer frames.
func (w *waiting) shortOf(kind string) error {
	return fmt.Errorf("%d of %d %s that wait: %w", w.short, len(w.stacks), kind, errNoRoom)
}

// frameRoom is how many frames the next task or greenlet may have.
func (r *Runtime) frameRoom() int {
	have := r.parked.frames
	if r.green != nil {
		have += r.green.parked.frames
	}
	return max(1, maxWaitingFrames-have)
}
