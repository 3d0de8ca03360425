package check

import (
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/unwind"
)

// explainer says who breaks a chain, why, and what fixes it.
type explainer struct {
	names  Namer
	of     func(*module.Module) *Module
	judged map[functionKey]verdict
}

// functionKey is a function by its start.
type functionKey struct {
	m     *module.Module
	start module.Vaddr
}

// explain fills in the functions and modules of the breaks of t, a thread with those frames.
func (x *explainer) explain(t *Thread, frames []unwind.Frame) {
	for i := range t.Breaks {
		b := &t.Breaks[i]
		f := &frames[b.Frame]
		b.Signal = f.Signal
		c := x.culprit(f)
		b.Function, b.Module, b.Fix = c.Function, c.Module, c.Fix
		if b.Effect == Skips {
			b.Reason = x.why(f)
			continue
		}
		b.Also = x.others(frames[b.Frame+1:])
	}
}

// culprit names the function of f.
func (x *explainer) culprit(f *unwind.Frame) Culprit {
	c := Culprit{Frames: 1}
	if logical := x.names.Frames([]unwind.Frame{*f})[0]; len(logical) > 0 {
		c.Function = logical[len(logical)-1].Func
	}
	if f.Module == nil {
		if !f.Signal {
			c.Fix = "no file holds this code: Java keeps frame pointers with -XX:+PreserveFramePointer"
		}
		return c
	}
	c.Module = f.Module.Path
	known := x.of(f.Module)
	if known == nil || f.Signal {
		return c
	}
	c.Fix = known.FixFP()
	if c.Function == "" && known.name != nil {
		c.Function = known.name(f.Module.Vaddr(f.LookupPC()))
	}
	return c
}

// why says how the function of f loses its caller.
func (x *explainer) why(f *unwind.Frame) string {
	if f.Signal {
		return "a signal came: the chain goes on behind what it interrupted"
	}
	switch x.judge(f) {
	case kept:
		return "it is where its frame record is not made yet, or gone already"
	case notNeeded:
		return "it calls nobody and makes no frame record"
	}
	return "it keeps no frame record"
}

// others lists the functions of frames that keep no frame record.
func (x *explainer) others(frames []unwind.Frame) []Culprit {
	var out []Culprit
	place := map[functionKey]int{} // in out
	for i := range frames[:min(len(frames), maxJudged)] {
		f := &frames[i]
		if f.Module == nil || x.judge(f) != missing {
			continue
		}
		key, _ := x.key(f)
		if at, ok := place[key]; ok {
			out[at].Frames++
			continue
		}
		if len(out) < maxCulprits {
			place[key] = len(out)
			out = append(out, x.culprit(f))
		}
	}
	return out
}

// key finds the function of f and its end.
func (x *explainer) key(f *unwind.Frame) (key functionKey, end module.Vaddr) {
	if f.Module == nil || f.Module.Err != nil {
		return key, 0
	}
	start, end, ok := x.names.Bounds(f.Module, f.Module.Vaddr(f.LookupPC()))
	if !ok {
		return key, 0
	}
	return functionKey{f.Module, start}, end
}

// judge says what the function of f does with the frame pointer.
func (x *explainer) judge(f *unwind.Frame) verdict {
	key, end := x.key(f)
	if key.m == nil {
		return unclear
	}
	v, ok := x.judged[key]
	if !ok {
		if known := x.of(key.m); known != nil && known.judge != nil {
			v = known.judge(symbol.Function{Start: key.start, End: end})
		}
		x.judged[key] = v
	}
	return v
}
