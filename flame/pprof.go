package flame

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// PprofOptions say what is in a profile.proto besides the profile.
type PprofOptions struct {
	Version string // of fpstack, "" if unknown: part of the first comment
	DocURL  string // an absolute URL; "" is that of docs/dev/formats.md
	NoIDs   bool   // leave out thread and process ids: stores make a series of each

	Warn func(string) // called with what was joined to keep the file small; may be nil
}

// docURL is shown by pprof's pages.
const docURL = "https://github.com/fpstack/fpstack/blob/main/docs/dev/formats.md"

// Names of sample labels. A store may throw away numbers and refuse other characters than these.
const (
	labelThread    = "thread"
	labelThreadID  = "thread_id"
	labelProcess   = "process"
	labelProcessID = "process_id"
	labelBase      = "pprof::base" // on the older side of a difference
)

const (
	maxPprofComments = 5
	maxPprofFrames   = 1 << 28 // over all samples: a Location takes 8 bytes there
	maxPprofLines    = 1 << 26 // over all Locations: 32 bytes each
)

var (
	errPprofSize  = errors.New("write pprof: stacks have more than 268,435,456 frames in all")
	errPprofLines = errors.New("write pprof: places in the code have more than 67,108,864 inlined functions in all")
)

// WritePprof writes p as profile.proto, compressed by gzip. A difference ([profile.Profile.IsDiff])
// is written as [WritePprofDiff] does. Runs are left out: the format has no time of samples. Where all samples together
// had more than 2^28 frames the smallest stacks are joined as "(smaller)" behind what they have in common with larger
// ones, which opt.Warn says.
//
// Precondition: p passes [profile.Profile.CheckValid]. It fails if w does.
func WritePprof(w io.Writer, p *profile.Profile, opt PprofOptions) error {
	if d, err := profile.Split(p); err == nil {
		return WritePprofDiff(w, d, opt)
	}
	b := newPprofBuilder(shorten(p, maxPprofFrames, opt.Warn), opt)
	return b.write(w, b.samples())
}

// Pprof returns p in the form of package pprof, for other encodings of the same. Samples of one stack whose labels are
// equal are one: with opt.NoIDs those of threads of the same name.
//
// Precondition: p passes [profile.Profile.CheckValid], and is no difference.
func Pprof(p *profile.Profile, opt PprofOptions) (*pprof.Profile, error) {
	b := newPprofBuilder(p, opt)
	type key struct {
		stack  profile.NodeID
		labels string
	}
	same := map[key]*pprof.Sample{}
	words := map[pprofWho]string{} // labels in one string
	for s := range b.samples() {
		if s.empty() {
			continue
		}
		who := pprofWho{s.Task, s.older}
		at := key{s.Stack, words[who]}
		if at.labels == "" {
			at.labels = fmt.Sprintf("%q", b.labelsOf(who)) // maps are printed in the order of their keys
			words[who] = at.labels
		}
		out := same[at]
		if out == nil {
			ids := b.appendStack(nil, s.Stack)
			if b.frames += len(ids); b.frames > maxPprofFrames {
				return nil, errPprofSize
			}
			if b.lines < 0 {
				return nil, errPprofLines
			}
			out = &pprof.Sample{Value: make([]int64, len(b.column)), Label: b.labelsOf(who)}
			for _, id := range ids {
				out.Location = append(out.Location, b.out.Location[id-1])
			}
			same[at] = out
			b.out.Sample = append(b.out.Sample, out)
		}
		for i, k := range b.column {
			out.Value[i] += s.values[k]
		}
	}
	b.claim()
	return b.out, b.out.CheckValid()
}

// samples gives those of a profile that is no difference.
func (b *pprofBuilder) samples() iter.Seq[pprofSample] {
	return func(yield func(pprofSample) bool) {
		for i, s := range b.p.Samples {
			if !yield(pprofSample{s, b.p.Value(i), false}) {
				return
			}
		}
	}
}

// WritePprofDiff writes both sides of d as profile.proto, compressed by gzip: the older one's
// samples have values below 0 and the label pprof::base, by which pprof computes shares.
//
// Precondition: d.New passes [profile.Profile.CheckValid]. It fails if w does.
func WritePprofDiff(w io.Writer, d *profile.Diff, opt PprofOptions) error {
	const sides = 2 // each sample is written for both
	joined := d.Join()
	if short := shorten(joined, maxPprofFrames/sides, opt.Warn); short != joined {
		var err error
		if d, err = profile.Split(short); err != nil {
			return err
		}
	}
	return newPprofBuilder(d.New, opt).write(w, func(yield func(pprofSample) bool) {
		for i, s := range d.New.Samples {
			older := slices.Clone(d.OldValue(i))
			for k := range older {
				older[k] = -older[k]
			}
			if !yield(pprofSample{s, d.New.Value(i), false}) || !yield(pprofSample{s, older, true}) {
				return
			}
		}
	})
}

// pprofBuilder fills a pprof.Profile from p, all of it but the samples: there may be a million of
// those, with thirty locations each, and they are written one by one.
type pprofBuilder struct {
	p      *profile.Profile
	out    *pprof.Profile
	column []int // by type of out: index in p.Types
	labels []map[string][]string

	cleaned   *text.Cleaner
	functions map[pprof.Function]*pprof.Function
	kinds     map[profile.Kind]*pprof.Mapping // of frames without a module

	// chains holds the logical frames of one physical frame, the function first and what was
	// inlined into it below; chain gives each node of p.Tree its own.
	chains    profile.Tree
	chain     []profile.NodeID
	locations []*pprof.Location // by pprofPlace.index
	frames    int
	lines     int // that Locations may still have
}

