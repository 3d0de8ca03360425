package profile

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Diff is two profiles on one tree. A frame of that is a function: two builds or two runs of
// a program have neither addresses nor lines in common.
type Diff struct {
	// New has the frames, stacks and samples of both, and the values of the newer; 0 where
	// only the older has that sample. All that describes a profile is of the newer.
	New *Profile
	// Old has the older's values in the same places as New.Values, scaled.
	Old []int64
	// Scale is what the older's values were multiplied by, one factor for each of New.Types.
	Scale []float64
	// NewGrain and OldGrain are what one sample of each side weighs, for each of New.Types, the older's after scaling;
	// 0 if the side does not count its samples. See [Diff.Error].
	NewGrain, OldGrain []float64
}

// DiffOptions say how two profiles are compared.
type DiffOptions struct {
	// Absolute takes the older's values as they are. Without it they are scaled to the
	// newer's Duration, or, if one of the two is not known, to the newer's totals.
	Absolute bool
}

// beforePrefix marks the type of an older value in [Diff.Join].
const beforePrefix = "before "

// OldValue returns the older values of sample i. It is part of d.
func (d *Diff) OldValue(i int) []int64 {
	n := len(d.New.Types)
	return d.Old[i*n : i*n+n : i*n+n]
}

// Compare puts the older profile beside the newer. Frames are the same if their functions are
// ([Profile.Function]), threads if their names and their process's are. Only values that both have are kept.
//
// Precondition: both pass [Profile.CheckValid]. It fails if they have no value in common, or if
// scaled values do not fit.
func Compare(newer, older *Profile, opt DiffOptions) (*Diff, error) {
	types := slices.DeleteFunc(slices.Clone(newer.Types),
		func(t ValueType) bool { return !slices.Contains(older.Types, t) })
	if len(types) == 0 {
		return nil, fmt.Errorf("compare profiles: no value in common: %s and %s", typeList(newer.Types),
			typeList(older.Types))
	}
	b := NewBuilder(slices.Concat(types, types)...)
	c := comparer{b, moduleSet{b.Profile(), map[moduleKey]int{}}, map[Function]FrameID{}, types}
	scale := scales(types, newer, older, opt)
	if err := checkScaled(older, types, scale); err != nil {
		return nil, err
	}
	c.add(newer, 0, nil)
	c.add(older, len(types), scale)

	both := b.Profile()
	d := &Diff{New: both, Scale: scale, NewGrain: newer.grains(types), OldGrain: older.grains(types)}
	for k := range scale {
		d.OldGrain[k] *= scale[k]
	}
	both.Types = types
	both.Values, d.Old = unzip(both.Values, len(types))
	both.Default = max(0, slices.Index(types, newer.Types[newer.Default]))
	both.Period, both.PeriodType = newer.Period, newer.PeriodType
	both.Start, both.Duration = newer.Start, newer.Duration
	both.Command, both.Comments = slices.Clone(newer.Command), slices.Clone(newer.Comments)
	for _, comment := range older.Comments {
		both.Comments = append(both.Comments, "older: "+comment)
	}
	return d, nil
}

func typeList(types []ValueType) string {
	var names []string
	for _, t := range types {
		names = append(names, t.Type+"/"+t.Unit)
	}
	return strings.Join(names, ", ")
}

// scales gives the factor for the older's values of each type.
func scales(types []ValueType, newer, older *Profile, opt DiffOptions) []float64 {
	scale := make([]float64, len(types))
	newTotals, oldTotals := newer.Totals(), older.Totals()
	for k, t := range types {
		n, o := newTotals[slices.Index(newer.Types, t)], oldTotals[slices.Index(older.Types, t)]
		switch {
		case opt.Absolute:
			scale[k] = 1
		case newer.Duration > 0 && older.Duration > 0:
			scale[k] = float64(newer.Duration) / float64(older.Duration)
		case n > 0 && o > 0:
			scale[k] = float64(n) / float64(o)
		default:
			scale[k] = 1
		}
	}
	return scale
}

type comparer struct {
	b       *Builder
	modules moduleSet
	names   map[Function]FrameID
	types   []ValueType
}

