package resolve

import (
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/unwind"
)

// sharedFrames names stacks, those whose physical frames are the same memory once.
type sharedFrames struct {
	names *Names
	named map[frameList][]profile.Frame
}

// frameList is the frames of a stack, by where they are.
type frameList struct {
	first *unwind.Frame
	len   int
}

// stack is [Names.Stack], whose frames may be those of another stack too.
func (f sharedFrames) stack(s *unwind.Stack) profile.Stack {
	if len(s.Frames) == 0 {
		return f.names.Stack(s)
	}
	key := frameList{&s.Frames[0], len(s.Frames)}
	if frames, ok := f.named[key]; ok {
		out := ended(s)
		out.Frames = frames
		return out
	}
	out := f.names.Stack(s)
	f.named[key] = out.Frames
	return out
}
