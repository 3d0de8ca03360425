package tokio

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol"
)

// place is where a step was in the program's own code, and what of libraries it was in there.
type place struct {
	step  int             // of the trace
	own   []profile.Frame // outermost first
	inner []profile.Frame // of libraries, inside the last of own, outermost first
	// within says that a library lies between the task and the first of own: the future of the task is the library's.
	within bool
}

// waiting is a chain of async functions, innermost first, with what the innermost waits for.
type waiting struct {
	frames []profile.Frame
	within bool // as that of its place
	awaits awaited
	of     string // the type of what a lock guards, "" if it is not known
	timed  bool   // a timer lets it go on, too
	at     []int  // the steps of the trace that are about what is awaited
}

// book names places of the module.
type book struct {
	r     *Runtime
	named map[module.Vaddr][]profile.Frame // innermost first
	err   error
}

// name names all places of traces at once: the tables of a module are read once for all of them.
func (r *Runtime) name(traces []trace) *book {
	b := &book{r: r, named: map[module.Vaddr][]profile.Frame{}}
	var queries []symbol.Query
	add := func(a mem.Addr) {
		v := r.m.Vaddr(a)
		if _, ok := b.named[v]; ok || !r.isCode(a) {
			return
		}
		b.named[v] = nil
		queries = append(queries, symbol.Query{Lookup: v, PC: v})
	}
	for i := range traces {
		for _, c := range traces[i].calls {
			add(c.ret - 1)
		}
		for number, s := range traces[i].steps {
			if !traces[i].drops || slices.Contains(traces[i].gives, number) {
				add(s.pc)
			}
		}
	}
	found, err := r.lines.Resolve(queries, symbol.Options{})
	b.err = err
	for i, q := range queries {
		b.named[q.Lookup] = found[i]
	}
	return b
}

func (r *Runtime) isCode(a mem.Addr) bool {
	_, ok := r.m.Code(r.m.Vaddr(a))
	return ok
}

// frames are the functions at a, outermost first.
func (b *book) frames(a mem.Addr) []profile.Frame {
	out := slices.Clone(b.named[b.r.m.Vaddr(a)])
	slices.Reverse(out)
	return out
}

// maxCallDepth bounds the calls inside of one another.
const maxCallDepth = 256

// place is where step number of t was.
func (b *book) place(t *trace, number int) place {
	s := t.steps[number]
	var rets []mem.Addr
	for c := s.call; c > 0 && len(rets) < maxCallDepth; c = t.calls[c-1].from {
		rets = append(rets, t.calls[c-1].ret)
	}
	p := place{step: number}
	add := func(frames []profile.Frame) {
		for _, f := range frames {
			if isLibrary(&f) {
				p.within = p.within || len(p.own) == 0 && isForeign(&f)
				p.inner = append(p.inner, f)
				continue
			}
			if n := len(p.own); n > 0 && isPartOf(&f, &p.own[n-1]) {
				continue
			}
			p.own, p.inner = append(p.own, f), p.inner[:0:0]
		}
	}
	for _, ret := range slices.Backward(rets) {
		add(b.frames(ret - 1))
	}
	add(b.frames(s.pc))
	return p
}

// isPartOf reports whether f is a closure that a macro has made at the place where it stands: as select! does.
func isPartOf(f, of *profile.Frame) bool {
	if f.File != of.File || f.Line != of.Line || f.Line == 0 {
		return false
	}
	rest, inside := strings.CutPrefix(f.Func, of.Func)
	return inside && rest != "" || strings.HasPrefix(f.Func, "{closure")
}

// libraries are the crates whose functions are not the program's own, where no file tells.
var libraries = []string{"tokio", "core", "std", "alloc", "mio", "futures", "futures_util", "futures_core",
	"futures_channel", "parking_lot", "hashbrown", "bytes", "tokio_util", "tokio_stream", "async_trait", "tracing",
	"hyper", "hyper_util", "tower", "h2", "compiler_builtins"}

// isLibrary reports whether f is of a library: of those that cargo has fetched, and of Rust itself.
func isLibrary(f *profile.Frame) bool {
	if f.File != "" {
		return strings.Contains(f.File, "/registry/src/") || strings.HasPrefix(f.File, "/rustc/") ||
			strings.Contains(f.File, "/rustlib/src/") || strings.Contains(f.File, "/git/checkouts/") ||
			strings.Contains(f.File, "/vendor/") || strings.HasPrefix(f.File, "library/")
	}
	crate, _, ok := strings.Cut(strings.TrimLeft(f.Func, "<&*("), "::")
	return !ok || slices.Contains(libraries, crate)
}

