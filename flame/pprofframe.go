package flame

import (
	"math"
	"slices"
	"strconv"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/profile"
)

// marksKind says whether m is what [WritePprof] makes of frames without a module, or what pprof's reader of older
// forms makes of places in the code that lie in no mapping: all of memory, without a name.
func marksKind(m *pprof.Mapping) bool {
	if m.Start == 0 && m.Limit == math.MaxUint64 && m.File == "" && m.BuildID == "" {
		return true
	}
	if m.Start != 0 || m.Limit != 0 || m.BuildID != "" {
		return false
	}
	return m.File == "" || m.File == kindFile(kindOf(m))
}

// kernelModule is where the functions of the kernel lie, as perf and its converters name it.
const kernelModule = "[kernel.kallsyms]"

// kindOf gives the kind of the frames of m, Native if it does not say.
func kindOf(m *pprof.Mapping) profile.Kind {
	switch {
	case m == nil:
		return profile.Native
	case strings.HasPrefix(m.File, "[kernel"):
		return profile.Kernel
	}
	name, _ := strings.CutSuffix(strings.TrimPrefix(m.File, "["), "]")
	if k, ok := profile.KindNamed(name); ok && m.File == kindFile(k) && m.File != "" {
		return k
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
		f := profile.Frame{Func: line.Function.Name, File: line.Function.Filename, Kind: kindOf(at.l.Mapping),
			Module:  -1,
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

// Labels that name a thread, in the order in which they are believed: ours, then those of other producers.
// Source: Datadog's profilers ("thread name", "thread id").
var (
	threadNames    = []string{labelThread, "thread name"}
	processNames   = []string{labelProcess}
	threadIDs      = []string{labelThreadID, "thread id"}
	processIDs     = []string{labelProcessID}
	threadNumbers  = []string{labelThreadID, "thread id", "tid"} // labels that are numbers
	processNumbers = []string{labelProcessID, "pid"}
)

// maxTaskName bounds the name of a thread or a process, in bytes: one string of the file may name a million
// threads, and each is shown with its id.
const maxTaskName = 1 << 10

// task finds the thread of s in its labels, -1 if they name none.
func (r *pprofReader) task(s *pprof.Sample) int {
	r.noteDropped(s)
	t := profile.Task{Thread: nameIn(s.Label, threadNames), Process: nameIn(s.Label, processNames),
		TID: idIn(s, threadIDs, threadNumbers), PID: idIn(s, processIDs, processNumbers)}
	if t == (profile.Task{}) {
		return -1
	}
	return r.b.Task(t)
}

// noteDropped keeps the keys of labels that are not used.
func (r *pprofReader) noteDropped(s *pprof.Sample) {
	for key, values := range s.Label {
		switch key {
		case labelThread, "thread name", labelProcess, labelThreadID, "thread id", labelProcessID, labelBase:
		default:
			if len(values) > 0 {
				r.dropped[key] = true
			}
		}
	}
	for key, values := range s.NumLabel {
		if len(values) != 1 || !slices.Contains(threadNumbers, key) && !slices.Contains(processNumbers, key) {
			r.dropped[key] = true
		}
	}
}

// nameIn returns the first value of the first of keys that has one, cut where it is too long.
func nameIn(labels map[string][]string, keys []string) string {
	for _, key := range keys {
		if values := labels[key]; len(values) > 0 && values[0] != "" {
			return values[0][:min(len(values[0]), maxTaskName)]
		}
	}
	return ""
}

// idIn returns the first id in labels that are text, else in those that are numbers; 0 if there is none.
func idIn(s *pprof.Sample, text, numbers []string) int {
	for _, key := range text {
		if values := s.Label[key]; len(values) > 0 {
			if n, err := strconv.ParseInt(values[0], 10, 32); err == nil && n > 0 {
				return int(n)
			}
		}
	}
	for _, key := range numbers {
		if values := s.NumLabel[key]; len(values) == 1 && 0 < values[0] && values[0] <= math.MaxInt32 {
			return int(values[0])
		}
	}
	return 0
}