// add puts p's values into the columns from at on, multiplied by scale unless that is nil.
// What is cut off by rounding is carried to the next sample, so that the sum is right and a
// thousand stacks of 1 do not all become 0.
func (c *comparer) add(p *Profile, at int, scale []float64) {
	stacks := c.b.p.Tree.Graft(&p.Tree, c.frames(p))
	values := make([]int64, 2*len(c.types))
	sums, given := make([]float64, len(c.types)), make([]float64, len(c.types))
	for i, s := range p.Samples {
		task := -1
		if s.Task >= 0 {
			task = c.b.Task(Task{Process: p.Tasks[s.Task].Process, Thread: p.Tasks[s.Task].Thread})
		}
		for k, t := range c.types {
			v := p.Value(i)[slices.Index(p.Types, t)]
			if scale != nil && scale[k] != 1 {
				sums[k] += float64(v) * scale[k]
				rounded := math.Round(sums[k] - given[k])
				given[k] += rounded
				v = int64(rounded)
			}
			values[at+k] = v
		}
		c.b.Add(stacks[s.Stack], task, values...)
	}
}

// frames gives the ids that p's frames have in the result: one for each function.
func (c *comparer) frames(p *Profile) []FrameID {
	modules := make([]int, len(p.Modules))
	for i, mod := range p.Modules {
		modules[i] = c.modules.add(mod)
	}
	ids := make([]FrameID, len(p.Frames))
	for f, frame := range p.Frames {
		fn := p.Function(FrameID(f))
		id, ok := c.names[fn]
		if !ok {
			if frame.Module >= 0 {
				frame.Module = modules[frame.Module]
			}
			if frame.Func != "" { // else its address is its name
				frame.Addr, frame.ModuleAddr = 0, 0
			}
			frame.Offset, frame.Line = 0, 0
			id = c.b.Frame(frame)
			c.names[fn] = id
		}
		ids[f] = id
	}
	return ids
}

// unzip parts rows of 2n values into their first and their second halves.
func unzip(values []int64, n int) (first, second []int64) {
	first, second = make([]int64, 0, len(values)/2), make([]int64, 0, len(values)/2)
	for at := 0; at < len(values); at += 2 * n {
		first = append(first, values[at:at+n]...)
		second = append(second, values[at+n:at+2*n]...)
	}
	return first, second
}

// Older returns the older side as a profile. It shares all but the values with d.New.
func (d *Diff) Older() *Profile {
	p := *d.New
	p.Values = d.Old
	return &p
}

// Join returns d as one profile that has for each type two: the older values as "before
// TYPE", and behind them the newer. It shares all but types and values with d.New.
func (d *Diff) Join() *Profile {
	p := *d.New
	p.Types, p.Values = nil, make([]int64, 0, 2*len(d.New.Values))
	for _, t := range d.New.Types {
		p.Types = append(p.Types, ValueType{beforePrefix + t.Type, t.Unit}, t)
	}
	for i, v := range d.New.Values {
		p.Values = append(p.Values, d.Old[i], v)
	}
	p.Default = 2*d.New.Default + 1
	return &p
}

// errNotJoined says that a profile is not a difference.
var errNotJoined = errors.New("split profile: not a difference: its types do not come as \"before TYPE\" and TYPE")

// Split undoes [Diff.Join]: a file may hold a difference, as folded text with two columns does.
// It fails if p is none, see [Profile.IsDiff]. Numbers of samples
// are taken as they are: whether the older's were scaled is not known.
func Split(p *Profile) (*Diff, error) {
	if !p.IsDiff() {
		return nil, errNotJoined
	}
	newer := *p
	newer.Types, newer.Default = nil, p.Default/2
	d := &Diff{New: &newer}
	for k := 1; k < len(p.Types); k += 2 {
		newer.Types = append(newer.Types, p.Types[k])
		d.Scale = append(d.Scale, 1)
	}
	newer.Values = make([]int64, 0, len(p.Values)/2)
	for i := 0; i+1 < len(p.Values); i += 2 {
		d.Old, newer.Values = append(d.Old, p.Values[i]), append(newer.Values, p.Values[i+1])
	}
	d.NewGrain, d.OldGrain = newer.grains(newer.Types), d.Older().grains(newer.Types)
	return d, nil
}

// IsDiff says whether p holds a difference as [Diff.Join] makes it.
func (p *Profile) IsDiff() bool {
	for k := 0; k < len(p.Types); k += 2 {
		if k+1 == len(p.Types) || p.Types[k] != (ValueType{beforePrefix + p.Types[k+1].Type, p.Types[k+1].Unit}) {
			return false
		}
	}
	return len(p.Types) > 0
}
