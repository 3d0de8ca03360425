package tokio

import (
	"cmp"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol"
)

// function is one at a place in its code.
type function struct {
	profile.Frame
	library, foreign bool
}

// node is a function with those that have led to it. Two of the same functions are one.
type node struct{ link }

// isIn reports whether outer is among the functions that n ends.
func (n *node) isIn(outer *node) bool {
	for ; n != nil; n = n.up {
		if n == outer {
			return true
		}
	}
	return false
}

type link struct {
	up *node // nil for the outermost
	is *function
}

// scope is what code is in: the program's own functions, and those of libraries inside of the innermost of them.
type scope struct {
	own, inner *node // nil for none
	// within says that a library lies between the task and the first of own: the future of the task is the library's.
	within bool
}

// book names places of the module, and says what they are in. It is for the traces of one listing.
type book struct {
	r         *Runtime
	at        map[mem.Addr][]*function // outermost first
	functions map[functionKey]*function
	nodes     map[link]*node
	libraries map[*node]*library
	left      map[scopeNodes]bool // from where the trace at hand has gone on into functions of the program
	traces    int                 // so many are named
	err       error
}

type scopeNodes struct{ own, inner *node }

type functionKey struct {
	name, file string
	line       int
}

func (r *Runtime) newBook() *book {
	return &book{r: r, at: map[mem.Addr][]*function{}, functions: map[functionKey]*function{},
		nodes: map[link]*node{}, libraries: map[*node]*library{},
		left: map[scopeNodes]bool{}}
}

// name names all places of those traces that are new at once: the tables of a module are read once for all of them.
func (b *book) name(traces []trace) {
	var queries []symbol.Query
	var addrs []mem.Addr
	add := func(a mem.Addr) {
		if _, ok := b.at[a]; ok || !b.r.isCode(a) {
			return
		}
		b.at[a] = nil
		v := b.r.m.Vaddr(a)
		queries, addrs = append(queries, symbol.Query{Lookup: v, PC: v}), append(addrs, a)
	}
	for i := range traces[b.traces:] {
		t := &traces[b.traces+i]
		for _, c := range t.calls {
			add(c.ret - 1)
		}
		if t.drops {
			for _, number := range t.gives {
				add(t.steps[number].pc)
			}
			continue
		}
		for _, s := range t.steps {
			add(s.pc)
		}
	}
	b.traces = len(traces)
	if len(queries) == 0 {
		return
	}
	found, err := b.r.lines.Resolve(queries, symbol.Options{})
	b.err = cmp.Or(b.err, err)
	for i, frames := range found {
		for _, f := range slices.Backward(frames) {
			b.at[addrs[i]] = append(b.at[addrs[i]], b.function(f))
		}
	}
}

func (b *book) function(f profile.Frame) *function {
	key := functionKey{f.Func, f.File, f.Line}
	is := b.functions[key]
	if is == nil {
		is = &function{f, isLibrary(&f), isForeign(&f)}
		b.functions[key] = is
	}
	return is
}

func (r *Runtime) isCode(a mem.Addr) bool {
	_, ok := r.m.Code(r.m.Vaddr(a))
	return ok
}

func (b *book) node(up *node, is *function) *node {
	n := b.nodes[link{up, is}]
	if n == nil {
		n = &node{link{up, is}}
		b.nodes[n.link] = n
	}
	return n
}

// enter is what the code at a is in, which was called in s.
func (b *book) enter(s scope, a mem.Addr) scope {
	for _, f := range b.at[a] {
		switch {
		case isOutlined(&f.Frame):
		case f.library:
			s.within = s.within || s.own == nil && f.foreign
			s.inner = b.node(s.inner, f)
		case s.own == nil || !isPartOf(&f.Frame, &s.own.is.Frame):
			if s.own != nil && s.inner != nil {
				b.left[scopeNodes{s.own, s.inner}] = true
			}
			s.own, s.inner = b.node(s.own, f), nil
		}
	}
	return s
}

// plainLeft is left without lines.
func (b *book) plainLeft() map[scopeNodes]bool {
	out := map[scopeNodes]bool{}
	for at := range b.left {
		out[scopeNodes{at.own, b.plain(at.inner, len(b.library(at.inner).frames))}] = true
	}
	return out
}

// callers are what the calls of t were made in, by their numbers.
func (b *book) callers(t *trace) []scope {
	out := make([]scope, 1, len(t.calls)+1)
	for _, c := range t.calls {
		var s scope
		if b.spend(placeCost) {
			s = b.enter(out[c.from], c.ret-1)
		}
		out = append(out, s)
	}
	return out
}

// spend takes from the budget what comes next, and reports whether it was left.
func (b *book) spend(n int64) bool {
	if b.r.budget.Spend(n) {
		return true
	}
	b.err = cmp.Or(b.err, b.r.budget.Refusal())
	return false
}

// library is what functions of libraries are about that are called in one another.
type library struct {
	frames  []profile.Frame // outermost first
	polls   bool            // one of them polls a future
	timed   bool            // one waits for a time
	atomic  bool            // the innermost is an atomic operation
	awaits  awaited
	permits bool      // one takes or gives permits of a semaphore
	of      [2]string // the types that a Mutex and a RwLock guard, as their generic arguments have them
	// future is the function, without lines, of the future that they poll: the outermost that is known, or the
	// innermost that has such a name. It is nil for none, as where a time limit is looked at.
	future *node
	known  bool
}

// library is what the functions that n ends are about.
func (b *book) library(n *node) *library {
	l := b.libraries[n]
	if l != nil {
		return l
	}
	l = &library{}
	for at := n; at != nil; at = at.up {
		l.frames = append(l.frames, at.is.Frame)
	}
	slices.Reverse(l.frames)
	l.polls, l.timed = slices.ContainsFunc(l.frames, polls), slices.ContainsFunc(l.frames, isTimed)
	l.atomic = isAtomic(l.frames)
	l.awaits, l.permits = awaits(l.frames)
	for i, module := range [...]string{"sync/mutex", "sync/rwlock"} {
		l.of[i] = guarded(l.frames, module)
	}
	if depth, known := futureIn(l.frames); depth > 0 {
		l.future, l.known = b.plain(n, depth), known
	}
	b.libraries[n] = l
	return l
}

// plain are the outermost functions of n, so many, without lines; and without files where their names tell: what the
// compiler has made of code of several files may have the line of any of them.
func (b *book) plain(n *node, depth int) (p *node) {
	var all []*function
	for ; n != nil; n = n.up {
		all = append(all, n.is)
	}
	for _, f := range slices.Backward(all[len(all)-depth:]) {
		plain := f.Frame
		if plain.Line = 0; !plain.Inlined {
			plain.File = ""
		}
		p = b.node(p, b.function(plain))
	}
	return p
}

// maxFrames bounds the functions of a chain that are shown.
const maxFrames = 256

// inwards are the functions that n ends as they are shown, innermost first, and whether there are more.
func inwards(n *node) (frames []profile.Frame, more bool) {
	for ; n != nil && len(frames) < maxFrames; n = n.up {
		frames = append(frames, shown(&n.is.Frame))
	}
	return frames, n != nil
}
