package flame

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/fpstack/fpstack/jsondoc"
	"github.com/fpstack/fpstack/profile"
)

// Bounds of tables in our JSON. An element of few bytes may take a hundred and fifty in memory.
const (
	maxJSONFrames  = 1 << 24
	maxJSONModules = 1 << 18
	maxJSONTasks   = 1 << 20
	maxJSONLines   = 1 << 16 // comments, words of a command
	maxJSONNumbers = 1 << 27 // of stacks, samples and runs: 8 bytes each, twice while a list grows
)

var (
	errJSONSchema = errors.New("read JSON: not a " + jsonSchema + " document")
	errJSONSum    = errors.New("read JSON: values add up to more than 63 bits")
)

// ReadJSON reads what [WriteJSON] wrote. Members that it does not know are left out, so that later
// documents of the same schema can be read.
//
// It fails if r does, if the document is cut short or inconsistent, has a value below 0, is
// larger than 1 GiB, or has more than 2^27 numbers in stacks, samples and runs.
func ReadJSON(r io.Reader) (*profile.Profile, error) {
	return readJSON(r, maxJSONNumbers)
}

func readJSON(r io.Reader, numbers int) (*profile.Profile, error) {
	in := &jsonReader{Reader: jsondoc.NewReader(r, jsondoc.Limits{Size: maxFile, Element: maxFile}), numbers: numbers}
	if err := in.document(); err != nil {
		err = in.Error("JSON", err)
		if in.schema != jsonSchema {
			return nil, fmt.Errorf("%w: %w", errJSONSchema, err)
		}
		return nil, err
	}
	if in.schema != jsonSchema {
		return nil, errJSONSchema
	}
	return in.profile()
}

// jsonReader holds what was read so far.
type jsonReader struct {
	*jsondoc.Reader
	numbers int // that columns may still have
	schema  string
	p       profile.Profile
	stacks  struct {
		Caller []profile.NodeID  `json:"caller"`
		Frame  []profile.FrameID `json:"frame"`
	}
	samples struct {
		Stack  []profile.NodeID `json:"stack"`
		Task   []int            `json:"task"`
		Values []int64          `json:"values"`
	}
	runs *struct {
		Task  []int            `json:"task"`
		Stack []profile.NodeID `json:"stack"`
		At    []time.Duration  `json:"at_ns"`
		For   []time.Duration  `json:"for_ns"`
	}
}

func (in *jsonReader) document() error {
	if err := in.Next(); err != nil {
		return err
	}
	if _, err := in.Object(in.member); err != nil {
		return err
	}
	return in.End()
}

func (in *jsonReader) member(name string) error {
	p := &in.p
	switch name {
	case "schema":
		return in.Decode(&in.schema)
	case "default":
		return in.Decode(&p.Default)
	case "period_ns":
		return in.Decode(&p.Period)
	case "period_type":
		var t jsonType
		err := in.Decode(&t)
		p.PeriodType = t.value()
		return err
	case "start":
		return in.Decode(&p.Start)
	case "duration_ns":
		return in.Decode(&p.Duration)
	case "types":
		return list(in, maxPprofTypes, func(t jsonType) error { p.Types = append(p.Types, t.value()); return nil })
	case "command":
		return list(in, maxJSONLines, func(s string) error { p.Command = append(p.Command, original(s)); return nil })
	case "comments":
		return list(in, maxJSONLines, func(s string) error { p.Comments = append(p.Comments, original(s)); return nil })
	case "modules":
		return list(in, maxJSONModules, in.module)
	case "frames":
		return list(in, maxJSONFrames, in.frame)
	case "tasks":
		return list(in, maxJSONTasks, func(t jsonTask) error {
			p.Tasks = append(p.Tasks, profile.Task{PID: t.PID, TID: t.TID, Process: original(t.Process),
				Thread: original(t.Thread)})
			return nil
		})
	case "stacks":
		return in.columns(&in.stacks)
	case "samples":
		return in.columns(&in.samples)
	case "runs":
		return in.columns(&in.runs)
	}
	return in.Skip()
}

// columns reads lists of numbers, of which none may be a list by itself. Two bytes of text may be eight
// in memory, which are copied while the list grows: the commas are counted first.
func (in *jsonReader) columns(to any) error {
	var text json.RawMessage
	if err := in.Decode(&text); err != nil {
		return err
	}
	if in.numbers -= bytes.Count(text, []byte{','}) + 1; in.numbers < 0 {
		return fmt.Errorf("more than %d numbers", maxJSONNumbers)
	}
	return json.Unmarshal(text, to)
}

