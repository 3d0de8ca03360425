//go:build linux

package v8

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/vm/v8/heap"
)

// verdict is what a sample is compared with the truth: "" where it is right.
type verdict string

const (
	right   verdict = ""
	elapsed verdict = "no JavaScript" // between two calls: of the event loop
	// deoptimized is a stack that ends in the deoptimizer, which has taken the frame above it apart, and says so.
	deoptimized verdict = "in the deoptimizer"
	cut         verdict = "cut"
	unsure      verdict = "unsure"
	// vague is right but for the line of the innermost function, which says that it is not sure.
	vague   verdict = "line unsure"
	wrong   verdict = "wrong"
	unnamed verdict = "not named"
)

// check compares the stack of a thread that executes the script.
func (x *truth) check(s *profile.Stack) (verdict, string) {
	v, why := x.compare(s)
	if frames := javascript(s); v == right && len(frames) > 0 && unsureOf(frames[0]) {
		v = vague
	}
	return v, why
}

func (x *truth) compare(s *profile.Stack) (verdict, string) {
	frames := javascript(s)
	for i := range s.Frames {
		if n := s.Frames[i].Note; strings.HasPrefix(n, "not named") {
			return unnamed, n
		}
	}
	switch {
	case !s.Complete && strings.Contains(s.Detail, "deoptimizes"), slices.ContainsFunc(s.Frames, rebuilt):
		return deoptimized, s.Detail
	case !s.Complete:
		return cut, s.Stop + ": " + s.Detail
	case x.Idle && len(frames) == 0:
		return right, ""
	case x.Idle:
		return wrong, "JavaScript in an idle process"
	case len(frames) == 0:
		return elapsed, ""
	case slices.ContainsFunc(frames[1:], unsureOf):
		return unsure, ""
	case len(x.Calls) > 0:
		return x.checkCalls(frames)
	case len(x.Cycle) > 0:
		return x.checkCycle(frames)
	case len(x.Chain) > 0:
		return x.checkChain(frames)
	case x.Has != "":
		if !slices.ContainsFunc(frames, func(f *profile.Frame) bool { return f.Func == x.Has }) {
			return wrong, "no " + x.Has
		}
		return right, ""
	}
	return x.checkStack(frames)
}

// rebuilt reports whether f says that frames before it are missing.
func rebuilt(f profile.Frame) bool { return strings.Contains(f.Note, "V8 is replacing their frame") }

// unsureOf reports whether it is not sure which line f is at.
func unsureOf(f *profile.Frame) bool {
	return strings.Contains(f.Note, "positions") || strings.Contains(f.Note, "gives this code up")
}

// checkStack: of all frames with a file but the innermost function and line are those that the script knows; of that
// the function alone, which goes on meanwhile.
func (x *truth) checkStack(all []*profile.Frame) (verdict, string) {
	frames := slices.DeleteFunc(slices.Clone(all), func(f *profile.Frame) bool {
		return f.File == "" || f.File == heap.Eval
	})
	want := slices.DeleteFunc(slices.Clone(x.Stack), func(s site) bool { return s.file == "" })
	if x.Partial { // the rest is node's own
		for i, f := range frames {
			if f.File == want[len(want)-1].file {
				continue
			}
			frames = frames[:i]
			break
		}
	}
	if !slices.ContainsFunc(frames, func(f *profile.Frame) bool { return f.File == x.Stack[0].file }) {
		return elapsed, ""
	}
	for frames[0].File != x.Stack[0].file { // what it calls besides
		frames = frames[1:]
	}
	for i := range min(len(frames), len(want)) {
		f, w := frames[len(frames)-1-i], want[len(want)-1-i]
		innermost := i == len(frames)-1
		if f.File != w.file || !innermost && (f.Line != w.line || f.Column == 0 && f.Note == "") {
			return wrong, fmt.Sprintf("frame %d from the outermost is %s %s:%d:%d (%s), want %s %s:%d", i, f.Func,
				f.File, f.Line, f.Column, f.Tier, w.function, w.file, w.line)
		}
		// A name that is a symbol is none of the function's own.
		if !innermost && w.function != "" && w.function[0] != '[' && !strings.HasSuffix(f.Func, last(w.function)) {
			return wrong, fmt.Sprintf("frame %d from the outermost is %s, want %s", i, f.Func, w.function)
		}
	}
	if extra := len(frames) - len(want); extra > 1 { // what the innermost of them calls: spin
		return wrong, fmt.Sprintf("%d frames more than there are", extra)
	}
	return right, ""
}

// last is the part of a name behind the object that it is called on.
func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// checkCalls: each function that is called at one place alone is called there.
func (x *truth) checkCalls(frames []*profile.Frame) (verdict, string) {
	for i, f := range frames[:len(frames)-1] {
		caller := frames[i+1]
		if want, ok := x.Via[last(f.Func)]; ok && last(caller.Func) != want {
			return wrong, fmt.Sprintf("%s is called by %s (%s), want %s", f.Func, caller.Func, caller.Tier, want)
		}
		want, ok := x.Calls[f.Func]
		if ok && (!strings.HasSuffix(caller.Func, want.function) || caller.File != want.file ||
			caller.Line != want.line) {
			return wrong, fmt.Sprintf("%s (%s) is called by %s:%d (%s), want %s:%d", f.Func, f.Tier, caller.Func,
				caller.Line, caller.Tier, want.function, want.line)
		}
	}
	return right, ""
}

// checkCycle: functions that call one another follow in that order, without a gap.
func (x *truth) checkCycle(frames []*profile.Frame) (verdict, string) {
	before := -1
	for _, f := range slices.Backward(frames) {
		at := slices.Index(x.Cycle, f.Func)
		switch {
		case at < 0 && before < 0: // outside of the first call
		case at < 0, before >= 0 && at != (before+1)%len(x.Cycle), before < 0 && at != 0:
			return wrong, fmt.Sprintf("%s is called by %q", f.Func, x.Cycle[max(before, 0)])
		}
		before = at
	}
	return right, ""
}

// checkChain: the functions are in the chain, from its end on.
func (x *truth) checkChain(frames []*profile.Frame) (verdict, string) {
	var names []string
	for _, f := range frames {
		if slices.Contains(x.Chain, f.Func) {
			names = append(names, f.Func)
		}
	}
	if !slices.Equal(names, x.Chain[len(x.Chain)-min(len(names), len(x.Chain)):]) {
		return wrong, fmt.Sprintf("%q is no part of %q", names, x.Chain)
	}
	return right, ""
}
