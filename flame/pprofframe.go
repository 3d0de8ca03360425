package flame

import (
	"math"
	"slices"
	"strconv"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/profile"
)

// standsForKind says whether m is what [WritePprof] makes of frames without a module.
func standsForKind(m *pprof.Mapping) bool {
	if m.Start != 0 || m.Limit != 0 || m.BuildID != "" {
		return false
	}
	return m.File == "" || m.File == kindFiles[kindOf(m)]
}

// kernelModule is where the functions of the kernel lie, as perf and its converters name it.
const kernelModule = "[kernel.kallsyms]"

// kindOf tells the kind of the frames of m, Native if it does not say.
func kindOf(m *pprof.Mapping) profile.Kind {
	switch {
	case m == nil:
		return profile.Native
	case strings.HasPrefix(m.File, "[kernel"):
		return profile.Kernel
	case m.File == "[vdso]":
		return profile.VDSO
	case m.File == "[jit]":
		return profile.JIT
	}
	return profile.Native
}

// frames returns the logical frames of a location, outermost first.
func (r *pprofReader) frames(at pprofUse) []profile.FrameID {
	if ids, ok := r.locations[at]; ok {
		return ids
	}
	ids := make([]profile.FrameID, 0, max(1, len(at.l.Line)))
	for i, line := range slices.Backward(at.l.Line) {
		f := profile.Frame{Func: line.Function.Name, File: line.Function.Filename, Kind: kindOf(at.l.Mapping), Module: -1,
			Inlined: i < len(at.l.Line)-1}
		if s := line.Function.SystemName; s != f.Func {
			f.Linkage = s
		}
		if 0 < line.Line && line.Line <= math.MaxInt32 {
			f.Line = int(line.Line)
		}
		r.place(&f, at)
		ids = append(ids, r.b.Frame(f))
	}
	if len(ids) == 0 {
		f := profile.Frame{Kind: profile.Unknown, Module: -1}
		if kind := kindOf(at.l.Mapping); kind != profile.Native {
			f.Kind = kind
		}
		r.place(&f, at)
		ids = append(ids, r.b.Frame(f))
	}
	r.locations[at] = ids
	return ids
}

// place sets where f lies.
func (r *pprofReader) place(f *profile.Frame, at pprofUse) {
	if at.l.Mapping != nil {
		f.Module = r.modules[at.l.Mapping]
	}
	if f.Inlined {
		return
	}
	if f.Addr = at.l.Address; at.caller && f.Addr != 0 {
		f.Addr++
	}
	if f.Module < 0 {
		return
	}
	m := &r.b.Profile().Modules[f.Module]
	if f.Addr != 0 {
		f.ModuleAddr = f.Addr - m.Base
	}
	// A name that was made of module and address is none.
	if digits, ok := strings.CutPrefix(f.Func, m.Name()+"+0x"); ok {
		if addr, err := strconv.ParseUint(digits, 16, 64); err == nil {
			f.Func, f.ModuleAddr, f.Kind = "", addr, profile.Unknown
		}
	}
}

// task finds the thread of s in its labels: ours, or those that other producers use.
func (r *pprofReader) task(s *pprof.Sample) int {
	var t profile.Task
	found := false
	for key, values := range s.Label {
		known := len(values) > 0
		switch {
		case !known:
		case key == labelThread || key == "thread name":
			t.Thread = values[0]
		case key == labelProcess:
			t.Process = values[0]
		case key == labelThreadID || key == "thread id":
			known = setID(&t.TID, values[0])
		case key == labelProcessID:
			known = setID(&t.PID, values[0])
		case key == labelBase:
			known = false
		default:
			known, r.dropped[key] = false, true
		}
		found = found || known
	}
	for key, values := range s.NumLabel {
		switch {
		case len(values) == 1 && (key == "tid" || key == labelThreadID || key == "thread id"):
			found = setID(&t.TID, strconv.FormatInt(values[0], 10)) || found
		case len(values) == 1 && (key == "pid" || key == labelProcessID):
			found = setID(&t.PID, strconv.FormatInt(values[0], 10)) || found
		default:
			r.dropped[key] = true
		}
	}
	if !found {
		return -1
	}
	return r.b.Task(t)
}

// setID sets id to the number in text if that is one of a thread.
func setID(id *int, text string) bool {
	n, err := strconv.ParseInt(text, 10, 32)
	if err == nil && n > 0 {
		*id = int(n)
		return true
	}
	return false
}