// list reads a list of values of one type, at most limit.
func list[T any](in *jsonReader, limit int, add func(T) error) error {
	return in.List(limit, func() error {
		var v T
		if err := in.Decode(&v); err != nil {
			return err
		}
		return add(v)
	})
}

func (in *jsonReader) module(m jsonModule) error {
	for i, s := range m.Symbols {
		m.Symbols[i] = original(s)
	}
	in.p.Modules = append(in.p.Modules,
		profile.Module{Path: original(m.Path), BuildID: original(m.BuildID), Base: uint64(m.Base),
			Start: uint64(m.Start), End: uint64(m.End), Offset: uint64(m.Offset), Symbols: m.Symbols,
			Err: original(m.Error)})
	return nil
}

func (in *jsonReader) frame(f jsonFrame) error {
	kind, ok := profile.KindNamed(f.Kind)
	if !ok {
		return fmt.Errorf("kind %.100q is not known", f.Kind)
	}
	out := profile.Frame{Func: original(f.Func), Linkage: original(f.Linkage), Kind: kind, Inlined: f.Inlined,
		Module: -1, File: original(f.File), Line: f.Line,
		Addr: value(f.Address), ModuleAddr: value(f.ModuleAddr), Offset: value(f.Offset)}
	if f.Module != nil {
		out.Module = *f.Module
	}
	in.p.Frames = append(in.p.Frames, out)
	return nil
}

func (t jsonType) value() profile.ValueType {
	return profile.ValueType{Type: original(t.Type), Unit: original(t.Unit)}
}

func value(a *jsonAddr) uint64 {
	if a == nil {
		return 0
	}
	return uint64(*a)
}

// profile puts the tables together.
func (in *jsonReader) profile() (*profile.Profile, error) {
	p := &in.p
	if p.Period < 0 || p.Duration < 0 {
		return nil, fmt.Errorf("read JSON: period %d ns, duration %d ns", p.Period, p.Duration)
	}
	if len(in.stacks.Caller) != len(in.stacks.Frame) {
		return nil, fmt.Errorf("read JSON: %d callers of %d stacks", len(in.stacks.Caller), len(in.stacks.Frame))
	}
	for i, caller := range in.stacks.Caller {
		if int(caller) > i || p.Tree.Child(caller, in.stacks.Frame[i]) != profile.NodeID(i+1) {
			return nil, fmt.Errorf("read JSON: stack %d is called from %d, which is not before it, or comes twice", i+1,
				caller)
		}
	}
	if len(in.samples.Stack) != len(in.samples.Task) {
		return nil, fmt.Errorf("read JSON: %d stacks and %d tasks of samples", len(in.samples.Stack),
			len(in.samples.Task))
	}
	p.Samples = make([]profile.Sample, len(in.samples.Stack))
	for i, stack := range in.samples.Stack {
		p.Samples[i] = profile.Sample{Stack: stack, Task: in.samples.Task[i]}
	}
	p.Values = in.samples.Values
	if err := in.setRuns(); err != nil {
		return nil, err
	}
	if err := checkValues(p); err != nil {
		return nil, err
	}
	if err := p.CheckValid(); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	return p, nil
}

func (in *jsonReader) setRuns() error {
	r := in.runs
	if r == nil {
		return nil
	}
	n := len(r.Task)
	if len(r.Stack) != n || len(r.At) != n || len(r.For) != n {
		return fmt.Errorf("read JSON: columns of runs have %d, %d, %d and %d rows", n, len(r.Stack), len(r.At),
			len(r.For))
	}
	in.p.Runs = make([]profile.Run, n)
	last := map[int]time.Duration{} // by task: when its run before ended
	for i := range n {
		run := profile.Run{Task: r.Task[i], Stack: r.Stack[i], At: r.At[i], For: r.For[i]}
		if run.At < last[run.Task] || run.For < 0 || run.At > math.MaxInt64-run.For {
			return fmt.Errorf("read JSON: run %d is not behind the one before of its task", i)
		}
		last[run.Task] = run.At + run.For
		in.p.Runs[i] = run
	}
	return nil
}

// checkValues refuses values below 0 and sums that do not fit.
func checkValues(p *profile.Profile) error {
	if len(p.Types) == 0 {
		return nil // CheckValid says it
	}
	sums := make([]int64, len(p.Types))
	for i, v := range p.Values {
		k := i % len(sums)
		if v < 0 {
			return fmt.Errorf("read JSON: value %d is below 0", v)
		}
		if sums[k] += v; sums[k] < 0 {
			return errJSONSum
		}
	}
	return nil
}

// original is what s was made of. A backslash that escapes nothing stays: nothing is lost by it.
func original(s string) string {
	s, _ = profile.Original(s)
	return s
}
