package profile

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// ValueType names one of the values of a sample, as profile.proto does.
type ValueType struct {
	Type string // "samples", "wall", "cpu", …
	Unit string // "count", "nanoseconds", …
}

// The values of our own recordings, in this order.
var (
	SamplesCount = ValueType{"samples", "count"}
	WallTime     = ValueType{"wall", "nanoseconds"}
	CPUTime      = ValueType{"cpu", "nanoseconds"}
)

// ThreadTime says that values of t are times of threads added up: six threads that sleep for a second are six seconds.
func (t ValueType) ThreadTime() bool { return t == WallTime || t == CPUTime }

// Words says in a sentence what a value of t is: "nanoseconds of CPU time", "samples", "bytes of inuse_space".
func (t ValueType) Words() string {
	switch {
	case t == WallTime:
		return t.Unit + " of wall time"
	case t == CPUTime:
		return t.Unit + " of CPU time"
	case t.Unit == "count" || t.Unit == "":
		return t.Type
	}
	return t.Unit + " of " + t.Type
}

// Task is a thread of which samples were taken. PID and TID are 0 if unknown: a profile that
// was read from a file may name threads without ids, or none at all.
type Task struct {
	PID, TID int
	Began    uint64 // when the process did, in ticks after boot: ids are given again; 0 unknown
	Process  string // its short name
	Thread   string // its short name
}

// Sample says how much of each value a stack got in one thread.
type Sample struct {
	Stack NodeID
	Task  int // index in Profile.Tasks, -1 if unknown
}

// Run says that a task was in a stack for a while. A leaf frame that [Frame.Waits] says that it
// waited there.
type Run struct {
	Task  int
	Stack NodeID
	At    time.Duration // since Profile.Start
	For   time.Duration
}

// Profile is what was found over a time: how much of each value every stack got.
//
// Frames are logical: inlined functions are nodes of their own, below (called from) the
// function that they were inlined into. A thread that waits in the kernel has a
// leaf frame of Kind Kernel and Module -1 with the name of its system call ([Frame.Waits]).
type Profile struct {
	Types   []ValueType
	Default int // index in Types of what is shown first

	Period     time.Duration // between two samples, 0 if unknown
	PeriodType ValueType
	Start      time.Time // zero if unknown
	Duration   time.Duration
	Command    []string // what was recorded, for a title
	Comments   []string // what was lost or skipped, a short line each

	Modules []Module // the main program first
	Frames  []Frame  // distinct; Index, Interrupted, Column, Origin, Note, Unsure and Gap are not used
	Tree    Tree
	Tasks   []Task
	Samples []Sample // at most one for a pair of Stack and Task
	Values  []int64  // len(Types) of them for each sample
	Runs    []Run    // each task's in order of time, equal neighbours joined; nil if the order was not kept
}

// Value returns the values of sample i, one for each of Types. It is part of p.
func (p *Profile) Value(i int) []int64 {
	n := len(p.Types)
	return p.Values[i*n : i*n+n : i*n+n]
}

// TypeIndex returns the index of the value type named typ, or -1.
func (p *Profile) TypeIndex(typ string) int {
	for i, t := range p.Types {
		if t.Type == typ {
			return i
		}
	}
	return -1
}

// Totals sums every value over all samples.
func (p *Profile) Totals() []int64 {
	sums := make([]int64, len(p.Types))
	for i := range p.Samples {
		for k, v := range p.Value(i) {
			sums[k] += v
		}
	}
	return sums
}

// Waiting sums every value over the samples that wait: their innermost frame is a wait ([Frame.Waits]).
func (p *Profile) Waiting() []int64 {
	sums := make([]int64, len(p.Types))
	for i, s := range p.Samples {
		if s.Stack == 0 || !p.Frames[p.Tree.Frame(s.Stack)].Waits() {
			continue
		}
		for k, v := range p.Value(i) {
			sums[k] += v
		}
	}
	return sums
}

// ByTask returns the samples, as indexes of p.Samples, those of each task together.
func (p *Profile) ByTask() []int {
	order := make([]int, len(p.Samples))
	for i := range order {
		order[i] = i
	}
	byTask := func(a, b int) int { return cmp.Compare(p.Samples[a].Task, p.Samples[b].Task) }
	if !slices.IsSortedFunc(order, byTask) {
		slices.SortStableFunc(order, byTask)
	}
	return order
}

// CheckValid says what makes p inconsistent, nil if nothing does: indexes out of range, a
// number of values that does not fit.
func (p *Profile) CheckValid() error {
	if len(p.Types) == 0 || p.Default < 0 || p.Default >= len(p.Types) {
		return fmt.Errorf("check profile: default value %d of %d", p.Default, len(p.Types))
	}
	if len(p.Values) != len(p.Samples)*len(p.Types) {
		return fmt.Errorf("check profile: %d values for %d samples of %d types", len(p.Values), len(p.Samples),
			len(p.Types))
	}
	for n := 1; n < p.Tree.Len(); n++ {
		if f := p.Tree.frame[n]; int(f) >= len(p.Frames) {
			return fmt.Errorf("check profile: stack %d has frame %d of %d", n, f, len(p.Frames))
		}
		if up := p.Tree.parent[n]; int(up) >= n {
			return fmt.Errorf("check profile: stack %d is called from %d", n, up)
		}
	}
	for i := range p.Frames {
		if m := p.Frames[i].Module; m < -1 || m >= len(p.Modules) {
			return fmt.Errorf("check profile: frame %d lies in module %d of %d", i, m, len(p.Modules))
		}
	}
	for i, s := range p.Samples {
		if err := p.checkPlace(s.Stack, s.Task); err != nil {
			return fmt.Errorf("check profile: sample %d: %w", i, err)
		}
	}
	for i, r := range p.Runs {
		if err := p.checkPlace(r.Stack, r.Task); err != nil {
			return fmt.Errorf("check profile: run %d: %w", i, err)
		}
	}
	return nil
}

func (p *Profile) checkPlace(n NodeID, task int) error {
	if int(n) >= p.Tree.Len() {
		return fmt.Errorf("stack %d of %d", n, p.Tree.Len())
	}
	if task < -1 || task >= len(p.Tasks) {
		return fmt.Errorf("task %d of %d", task, len(p.Tasks))
	}
	return nil
}
