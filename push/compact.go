package push

import (
	"path"
	"strings"

	pprof "github.com/google/pprof/profile"
)

// compacter copies what samples use of a profile. Ids are numbers from 1 on: Pyroscope and Parca take them for indexes.
type compacter struct {
	out       *pprof.Profile
	mappings  map[*pprof.Mapping]*pprof.Mapping
	functions map[*pprof.Function]*pprof.Function
	locations map[*pprof.Location]*pprof.Location
}

// compact is a copy of p without locations, functions and mappings that none of its samples has. It shares nothing with
// p that an encoder changes, but labels and values.
func compact(p *pprof.Profile) *pprof.Profile {
	c := compacter{shallow(p), map[*pprof.Mapping]*pprof.Mapping{}, map[*pprof.Function]*pprof.Function{},
		map[*pprof.Location]*pprof.Location{}}
	c.out.Mapping, c.out.Function, c.out.Location = nil, nil, nil
	if len(p.Mapping) > 0 {
		c.mapping(p.Mapping[0]) // the program itself is first, also where no sample is in it
	}
	c.out.Sample = make([]*pprof.Sample, len(p.Sample))
	for i, s := range p.Sample {
		stack := make([]*pprof.Location, len(s.Location))
		for n, l := range s.Location {
			stack[n] = c.location(l)
		}
		c.out.Sample[i] = &pprof.Sample{Location: stack, Value: s.Value, Label: s.Label, NumLabel: s.NumLabel,
			NumUnit: s.NumUnit}
	}
	return c.out
}

func (c *compacter) location(l *pprof.Location) *pprof.Location {
	if own := c.locations[l]; own != nil {
		return own
	}
	own := &pprof.Location{ID: uint64(len(c.out.Location) + 1), Mapping: c.mapping(l.Mapping), Address: l.Address,
		IsFolded: l.IsFolded}
	for _, line := range l.Line {
		line.Function = c.function(line.Function)
		own.Line = append(own.Line, line)
	}
	c.out.Location = append(c.out.Location, own)
	c.locations[l] = own
	return own
}

func (c *compacter) mapping(m *pprof.Mapping) *pprof.Mapping {
	if m == nil || c.mappings[m] != nil {
		return c.mappings[m]
	}
	own := &pprof.Mapping{ID: uint64(len(c.out.Mapping) + 1), Start: m.Start, Limit: m.Limit, Offset: m.Offset,
		File: m.File, BuildID: m.BuildID, HasFunctions: m.HasFunctions, HasFilenames: m.HasFilenames,
		HasLineNumbers: m.HasLineNumbers, HasInlineFrames: m.HasInlineFrames}
	c.out.Mapping = append(c.out.Mapping, own)
	c.mappings[m] = own
	return own
}

func (c *compacter) function(f *pprof.Function) *pprof.Function {
	if f == nil || c.functions[f] != nil {
		return c.functions[f]
	}
	own := &pprof.Function{ID: uint64(len(c.out.Function) + 1), Name: f.Name, SystemName: f.SystemName,
		Filename: f.Filename, StartLine: f.StartLine}
	c.out.Function = append(c.out.Function, own)
	c.functions[f] = own
	return own
}

// withoutMadeNames is p without names that were made of module and address: a store may know better ones, and looks for
// them where there is none.
func withoutMadeNames(p *pprof.Profile) *pprof.Profile {
	bare := shallow(p)
	bare.Sample = make([]*pprof.Sample, len(p.Sample))
	without := map[*pprof.Location]*pprof.Location{}
	for i, s := range p.Sample {
		stack := make([]*pprof.Location, len(s.Location))
		for n, l := range s.Location {
			if stack[n] = without[l]; stack[n] == nil {
				stack[n] = l
				if hasMadeName(l) {
					stack[n] = &pprof.Location{Mapping: l.Mapping, Address: l.Address}
				}
				without[l] = stack[n]
			}
		}
		bare.Sample[i] = &pprof.Sample{Location: stack, Value: s.Value, Label: s.Label}
	}
	return compact(bare)
}

// hasMadeName reports whether l has the name that flame gives to what has none.
func hasMadeName(l *pprof.Location) bool {
	if len(l.Line) != 1 || l.Mapping == nil || l.Line[0].Function == nil {
		return false
	}
	digits, ok := strings.CutPrefix(l.Line[0].Function.Name, path.Base(l.Mapping.File)+"+0x")
	return ok && digits != "" && strings.Trim(digits, "0123456789abcdef") == ""
}

// shallow is a copy of p that shares all that p refers to.
func shallow(p *pprof.Profile) *pprof.Profile {
	return &pprof.Profile{SampleType: p.SampleType, DefaultSampleType: p.DefaultSampleType, Sample: p.Sample,
		Mapping: p.Mapping, Location: p.Location, Function: p.Function, Comments: p.Comments, DocURL: p.DocURL,
		DropFrames: p.DropFrames, KeepFrames: p.KeepFrames, TimeNanos: p.TimeNanos, DurationNanos: p.DurationNanos,
		PeriodType: p.PeriodType, Period: p.Period}
}
