package page

import (
	"cmp"
	"hash/fnv"
	"path"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// kind is the sort of a frame as its colour shows it. The script has the same numbers.
type kind uint8

const (
	application kind = iota
	library
	runtime // code of a language's runtime, and code that one made
	kernel
	inlined
	unnamed
	thread  // not a function: a process or a thread
	smaller // not a function: frames left out
	kinds
)

// The first frames of every graph.
const (
	rootFrame = iota
	smallerFrame
	smallerWaitingFrame // those that end in the kernel, so that waiting can be told apart
	firstFrame
)

// shades is how many lightnesses a kind's colour has.
const shades = 6

// frame is one function as the graph shows it: all its places in the code are one.
type frame struct {
	name   string
	module string // path
	file   string
	kind   kind
}

// waits tells frames in which a thread waits, where they are innermost. The script does it in the
// same way.
func (f *frame) waits() bool { return f.kind == kernel && f.module == "" }

// place adds to a frame what does not tell it from others.
type place struct {
	frame
	low, high int // lines seen, 0 if unknown
}

// table collects frames, each once.
type table struct {
	places  []place
	ids     map[frame]uint32
	cleaned cleaner
}

func newTable() *table {
	t := &table{ids: map[frame]uint32{}, cleaned: cleaner{}}
	t.add(frame{name: "all", kind: thread}, 0)
	t.add(frame{name: "(smaller)", kind: smaller}, 0)
	t.add(frame{name: "(smaller, waiting)", kind: smaller}, 0)
	return t
}

func (t *table) add(f frame, line int) uint32 {
	id, ok := t.ids[f]
	if !ok {
		id = uint32(len(t.places))
		t.ids[f] = id
		t.places = append(t.places, place{f, line, line})
		return id
	}
	if at := &t.places[id]; line > 0 {
		at.high = max(at.high, line)
		if at.low == 0 || line < at.low {
			at.low = line
		}
	}
	return id
}

// addAll returns the id in t of each of p's frames.
func (t *table) addAll(p *profile.Profile) []uint32 {
	ids := make([]uint32, len(p.Frames))
	modules := make([]string, len(p.Modules))
	for i := range p.Modules {
		modules[i] = clean(p.Modules[i].Path)
	}
	for i := range p.Frames {
		f := &p.Frames[i]
		shown := frame{name: t.cleaned.clean(f.Func), file: t.cleaned.clean(f.File)}
		if f.Module >= 0 {
			shown.module = modules[f.Module]
		}
		shown.kind = kindOf(f, shown.module)
		if shown.kind == unnamed && shown.name == "" {
			shown.name = "[unknown]"
			if shown.module != "" {
				shown.name = "[" + path.Base(shown.module) + "]"
			}
		}
		ids[i] = t.add(shown, max(0, f.Line))
	}
	return ids
}

// runtimes begin the file names of what runs a language's programs.
var runtimes = []string{"libjvm.", "libpython", "libcoreclr.", "libclrjit.", "libnode.", "libruby", "libperl", "ld-linux", "ld-musl"}

func kindOf(f *profile.Frame, module string) kind {
	base := path.Base(module)
	switch {
	case f.Kind == profile.Kernel:
		return kernel
	case f.Func == "" || f.Kind == profile.Unknown:
		return unnamed
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
// theirs.
func (t *table) sorted() ([]place, []uint32) {
	order := make([]uint32, len(t.places))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order[firstFrame:], func(a, b uint32) int {
		f, g := &t.places[a].frame, &t.places[b].frame
		return cmp.Or(strings.Compare(f.name, g.name), strings.Compare(f.module, g.module),
			strings.Compare(f.file, g.file), cmp.Compare(f.kind, g.kind))
	})
	places, ids := make([]place, len(order)), make([]uint32, len(order))
	for to, from := range order {
		places[to], ids[from] = t.places[from], uint32(to)
	}
	return places, ids
}

// shade picks the lightness of a name.
func shade(name string) int {
	h := fnv.New32a()
	h.Write([]byte(name))
	sum := h.Sum32()
	return int((sum ^ sum>>15) % shades)
}
