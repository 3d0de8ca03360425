package page

import (
	"cmp"
	"hash/fnv"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// kind is the sort of a frame as its colour shows it.
type kind uint8

const (
	application kind = iota
	library
	runtime // code of a language's runtime, and code that one made
	kernel
	inlined
	unnamed
	script  // a function of a language that a runtime of its own executes, as JavaScript
	wasm    // a function of WebAssembly
	thread  // from here on no function: a process or a thread
	smaller // frames left out
	kinds
)

// The first frames of every graph.
const (
	rootFrame = iota
	smallerFrame
	smallerWaitingFrame // those that end in the kernel, so that waiting can be kept apart
	firstFrame
)

// shades is how many lightnesses a kind's colour has.
const shades = 6

// frame says what the graph shows as one: a function (see profile.Function), or what is none, as a thread.
type frame struct {
	name    string
	waits   bool // a thread waits in it
	special bool // a process, a thread, frames left out
}

// place adds to a frame what does not identify it.
type place struct {
	frame
	kind           kind
	shade          int      // see shade
	modules, files []string // paths, as met, at most maxPlaces of each
	low, high      int      // lines seen in the first of files, 0 if unknown
}

// maxPlaces bounds the modules and files that are remembered of one function.
const maxPlaces = 8

// table collects frames, each once.
type table struct {
	places  []place
	ids     map[frame]profile.FrameID
	cleaned *text.Cleaner
}

func newTable() *table {
	t := &table{ids: map[frame]profile.FrameID{}, cleaned: text.NewCleaner(utf8.RuneError)}
	t.add(frame{name: "all", special: true}, thread)
	t.add(frame{name: "(smaller)", special: true}, smaller)
	t.add(frame{name: "(smaller, waiting)", special: true, waits: true}, smaller)
	return t
}

func (t *table) add(f frame, k kind) profile.FrameID {
	id, ok := t.ids[f]
	if !ok {
		id = profile.FrameID(len(t.places))
		t.ids[f] = id
		t.places = append(t.places, place{frame: f, kind: k, shade: shade(f.name)})
	}
	return id
}

// met adds to p where one of its frames lies. A function that was inlined in some places is shown as what it is in the
// others.
func (p *place) met(k kind, module, file string, line int) {
	if p.kind == inlined {
		p.kind = k
	}
	if module != "" && len(p.modules) < maxPlaces && !slices.Contains(p.modules, module) {
		p.modules = append(p.modules, module)
	}
	if file != "" && len(p.files) < maxPlaces && !slices.Contains(p.files, file) {
		p.files = append(p.files, file)
	}
	if line > 0 && len(p.files) > 0 && file == p.files[0] {
		p.high = max(p.high, line)
		if p.low == 0 || line < p.low {
			p.low = line
		}
	}
}

// addAll returns the id in t of each of p's frames.
func (t *table) addAll(p *profile.Profile) []profile.FrameID {
	ids := make([]profile.FrameID, len(p.Frames))
	if len(t.ids) == firstFrame { // most are functions of their own
		t.places = append(make([]place, 0, firstFrame+len(p.Frames)), t.places...)
	}
	modules := make([]string, len(p.Modules))
	for i := range p.Modules {
		modules[i] = clean(p.Modules[i].Path)
	}
	for i := range p.Frames {
		f, fn, module := &p.Frames[i], p.Function(profile.FrameID(i)), ""
		if f.Module >= 0 {
			module = modules[f.Module]
		}
		k := kindOf(f, module)
		ids[i] = t.add(frame{name: t.cleaned.Clean(fn.Name), waits: fn.Waits}, k)
		t.places[ids[i]].met(k, module, t.cleaned.Clean(f.File), f.Line)
	}
	return ids
}

// label is what a table calls f.
func (f *frame) label() string { return profile.Function{Name: f.name, Waits: f.waits}.String() }

// runtimes begin the file names of what runs a language's programs.
var runtimes = []string{"libjvm.", "libpython", "libcoreclr.", "libclrjit.", "libnode.", "libruby", "libperl",
	"ld-linux", "ld-musl"}

func kindOf(f *profile.Frame, module string) kind {
	base := path.Base(module)
	switch {
	case f.Kind == profile.Kernel:
		return kernel
	case f.Func == "" || f.Kind == profile.Unknown:
		return unnamed
	case f.Kind == profile.Wasm:
		return wasm
	case f.Kind.Language():
		return script
	case f.Kind == profile.JIT, strings.HasPrefix(f.Func, "runtime."), strings.HasPrefix(f.Func, "runtime/"),
		slices.ContainsFunc(runtimes, func(r string) bool { return strings.HasPrefix(base, r) }):
		return runtime
	case f.Inlined:
		return inlined
	case f.Kind == profile.VDSO, f.Kind == profile.Signal, strings.Contains(base, ".so"):
		return library
	}
	return application
}

// sorted orders the frames by name and returns the new id of each. The special ones keep
// theirs. Nothing can be added any more.
func (t *table) sorted() ([]place, []profile.FrameID) {
	t.ids = nil // there may be millions
	order := make([]profile.FrameID, len(t.places))
	for i := range order {
		order[i] = profile.FrameID(i)
	}
	slices.SortFunc(order[firstFrame:], func(a, b profile.FrameID) int {
		f, g := &t.places[a].frame, &t.places[b].frame
		return cmp.Or(strings.Compare(f.name, g.name), profile.FalseFirst(f.waits, g.waits),
			profile.FalseFirst(f.special, g.special))
	})
	ids := make([]profile.FrameID, len(order))
	for to, from := range order {
		ids[from] = profile.FrameID(to)
	}
	left := order
	copy(left, ids) // where what is at each place belongs
	for at := range t.places {
		for int(left[at]) != at {
			to := left[at]
			t.places[at], t.places[to] = t.places[to], t.places[at]
			left[at], left[to] = left[to], to
		}
	}
	return t.places, ids
}

// shade picks the lightness of a name.
func shade(name string) int {
	h := fnv.New32a()
	h.Write([]byte(name))
	sum := h.Sum32()
	return int((sum ^ sum>>15) % shades)
}