// pprofPlace distinguishes Locations: a PC and the call before it are two.
type pprofPlace struct {
	chain  profile.NodeID
	caller bool
}

func (at pprofPlace) index() int {
	if at.caller {
		return 2*int(at.chain) + 1
	}
	return 2 * int(at.chain)
}

func newPprofBuilder(p *profile.Profile, opt PprofOptions) *pprofBuilder {
	b := &pprofBuilder{p: p, functions: map[pprof.Function]*pprof.Function{}, kinds: map[profile.Kind]*pprof.Mapping{},
		chain: make([]profile.NodeID, p.Tree.Len()), cleaned: text.NewCleaner('?'), lines: maxPprofLines}
	b.out = &pprof.Profile{
		PeriodType:        &pprof.ValueType{Type: clean(p.PeriodType.Type), Unit: clean(p.PeriodType.Unit)},
		Period:            int64(p.Period),
		DurationNanos:     int64(p.Duration),
		DefaultSampleType: clean(p.Types[p.Default].Type),
		Comments:          pprofComments(p, opt.Version),
		DocURL:            opt.DocURL,
	}
	if !p.Start.IsZero() {
		b.out.TimeNanos = p.Start.UnixNano()
	}
	if opt.DocURL == "" {
		b.out.DocURL = docURL
	}
	b.addTypes()
	for i := range p.Modules {
		m := &p.Modules[i]
		b.mapping(&pprof.Mapping{Start: m.Start, Limit: m.End, Offset: m.Offset, File: clean(m.Path),
			BuildID: clean(m.BuildID)})
	}
	for _, t := range p.Tasks {
		b.labels = append(b.labels, b.taskLabels(t, opt.NoIDs))
	}
	for n := profile.NodeID(1); int(n) < len(b.chain); n++ {
		up := profile.NodeID(0)
		if f := p.Tree.Frame(n); p.Frames[f].Inlined {
			up = b.chain[p.Tree.Parent(n)]
		}
		b.chain[n] = b.chains.Child(up, p.Tree.Frame(n))
	}
	b.locations = make([]*pprof.Location, 2*b.chains.Len())
	return b
}

// addTypes puts the type to be shown first last, because readers that do not know
// default_sample_type take that; a count stays in front.
func (b *pprofBuilder) addTypes() {
	for k := range b.p.Types {
		b.column = append(b.column, k)
	}
	if k := b.p.Default; b.p.Types[k] != profile.SamplesCount {
		b.column = append(slices.Delete(b.column, k, k+1), k)
	}
	for _, k := range b.column {
		b.out.SampleType = append(b.out.SampleType,
			&pprof.ValueType{Type: clean(b.p.Types[k].Type), Unit: clean(b.p.Types[k].Unit)})
	}
}

// pprofComments are shown above every table of pprof: a few short lines.
func pprofComments(p *profile.Profile, version string) []string {
	first := strings.TrimSpace("fpstack " + version)
	if len(p.Command) > 0 {
		first += ": " + strings.Join(p.Command, " ")
	}
	comments := []string{clean(first)}
	for _, c := range p.Comments {
		comments = append(comments, clean(c))
	}
	if more := len(comments) - maxPprofComments; more > 0 {
		comments = append(comments[:maxPprofComments-1], fmt.Sprintf("and %d more remarks", more+1))
	}
	return comments
}

func (b *pprofBuilder) taskLabels(t profile.Task, noIDs bool) map[string][]string {
	labels := map[string][]string{}
	for key, value := range map[string]string{labelThread: t.Thread, labelProcess: t.Process} {
		if value != "" {
			labels[key] = []string{b.cleaned.Clean(value)}
		}
	}
	for key, id := range map[string]int{labelThreadID: t.TID, labelProcessID: t.PID} {
		if id != 0 && !noIDs {
			labels[key] = []string{strconv.Itoa(id)}
		}
	}
	return labels
}

// mapping adds m. What it says of its locations is set when they are known.
func (b *pprofBuilder) mapping(m *pprof.Mapping) *pprof.Mapping {
	m.ID = uint64(len(b.out.Mapping) + 1)
	b.out.Mapping = append(b.out.Mapping, m)
	return m
}

// appendStack appends the ids of the locations of a stack, innermost first.
func (b *pprofBuilder) appendStack(ids []uint64, n profile.NodeID) []uint64 {
	caller := false
	for n != 0 {
		kind := b.p.Frames[b.p.Tree.Frame(b.physical(n))].Kind
		ids = append(ids, b.location(pprofPlace{b.chain[n], caller && kind != profile.Signal}).ID)
		// What a signal interrupted made no call; nor does one into the kernel: PC is behind
		// the instruction, as it is in a leaf.
		caller = kind != profile.Signal && kind != profile.Kernel
		n = b.p.Tree.Parent(b.physical(n))
	}
	return ids
}

// physical returns the node of the function that n's frame was inlined into, n itself if it was not.
func (b *pprofBuilder) physical(n profile.NodeID) profile.NodeID {
	for b.p.Frames[b.p.Tree.Frame(n)].Inlined && b.p.Tree.Parent(n) != 0 {
		n = b.p.Tree.Parent(n)
	}
	return n
}
