package flame

import (
	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/profile"
)

// location returns the Location of a physical frame: its logical frames as lines, what was inlined
// deepest first. Where there are too many of them b.lines falls below 0.
func (b *pprofBuilder) location(at pprofPlace) *pprof.Location {
	if l := b.locations[at.index()]; l != nil {
		return l
	}
	l := &pprof.Location{ID: uint64(len(b.out.Location) + 1)}
	outer := at.chain
	for n := at.chain; n != 0 && b.lines >= 0; n = b.chains.Parent(n) {
		b.lines--
		f := &b.p.Frames[b.chains.Frame(n)]
		l.Line = append(l.Line, pprof.Line{Function: b.function(b.chains.Frame(n)), Line: int64(f.Line)})
		outer = n
	}
	f := &b.p.Frames[b.chains.Frame(outer)]
	l.Mapping = b.mappingOf(f)
	l.Address = b.address(f)
	if at.caller && l.Address != 0 {
		l.Address-- // in the call instruction: the return address may be of another line, or function
	}
	b.out.Location = append(b.out.Location, l)
	b.locations[at.index()] = l
	return l
}

// address returns where f is in its mapping. The mapping is of one process; a frame of another that
// has the module elsewhere is moved there.
func (b *pprofBuilder) address(f *profile.Frame) uint64 {
	if f.Module < 0 {
		return f.Addr
	}
	m := &b.p.Modules[f.Module]
	inside := m.End == 0 || m.Start <= f.Addr && f.Addr <= m.End
	if f.Addr != 0 && inside || f.ModuleAddr == 0 {
		return f.Addr
	}
	return m.Base + f.ModuleAddr
}

// kindFile is the file of a mapping that is no module: a name in brackets is left alone by pprof. It is "" for kinds
// that are told by their module.
func kindFile(k profile.Kind) string {
	if k == profile.Kernel || k == profile.VDSO || k.Made() {
		return "[" + k.String() + "]"
	}
	return ""
}

func (b *pprofBuilder) mappingOf(f *profile.Frame) *pprof.Mapping {
	if f.Module >= 0 {
		return b.out.Mapping[f.Module]
	}
	file := kindFile(f.Kind)
	if file == "" || f.Inlined {
		return nil
	}
	if b.kinds[f.Kind] == nil {
		if len(b.out.Mapping) == 0 { // the first one is taken for the main program
			b.mapping(&pprof.Mapping{})
		}
		b.kinds[f.Kind] = b.mapping(&pprof.Mapping{File: file})
	}
	return b.kinds[f.Kind]
}

// function returns the Function of frame f. A frame without a name gets one made of module and
// address: without, pprof shows all of a module as one.
func (b *pprofBuilder) function(id profile.FrameID) *pprof.Function {
	f := &b.p.Frames[id]
	key := pprof.Function{Name: b.cleaned.Clean(b.p.Name(id)), SystemName: b.cleaned.Clean(f.Linkage),
		Filename: b.cleaned.Clean(f.File)}
	if key.SystemName == key.Name { // pprof would cut <…> and (…) from the name
		key.SystemName = ""
	}
	fn, ok := b.functions[key]
	if !ok {
		fn = &pprof.Function{ID: uint64(len(b.out.Function) + 1), Name: key.Name, SystemName: key.SystemName,
			Filename: key.Filename}
		b.functions[key] = fn
		b.out.Function = append(b.out.Function, fn)
	}
	return fn
}

// claim sets what mappings say about their locations: true only if it holds for each, since pprof
// looks up nothing in a mapping where one of the first three is set.
func (b *pprofBuilder) claim() {
	inlined := map[*pprof.Mapping]bool{}
	for _, l := range b.out.Location {
		if m := l.Mapping; m != nil {
			m.HasFunctions, m.HasFilenames, m.HasLineNumbers = true, true, true
			inlined[m] = inlined[m] || len(l.Line) > 1
		}
	}
	for i, l := range b.locations {
		if l == nil || l.Mapping == nil {
			continue
		}
		m := l.Mapping
		for n := profile.NodeID(i / 2); n != 0; n = b.chains.Parent(n) {
			f := &b.p.Frames[b.chains.Frame(n)]
			m.HasFunctions = m.HasFunctions && f.Func != ""
			m.HasFilenames = m.HasFilenames && f.File != ""
			m.HasLineNumbers = m.HasLineNumbers && f.Line > 0
		}
	}
	for m, some := range inlined {
		m.HasInlineFrames = some && m.HasLineNumbers
	}
}
