package v8

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
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

// Bounds of what is remembered of one V8, bytes, and about what one entry takes.
const (
	maxSites     = 128 << 20
	siteCost     = 512
	maxFunctions = 24 << 20
	functionCost = 256
	maxScripts   = 8 << 20
	maxLines     = 24 << 20
	maxPlaces    = 16 << 20
	placeCost    = 64
)

// book is what is known of the code of one V8, and its Sites with their names: what they are is found out when they are
// first met, because the heap moves, and the process may have ended when they are asked for.
type book struct {
	named *sites.Table[listed, listed]

	functions  sites.Recent[heap.Shared, *function]
	labels     sites.Recent[declaration, *label]
	renames    int // names that have changed since they were given
	unread     int // lines that were wanted and could not be read: such names are not remembered
	scripts    sites.Recent[heap.Script, *script]
	lines      sites.Recent[heap.Script, *heap.Lines]
	byBytecode sites.Recent[bytecodeKey, unwind.Site]
	byCode     sites.Recent[codeKey, unwind.Site]
}

// frame is a logical frame, whose name is that of label unless it is nil.
type frame struct {
	profile.Frame
	label *label
}

// listed is a frame and the Site of those outside of it that share a frame of the stack with it, 0 for none.
type listed struct {
	frame
	rest unwind.Site
}

// bytecodeKey is a place in the bytecode of a function.
type bytecodeKey struct {
	function *function
	offset   int
	tier     tier
}

// codeKey is a place in code, in a frame of function; nil where that has none.
type codeKey struct {
	code        *code
	function    *function
	pc          mem.Addr
	interrupted bool
	deoptimizes bool
}

func newBook(b *work.Budget) book {
	return book{named: sites.NewTable[listed, listed](b, maxSites),
		functions:  sites.NewRecent[heap.Shared, *function](b, maxFunctions),
		labels:     sites.NewRecent[declaration, *label](b, maxFunctions),
		scripts:    sites.NewRecent[heap.Script, *script](b, maxScripts),
		lines:      sites.NewRecent[heap.Script, *heap.Lines](b, maxLines),
		byBytecode: sites.NewRecent[bytecodeKey, unwind.Site](b, maxPlaces),
		byCode:     sites.NewRecent[codeKey, unwind.Site](b, maxPlaces)}
}

// list are the frames of a Site, innermost first; nil if they are not known, or one was forgotten.
func (s *book) list(n unwind.Site) []frame {
	var out []frame
	for n != 0 {
		l, ok := s.named.Get(n)
		if !ok {
			return nil
		}
		out, n = append(out, l.frame), l.rest // ends: rest was numbered before
	}
	return out
}

// has reports whether n is named still.
func (s *book) has(n unwind.Site) bool {
	for n != 0 {
		l, ok := s.named.Get(n)
		if !ok {
			return false
		}
		if n = l.rest; n == 0 {
			return true
		}
	}
	return false
}

func (s *book) frames(n unwind.Site) []profile.Frame {
	all := s.list(n)
	if all == nil {
		return nil
	}
	out := make([]profile.Frame, len(all))
	for i, f := range all {
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
func (s *book) of(frames []frame) (n unwind.Site, err error) {
	for i := len(frames) - 1; i >= 0; i-- {
		l := listed{frames[i], n}
		at, ok := s.named.Find(l)
		if !ok {
			if at = s.named.Add(l, l, siteCost+len(l.Func)+len(l.File)); at == 0 {
				return 0, s.named.Err()
			}
		}
		n = at
	}
	return n, nil
}

// stub is the Site of code of V8 that stands between functions: it is shown to those alone who ask for it.
func (r *Runtime) stub(name string) (unwind.Site, error) {
	return r.sites.of([]frame{{Frame: profile.Frame{Func: name, Kind: profile.JavaScript, Stub: true}}})
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
func (r *Runtime) frames(calls []logical, t tier, v *view.View) []frame {
	out := make([]frame, len(calls))
	for i, c := range calls {
		out[i] = frame{profile.Frame{Kind: profile.JavaScript, Tier: string(t), Inlined: i < len(calls)-1}, c.label}
		if c.script != nil {
			out[i].put(r.where(c.script, c.offset, v))
		}
	}
	return out
}

// at is the Site of f at an offset of its script; note says what is not sure of that.
func (r *Runtime) at(f *function, offset int, t tier, note string, v *view.View) (unwind.Site, error) {
	frames := r.frames([]logical{{f, offset}}, t, v)
	if note != "" {
		frames[0].Note = note
	}
	return r.sites.of(frames)
}

// atStart is the Site of f where it is just being entered, or has no text: the line that it begins in.
func (r *Runtime) atStart(f *function, t tier, v *view.View) (unwind.Site, error) {
	return r.at(f, f.start, t, "", v)
}

// noted is the Site of f where it is not known how far it is: note says why.
func (r *Runtime) noted(f *function, t tier, note string, v *view.View) (unwind.Site, error) {
	return r.at(f, f.start, t, note, v)
}

// builtinFunction is the Site of a function of V8 itself, which has no script.
func (r *Runtime) builtinFunction(a *activation, f *function, v *view.View) (unwind.Site, error) {
	if a.builtin != nil && (f.name == "" && f.script == nil || f.script != nil && f.script.isWasm()) {
		return r.stub(a.builtin.name)
	}
	return r.atStart(f, builtinTier, v)
}
