// Package report writes what was found about a process for a person or a program to read, as text or as JSON: a dump,
// who waits for whom, the verdict on a hang, and what check and doctor found.
//
// The caller provides a complete [profile.Dump]; it is not changed and not kept. A Dump may
// hold any bytes in its names and any indices: both are data from a target.
//
// It guarantees that no byte of a name reaches a terminal as a control character, that each
// frame, thread and reason of the Dump is either written or counted, and that equal dumps
// give equal bytes.
//
// It decides nothing about a process and opens no files. The forms are those of the command
// line's contract; docs/schema describes the JSON.
package report

import (
	"cmp"
	"io"
	"slices"

	"github.com/fpstack/fpstack/profile"
)

// Format writes d to w in one form. It fails only where w does.
type Format func(w io.Writer, d *profile.Dump, opt Options) error

// Part names what a piece of the text is, for a Style.
type Part uint8

// The parts that a Style may distinguish.
const (
	Heading  Part = iota // the line of the process
	Thread               // "thread 4121", "3 threads 4122-4124"
	Wait                 // what a thread does or waits for
	Function             // the name of a function with its offset
	Address
	Source // file and line
	Module
	Cut // why something is missing
)

// Style dresses a piece of text for a terminal, as with colour; the piece holds no control
// characters and the result is written as it is.
type Style func(part Part, piece string) string

// Options says what of a Dump is written.
type Options struct {
	Style      Style // of Text; nil for none
	Group      bool  // Text: threads with the same stack are one entry
	Width      int   // Text: cells of a line, 0 for any; with Verbose nothing is shortened
	Verbose    bool  // Text: addresses, how each frame was found, notes, modules, problems, raw calls; and All
	All        bool  // Text: nothing is folded away: idle threads, how threads begin
	SkipFrames int   // innermost physical frames to leave out of each stack
	Native     bool  // Text: frames of a runtime's own, between functions of its language
	NoInlines  bool  // leave out the frames of inlined functions
	NoLines    bool  // leave out source files and lines
	NoDumps    bool  // HangJSON: leave out the stacks
	Compact    bool  // HangJSON: on one line
}

// visible returns the frames of s that o leaves in.
func (o *Options) visible(s *profile.Stack) []profile.Frame {
	hides := func(f profile.Frame) bool { return o.hides(&f) }
	if !slices.ContainsFunc(s.Frames, hides) {
		return s.Frames
	}
	out := make([]profile.Frame, 0, len(s.Frames))
	for i := range s.Frames {
		f := &s.Frames[i]
		switch last := len(out) - 1; {
		case !o.hides(f):
			out = append(out, *f)
		case f.Gap && last >= 0 && !out[last].Gap: // what is missing is not hidden with it
			out[last].Gap, out[last].Note = true, cmp.Or(out[last].Note, f.Note)
		}
	}
	return out
}

// folds reports whether text folds away what says little of what the process does.
func (o *Options) folds() bool { return !o.All && !o.Verbose }

// shownInText is what text shows of s, of a dump with these modules: without how its thread began if that is folded.
func (o *Options) shownInText(s *profile.Stack, modules []profile.Module) []profile.Frame {
	frames := o.visible(s)
	if !o.folds() {
		return frames
	}
	rest := profile.Stack{Frames: frames, Complete: s.Complete}
	return frames[:len(frames)-profile.StartFrames(&rest, modules)]
}

func (o *Options) hides(f *profile.Frame) bool {
	return f.Index < o.SkipFrames || o.NoInlines && f.Inlined && !f.Async || !o.Verbose && !o.Native && f.Stub
}