// isForeign reports whether f, of a library, is neither of tokio nor of Rust itself.
func isForeign(f *profile.Frame) bool {
	return strings.Contains(f.File, "/registry/src/") && !strings.Contains(f.File, "/tokio-") ||
		strings.Contains(f.File, "/git/checkouts/") || strings.Contains(f.File, "/vendor/")
}

// waits are the chains in which t waits, the one that was polled first in front. Of a task that was made to go on
// meanwhile only that is where it waited: what follows is what it would do next. In all others a function polls at one
// place alone, so that places are told apart by their lines, too: names of inlined functions may be the same.
func (b *book) waits(t *trace, ready bool) []waiting {
	var polled, all spots
	for number := range t.steps {
		if !b.spend(placeCost) {
			return nil
		}
		p := b.place(t, number)
		switch {
		case len(p.own) == 0:
		case slices.ContainsFunc(p.inner, polls):
			polled.at(&p).polls(&p)
		default:
			all.at(&p)
		}
	}
	if n := int64(max(len(polled.all), len(all.all))); !b.spend(n * n * pairCost) {
		return nil
	}
	if len(polled.all) == 0 {
		return notPolled(all.all)
	}
	var out []waiting
	for _, s := range polled.all {
		if goesOn(polled.all, s, true) {
			continue
		}
		if out = append(out, s.waiting(polled.all)); ready || len(out) == maxBranches {
			break
		}
	}
	return out
}

// placeCost and pairCost are what it takes to tell where a step was, and to compare it with another, in steps of the
// budget.
const (
	placeCost = 500
	pairCost  = 2
)

// spend takes from the budget what comes next, and reports whether it was left.
func (b *book) spend(n int64) bool {
	if b.r.budget.Spend(n) {
		return true
	}
	b.err = cmp.Or(b.err, b.r.budget.Refusal())
	return false
}

// maxBranches bounds the chains of one task.
const maxBranches = 64

// notPolled is the chain of a task that waits for what is inlined without a trace: the line is where it goes last.
func notPolled(all []*spot) []waiting {
	slices.SortStableFunc(all, func(a, b *spot) int { return cmp.Compare(a.last, b.last) })
	var out []waiting
	for _, s := range all {
		if !goesOn(all, s, false) && (len(out) == 0 || s.own[len(s.own)-1].Line != 0) {
			out = []waiting{{frames: inwards(s.own), within: s.within}}
		}
	}
	return out
}

// polls reports whether f is a function that polls a future, or the future of an async function.
func polls(f profile.Frame) bool {
	name, _, _ := strings.Cut(f.Func, "<")
	if strings.HasPrefix(f.Func, "<") {
		name = f.Func[strings.LastIndex(f.Func, ">")+1:]
	}
	name = name[strings.LastIndex(name, ":")+1:]
	return strings.HasPrefix(name, "poll") || strings.Contains(f.Func, "{async_") || name == "{{closure}}"
}

// begins reports whether b is in the function that a is in, or in one that it has called; with lines, at the same one.
func begins(b, a *spot, lines bool) bool {
	n := len(a.own)
	if len(b.own) < n {
		return false
	}
	for i := range n {
		x, y := &a.own[i], &b.own[i]
		if x.Func != y.Func || x.File != y.File || (lines || i < n-1) && x.Line != y.Line {
			return false
		}
	}
	return true
}

// goesOn reports whether one of all goes on where s ends.
func goesOn(all []*spot, s *spot, lines bool) bool {
	return slices.ContainsFunc(all, func(other *spot) bool {
		return len(other.own) > len(s.own) && begins(other, s, lines)
	})
}

// inwards are frames as they are shown, innermost first.
func inwards(outermost []profile.Frame) []profile.Frame {
	frames := slices.Clone(outermost)
	slices.Reverse(frames)
	for k := range frames {
		frames[k] = shown(&frames[k])
	}
	return frames
}

// shown is what of f is shown: a place, which has no address.
func shown(f *profile.Frame) profile.Frame {
	name := f.Func
	if plain := plainName(name); plain != "" {
		name = plain
	}
	return profile.Frame{Func: name, Linkage: f.Linkage, File: f.File, Line: f.Line}
}

// modulePath is the module of tokio that f is in, as "sync/mutex", "" if it is of something else.
func modulePath(f *profile.Frame) string {
	if f.File != "" {
		_, rest, ok := strings.Cut(f.File, "/tokio-")
		_, rest, ok2 := strings.Cut(rest, "/src/")
		if !ok || !ok2 {
			return ""
		}
		return strings.TrimSuffix(rest, path.Ext(rest))
	}
	_, rest, ok := strings.Cut(f.Func, "tokio::")
	if !ok {
		return ""
	}
	return strings.ReplaceAll(rest, "::", "/")
}
