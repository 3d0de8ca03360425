package v8

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/v8/heap"
)

// tier is what executes a function.
type tier string

// The tiers, as a person sees them.
const (
	interpreterTier tier = "interpreter"
	baselineTier    tier = "baseline"
	maglevTier      tier = "maglev"
	turbofanTier    tier = "turbofan"
	builtinTier     tier = "builtin"
	made            tier = "compiled" // by which compiler is not known
)

// Bounds of what is remembered of one V8.
const (
	maxSites     = 1 << 18
	maxFunctions = 1 << 16
	maxScripts   = 1 << 12
	maxPlaces    = 1 << 16
)

var errTooMany = errors.New("too many places were met")

// sites are the Sites of one V8, with their names: what they are is found out when they are first met, because the heap
// moves, and the process may have ended when they are asked for.
type sites struct {
	all       [][]frame // by Site; 0 is none
	byContent map[string]unwind.Site
	stubs     map[string]unwind.Site

	functions  map[heap.Shared]*function
	labels     map[declaration]*label
	renames    int // names that have changed since they were given
	unread     int // lines that were wanted and could not be read: such names are not remembered
	scripts    map[heap.Script]*script
	byBytecode map[bytecodeKey]unwind.Site
	byCode     map[codeKey]codeSite
}

// frame is a logical frame, whose name is that of label unless it is nil.
type frame struct {
	profile.Frame
	label *label
}

// bytecodeKey is a place in the bytecode of a function.
type bytecodeKey struct {
	function *function
	offset   int
	tier     tier
}

// codeKey is a place in code.
type codeKey struct {
	code        *code
	pc          mem.Addr
	interrupted bool
}

// codeSite is what a place in code is called, and what is not sure of it.
type codeSite struct {
	site unwind.Site
	note string
}

func (s *sites) reset() {
	*s = sites{all: make([][]frame, 1), byContent: map[string]unwind.Site{}, stubs: map[string]unwind.Site{},
		functions: map[heap.Shared]*function{}, labels: map[declaration]*label{}, scripts: map[heap.Script]*script{},
		byBytecode: map[bytecodeKey]unwind.Site{}, byCode: map[codeKey]codeSite{}}
}

func (s *sites) frames(n unwind.Site) []profile.Frame {
	if int64(n) >= int64(len(s.all)) || n == 0 {
		return nil
	}
	out := make([]profile.Frame, len(s.all[n]))
	for i, f := range s.all[n] {
		out[i] = f.Frame
		if f.label != nil {
			out[i].Func = f.label.shown()
		}
		if f.Async {
			out[i].Func = profile.AsyncPrefix + out[i].Func
		}
	}
	return out
}

// of returns the Site that stands for frames, innermost first.
func (s *sites) of(frames []frame) (unwind.Site, error) {
	var key strings.Builder
	for i := range frames {
		f := &frames[i]
		fmt.Fprintf(&key, "%p\x00%s\x00%s\x00%d:%d\x00%s\x00%t\x00%t\x00%s\x00%x\n", f.label, f.Func, f.File, f.Line,
			f.Column, f.Tier, f.Stub, f.Async, f.Note, f.Offset)
	}
	if n, ok := s.byContent[key.String()]; ok {
		return n, nil
	}
	if len(s.all) >= maxSites {
		return 0, errTooMany
	}
	n := unwind.Site(len(s.all))
	s.all, s.byContent[key.String()] = append(s.all, frames), n
	return n, nil
}

func (s *sites) keep(f *function) {
	if len(s.functions) >= maxFunctions {
		clear(s.functions)
	}
	s.functions[f.Shared] = f
}

func (s *sites) keepBytecode(k bytecodeKey, n unwind.Site) {
	if len(s.byBytecode) >= maxPlaces {
		clear(s.byBytecode)
	}
	s.byBytecode[k] = n
}

func (s *sites) keepCode(k codeKey, n codeSite) {
	if len(s.byCode) >= maxPlaces {
		clear(s.byCode)
	}
	s.byCode[k] = n
}

// stub is the Site of code of V8 that stands between functions: it is shown to those alone who ask for it.
func (r *Runtime) stub(name string) (unwind.Site, error) {
	if n, ok := r.sites.stubs[name]; ok {
		return n, nil
	}
	n, err := r.sites.of([]frame{{Frame: profile.Frame{Func: name, Kind: profile.JavaScript, Stub: true}}})
	if err == nil && len(r.sites.stubs) < maxFunctions {
		r.sites.stubs[name] = n
	}
	return n, err
}

// apart is the Site of code that is worth a frame and is no function.
func (r *Runtime) apart(name string) (unwind.Site, error) {
	return r.sites.of([]frame{{Frame: profile.Frame{Func: name, Kind: profile.JavaScript, Tier: string(made)}}})
}

// logical is a function and where in its script it is.
type logical struct {
	*function
	offset int
}

// frames are the frames of functions that share one of the stack, innermost first.
func (r *Runtime) frames(calls []logical, t tier, m mem.Reader) []frame {
	out := make([]frame, len(calls))
	for i, c := range calls {
		out[i] = frame{profile.Frame{Kind: profile.JavaScript, Tier: string(t), Inlined: i < len(calls)-1}, c.label}
		if c.script != nil {
			out[i].File, out[i].Line, out[i].Column = r.where(c.script, c.offset, m)
		}
	}
	return out
}

// at is the Site of f at an offset of its script.
func (r *Runtime) at(f *function, offset int, t tier, m mem.Reader) (unwind.Site, error) {
	return r.sites.of(r.frames([]logical{{f, offset}}, t, m))
}

// atStart is the Site of f where it is not known how far it is: the line that it begins in.
func (r *Runtime) atStart(f *function, t tier, m mem.Reader) (unwind.Site, error) {
	return r.at(f, f.start, t, m)
}

// builtinFunction is the Site of a function of V8 itself, which has no script.
func (r *Runtime) builtinFunction(a *activation, f *function, m mem.Reader) (unwind.Site, error) {
	if a.builtin != nil && (f.name == "" && f.script == nil || f.script != nil && f.script.isWasm()) {
		return r.stub(a.builtin.name)
	}
	return r.atStart(f, builtinTier, m)
}
