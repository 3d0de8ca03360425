package flame

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/profile"
)

var errPprofSum = errors.New("read pprof: values add up to more than 63 bits")

// maxPprofTypes bounds the values of a sample; Go's heap profiles have 4.
const maxPprofTypes = 64

// parsePprof reads a profile.proto, compressed by gzip or not, of any producer. Modules are its mappings. The format
// does not say where an object was linked: Base is taken to be where the file's first byte would lie, so ModuleAddr is
// an offset in the file.
//
// Samples below 0 or with the label pprof::base are the older side of a difference, and make the result one
// ([profile.Profile.IsDiff]). Labels other than a thread's and a process's name and id are not
// kept, and named in Comments. Of several that say the same, ours counts, then text.
//
// It fails if the file is cut short or inconsistent, and if it is larger than 1 GiB, would
// take more than 4 GiB of memory, or has stacks of more than 2^28 frames in all.
func parsePprof(data []byte) (*profile.Profile, error) {
	in, err := parseProto(data)
	if err != nil {
		return nil, err
	}
	if n := len(in.SampleType); n == 0 || n > maxPprofTypes {
		return nil, fmt.Errorf("read pprof: %d types of values: expected 1 to %d", n, maxPprofTypes)
	}
	if err := checkFrames(in); err != nil {
		return nil, err
	}
	return newPprofReader(in).read()
}

func parseProto(data []byte) (*pprof.Profile, error) {
	weight, err := weigh(data)
	if err != nil {
		return nil, err
	}
	if weight > maxWeight {
		return nil, fmt.Errorf("read pprof: %d MiB would take %d MiB of memory", len(data)>>20, weight>>20)
	}
	in, err := pprof.ParseUncompressed(data)
	if err == nil {
		err = in.CheckValid()
	}
	if err != nil {
		return nil, fmt.Errorf("read pprof: %w", err)
	}
	return in, nil
}

// checkFrames refuses stacks that have too many frames in all. What was inlined in a place is in the file
// once, however often the place is in a stack.
func checkFrames(in *pprof.Profile) error {
	frames := 0
	for _, s := range in.Sample {
		for _, l := range s.Location {
			if frames += max(1, len(l.Line)); frames > maxPprofFrames {
				return fmt.Errorf("read pprof: stacks have more than %d frames in all", maxPprofFrames)
			}
		}
	}
	return nil
}

// pprofReader turns in into a Profile.
type pprofReader struct {
	in        *pprof.Profile
	b         *profile.Builder
	diff      bool
	modules   map[*pprof.Mapping]int
	locations map[pprofUse][]profile.FrameID // outermost first
	dropped   map[string]bool                // keys of labels
	nodes     int                            // that the call tree may have
}

// pprofUse is a Location in its place: a return address is one behind that of its call.
type pprofUse struct {
	l      *pprof.Location
	caller bool
}

func newPprofReader(in *pprof.Profile) *pprofReader {
	r := &pprofReader{in: in, modules: map[*pprof.Mapping]int{}, locations: map[pprofUse][]profile.FrameID{},
		dropped: map[string]bool{}, nodes: maxNodes}
	for _, s := range in.Sample {
		r.diff = r.diff || s.DiffBaseSample() || slices.ContainsFunc(s.Value, func(v int64) bool { return v < 0 })
	}
	var types []profile.ValueType
	for _, t := range in.SampleType {
		if r.diff {
			types = append(types, profile.ValueType{Type: "before " + t.Type, Unit: t.Unit})
		}
		types = append(types, profile.ValueType{Type: t.Type, Unit: t.Unit})
	}
	r.b = profile.NewBuilder(types...)
	return r
}

func (r *pprofReader) read() (*profile.Profile, error) {
	p := r.b.Profile()
	for _, m := range r.in.Mapping {
		r.modules[m] = -1
		if !marksKind(m) {
			r.modules[m] = len(p.Modules)
			p.Modules = append(p.Modules, profile.Module{Path: m.File, BuildID: m.BuildID, Base: m.Start - m.Offset,
				Start: m.Start, End: m.Limit, Offset: m.Offset})
		}
	}
	sums := make([]int64, len(p.Types))
	for _, s := range r.in.Sample {
		values, err := r.values(s)
		if err != nil {
			return nil, err
		}
		for k, v := range values {
			if sums[k] += v; sums[k] < 0 {
				return nil, errPprofSum
			}
		}
		stack, err := r.stack(s.Location)
		if err != nil {
			return nil, err
		}
		r.b.Add(stack, r.task(s), values...)
	}
	r.describe(p)
	if err := p.CheckValid(); err != nil {
		return nil, fmt.Errorf("read pprof: %w", err)
	}
	return p, nil
}

// values returns the values of s, none below 0: those of the older side in a place of their own.
func (r *pprofReader) values(s *pprof.Sample) ([]int64, error) {
	if !r.diff {
		return s.Value, nil
	}
	values := make([]int64, 2*len(s.Value))
	for k, v := range s.Value {
		switch {
		case v == math.MinInt64:
			return nil, errPprofSum
		case v < 0:
			values[2*k] = -v
		case s.DiffBaseSample():
			values[2*k] = v
		default:
			values[2*k+1] = v
		}
	}
	return values, nil
}

func (r *pprofReader) stack(locations []*pprof.Location) (profile.NodeID, error) {
	n := profile.NodeID(0)
	for i, l := range slices.Backward(locations) {
		// Below a call into the kernel is the PC itself, see [WritePprof].
		caller := i > 0 && kindOf(locations[i-1].Mapping) != profile.Kernel
		for _, f := range r.frames(pprofUse{l, caller}) {
			n = r.b.Child(n, f)
			if r.b.Profile().Tree.Len() > r.nodes {
				return 0, fmt.Errorf("read pprof: call tree of more than %d nodes", r.nodes)
			}
		}
	}
	return n, nil
}

// describe fills what describes p as a whole.
func (r *pprofReader) describe(p *profile.Profile) {
	in := r.in
	p.Default = len(p.Types) - 1
	for k, t := range in.SampleType {
		if t.Type == in.DefaultSampleType {
			p.Default = (k+1)*len(p.Types)/len(in.SampleType) - 1
			break
		}
	}
	if in.PeriodType != nil {
		p.PeriodType = profile.ValueType{Type: in.PeriodType.Type, Unit: in.PeriodType.Unit}
		if p.PeriodType.Unit == "nanoseconds" && in.Period > 0 {
			p.Period = time.Duration(in.Period)
		}
	}
	if in.TimeNanos > 0 {
		p.Start = time.Unix(0, in.TimeNanos).UTC()
	}
	p.Duration = max(0, time.Duration(in.DurationNanos))
	p.Comments = slices.Clone(in.Comments)
	if len(p.Comments) > 0 && strings.HasPrefix(p.Comments[0], "fpstack") { // see pprofComments
		if _, command, ok := strings.Cut(p.Comments[0], ": "); ok {
			p.Command = []string{command}
		}
		p.Comments = p.Comments[1:]
	}
	if len(r.dropped) > 0 {
		keys := make([]string, 0, len(r.dropped))
		for key := range r.dropped {
			keys = append(keys, strconv.Quote(key))
		}
		slices.Sort(keys)
		p.Comments = append(p.Comments, "labels not kept: "+strings.Join(keys[:min(len(keys), 10)], ", "))
	}
}
