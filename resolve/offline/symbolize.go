// Package offline names the frames of a dump that was taken elsewhere: a dump and files in, a
// dump with names out.
//
// The caller provides the dump, as report.Reader reads it, and a [Finder] that leads from a
// module of the dump to files of this machine; [Files] is one. Each frame says where it lies in
// its module, so nothing of the process or its machine is needed.
//
// It guarantees that a frame never knows less than before: which of two answers stays is described at
// [Namer.Dump]. Address, module, origin and note of a frame are not touched. The dump may be
// hostile: work is bounded by its size and that of the files.
//
// It opens no files but through what it is given, asks no network and stops nothing.
package offline

import (
	"errors"
	"slices"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol"
)

// maxFrames bounds the logical frames of one dump. Beyond it inlined functions are left out.
const maxFrames = 1 << 22

var errManyFrames = errors.New("inlined functions are left out: more than 4 million frames")

// Found is what a [Finder] found for a module.
type Found struct {
	Objects []*module.Module // files that describe it, those asked first in front; may be empty
	// Unchecked says that nothing but the name says that they do.
	Unchecked bool
	// Err names files that were refused or could not be read.
	Err error
}

// Finder leads from a module of a dump to files that describe it.
type Finder interface {
	Find(m *profile.Module) Found
}

// Namer names dumps. What it learned from the files of one serves the next. It is for one goroutine
// at a time.
type Namer struct {
	finder Finder
	files  *symbol.Files
	opt    symbol.Options
	known  map[string]*sources
}

// New returns a Namer. Debug files of the objects that finder finds are looked for in files, nil
// for none.
func New(finder Finder, files *symbol.Files, opt symbol.Options) *Namer {
	return &Namer{finder: finder, files: files, opt: opt, known: map[string]*sources{}}
}

// Outcome says what became of one module of a dump.
type Outcome struct {
	Module    profile.Module // as it is now
	Frames    int            // physical frames that lie in it
	Unnamed   int            // those of them without a name; a signal trampoline needs none
	Files     []string       // that were asked
	Unchecked bool           // whether the files belong to the module is not known
	Err       error          // refused or malformed files; reported once, with the first dump that they are wanted for
}

// Dump returns d with the names, inlined functions, files and lines that the files know, and what
// became of each of its modules, in their order, those without frames left out. d is not changed.
//
// A frame is looked up at its address in the module if it was interrupted or is a signal
// trampoline, else one byte before, inside of the call. The answer of a file takes the place of
// what the dump knows if it knows more:
//
//  1. a line, where the dump has none
//  2. else a name, where the dump has none, or where only the dump's lacked .symtab and Go's table:
//     exports alone leave most functions out
//  3. else more inlined functions
//
// What the options leave out is left out of what the dump knows, too.
func (n *Namer) Dump(d *profile.Dump) (*profile.Dump, []Outcome) {
	out := *d
	out.Modules = slices.Clone(d.Modules)
	out.Threads, out.FiberStacks = slices.Clone(d.Threads), slices.Clone(d.FiberStacks)
	wanted := collect(d)
	answers := make([]map[place]answer, len(d.Modules))
	outcomes := make([]Outcome, len(d.Modules))
	for i := range d.Modules {
		if len(wanted[i]) > 0 {
			answers[i] = n.ask(&out.Modules[i], wanted[i], &outcomes[i])
		}
	}
	w := &writer{answers: answers, outcomes: outcomes, modules: d.Modules, opt: n.opt}
	for list := range out.FrameLists() {
		*list = w.stack(*list)
	}
	for i := range outcomes {
		outcomes[i].Module = out.Modules[i]
	}
	return &out, slices.DeleteFunc(outcomes, func(o Outcome) bool { return o.Frames == 0 })
}

// place is an address in a module and how it is looked up.
type place symbol.Query

func placeOf(f *profile.Frame) place {
	p := place{Lookup: module.Vaddr(f.ModuleAddr), PC: module.Vaddr(f.ModuleAddr)}
	if !f.Interrupted && f.Kind != profile.Signal && p.PC != 0 {
		p.Lookup--
	}
	return p
}

// lies reports whether f is a physical frame in a module of d.
func lies(f *profile.Frame, modules int) bool {
	return !f.Inlined && f.Module >= 0 && f.Module < modules && f.Kind != profile.Kernel && !f.Kind.Made()
}

// collect lists by module the places that frames of d are at, each once.
func collect(d *profile.Dump) [][]place {
	out := make([][]place, len(d.Modules))
	seen := make([]map[place]bool, len(d.Modules))
	for list := range d.FrameLists() {
		frames := *list
		for k := range frames {
			f := &frames[k]
			if !lies(f, len(d.Modules)) || seen[f.Module][placeOf(f)] {
				continue
			}
			if seen[f.Module] == nil {
				seen[f.Module] = map[place]bool{}
			}
			seen[f.Module][placeOf(f)] = true
			out[f.Module] = append(out[f.Module], placeOf(f))
		}
	}
	return out
}
