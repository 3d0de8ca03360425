package flame

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/syscalls"
)

// profile makes a Profile of what was added up.
func (f *folder) profile() *profile.Profile {
	p := &profile.Profile{Types: []profile.ValueType{profile.SamplesCount}, Tree: f.stacks.tree}
	p.Frames, p.Modules = framesOf(f.names)
	factor := f.factor(f.total)
	used := 0
	for n := range f.self {
		if f.self[n] != 0 || n < len(f.micro) && f.micro[n] != 0 {
			used++
		}
	}
	p.Samples, p.Values = make([]profile.Sample, 0, used), make([]int64, 0, used)
	for n := range f.self {
		v := f.self[n] * factor
		if n < len(f.micro) {
			v += fraction(f.micro[n], factor)
		}
		if v != 0 {
			p.Samples = append(p.Samples, profile.Sample{Stack: profile.NodeID(n), Task: -1})
			p.Values = append(p.Values, v)
		}
	}
	return p
}

// factor sets and returns by what all values are multiplied so that fractions are not lost, as far as
// the sum of all stays below 63 bits.
func (f *folder) factor(total int64) int64 {
	f.report.Factor = 1
	limit := math.MaxInt64 / (uint64(total) + uint64(f.report.Lines) + 1) // a fraction is below 1
	for range f.digits {
		if uint64(f.report.Factor) <= limit/10 {
			f.report.Factor *= 10
		}
	}
	return f.report.Factor
}

// fraction returns micro millionths times factor, rounded.
func fraction(micro, factor int64) int64 {
	whole, rest := micro/million, micro%million
	return whole*factor + (rest*factor+million/2)/million
}

// framesOf returns the frame of each name, and the modules that they lie in: the kernel if there are
// functions of it. What is marked as the kernel's and has the name of a system call is a
// wait, as [WriteFolded] marks it; the kernel's functions have other names (__x64_sys_read, ksys_read),
// and a thread in them was running.
func framesOf(names *interner) ([]profile.Frame, []profile.Module) {
	frames := make([]profile.Frame, 0, names.len())
	var modules []profile.Module
	var calls map[string]bool
	for _, name := range names.strings() {
		f := frameOf(name)
		if f.Kind == profile.Kernel {
			if calls == nil {
				calls = callNames()
			}
			if !calls[f.Func] && !strings.HasPrefix(f.Func, "(") && !strings.HasPrefix(f.Func, "system call") {
				modules = []profile.Module{{}, {Path: kernelModule}} // the main program first: it is not known
				f.Module = 1
			}
		}
		frames = append(frames, f)
	}
	return frames, modules
}

// markKernelWaits makes waits of the kernel's functions that a wait is in front of: what record --kernel writes, where
// in the kernel a thread waits behind its system call.
func markKernelWaits(p *profile.Profile) {
	ran := func(f profile.Frame) bool { return f.Kind == profile.Kernel && !f.Waits() }
	waits := func(f profile.Frame) bool { return f.Waits() }
	if !slices.ContainsFunc(p.Frames, ran) || !slices.ContainsFunc(p.Frames, waits) {
		return
	}
	waiting := map[profile.FrameID]profile.FrameID{} // of the kernel's functions in a wait
	in := make([]bool, p.Tree.Len())                 // nodes that are one
	frameAt := func(n profile.NodeID) profile.FrameID {
		id := p.Tree.Frame(n)
		f := &p.Frames[id]
		switch {
		case f.Waits():
			in[n] = true
		case f.Kind == profile.Kernel && in[p.Tree.Parent(n)]:
			in[n] = true
			of, ok := waiting[id]
			if !ok {
				of = profile.FrameID(len(p.Frames))
				waiting[id] = of
				wait := *f
				wait.Module = -1
				p.Frames = append(p.Frames, wait)
			}
			return of
		}
		return id
	}
	tree, _ := p.Tree.Prune(func(n profile.NodeID) (profile.Fate, profile.FrameID) { return profile.Kept, frameAt(n) })
	if len(waiting) > 0 {
		p.Tree = tree // all nodes are kept, and have their ids
	}
}

// callNames returns the names of system calls, of all architectures: where a file was recorded is
// not known.
func callNames() map[string]bool {
	const numbers = 1024 // more than any architecture has
	calls := map[string]bool{}
	for _, arch := range []string{"amd64", "386", "arm64", "arm", "riscv64", "s390x", "ppc64le", "loong64"} {
		for nr := range int64(numbers) {
			if name, ok := syscalls.Name(arch, nr); ok {
				calls[name] = true
			}
		}
	}
	return calls
}

// kindMarks are what follows a name to give its kind.
// Source: stackcollapse-perf.pl --kernel --jit --inline, and flamegraph.pl.
var kindMarks = []struct {
	mark    string
	kind    profile.Kind
	inlined bool
}{
	{kernelMark, profile.Kernel, false},
	{"_[j]", profile.JIT, false},
	{"_[i]", profile.Native, true},
}

// frameOf takes the mark off a name in folded text.
func frameOf(name string) profile.Frame {
	if strings.HasSuffix(name, "]") {
		for _, m := range kindMarks {
			if bare, ok := strings.CutSuffix(name, m.mark); ok {
				return profile.Frame{Func: bare, Kind: m.kind, Inlined: m.inlined, Module: -1}
			}
		}
	}
	return profile.Frame{Func: name, Module: -1}
}

// shownFirst is the end of a message that shows the first line that was not understood.
func (r FoldedReport) shownFirst() string {
	if r.Skipped == 0 {
		return ""
	}
	return fmt.Sprintf("; line %d is %q", r.Number, r.First)
}
