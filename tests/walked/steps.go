//go:build linux

package walked

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// Step is a frame of a stack as far as a runtime and the walk say what it is.
type Step struct {
	PC, CFA mem.Addr
	Name    string // "" for none of a runtime
	Marked  bool   // the runtime notes that something is not known of the name
}

// Steps walks the stack of th, of snap, by runtimes of their own that know of the process what memory has. What name
// says of a logical frame is its name. The error is why a runtime knows less than it could.
func Steps(set *module.Set, image module.Image, memory mem.Reader, snap *snapshot.Snapshot, th *snapshot.Thread,
	name func(f *profile.Frame) string) (unwind.Stack, []Step, error) {
	image.Memory = memory
	runtimes := vm.NewTable(vm.Kinds, nil).Process(image)
	runtimes.Scan(set)
	w := unwind.NewWalker(set, resolve.New(set, resolve.Options{NoLines: true}))
	w.Use(runtimes)
	s := w.Walk(th, snap.Reader(th, memory), unwind.Options{})
	var steps []Step
	for i := range s.Frames {
		f := &s.Frames[i]
		out := Step{PC: f.PC, CFA: f.CFA}
		if r, ok := f.Runtime.(resolve.SiteNamer); ok && f.Site != 0 {
			frames := r.Frames(f.Site)
			for k := range frames {
				out.Name += name(&frames[k]) + ";"
				out.Marked = out.Marked || frames[k].Note != ""
			}
		}
		steps = append(steps, out)
	}
	return s, steps, runtimes.Err()
}

// isLess says that a name which is marked is what is left of another: the same, or none.
func isLess(name, whole string) bool { return name == "" || name == whole }

// Less says what of a stack is neither as in the whole one nor missing with a mark, "" for nothing. Names that are
// marked are compared by what lesser leaves of them, "" for what is no name.
func Less(s *unwind.Stack, got, whole []Step, problem error, lesser func(name string) string) string {
	marked := problem != nil || s.Stop != unwind.Root
	at := 0
	for i := range got {
		f := &s.Frames[i]
		marked = marked || f.Note != "" || f.Gap
		n := slices.IndexFunc(whole[at:], func(w Step) bool { return w.PC == got[i].PC && w.CFA == got[i].CFA })
		switch {
		case n < 0 && !marked:
			return fmt.Sprintf("frame %d, %#x, is another's", i, uint64(f.PC))
		case n < 0:
			continue
		case n > 0 && !marked:
			return fmt.Sprintf("frames before %d are missing without a mark", i)
		}
		at += n + 1
		switch want := whole[at-1].Name; {
		case got[i].Name == "" && want != "" && f.Note == "" && problem == nil:
			return fmt.Sprintf("frame %d has no name, and does not say why", i)
		case got[i].Name != "" && got[i].Name != want && !f.Unsure &&
			(problem == nil && f.Note == "" && !got[i].Marked || !isLess(lesser(got[i].Name), lesser(want))):
			return fmt.Sprintf("frame %d is %s, want %s", i, got[i].Name, want)
		}
	}
	if at < len(whole) && !marked {
		return "its end is missing without a mark"
	}
	return ""
}

// Show is a stack for messages; s may be nil.
func Show(s *unwind.Stack, steps []Step, problem error) string {
	var b strings.Builder
	for i, p := range steps {
		fmt.Fprintf(&b, "  %2d %#x %#x %s", i, uint64(p.PC), uint64(p.CFA), p.Name)
		if s != nil {
			fmt.Fprintf(&b, " {%v %s}", s.Frames[i].Origin, s.Frames[i].Note)
		}
		b.WriteByte('\n')
	}
	if s != nil {
		fmt.Fprintf(&b, "  %v %v; %v", s.Stop, s.Err, problem)
	}
	return b.String()
}
