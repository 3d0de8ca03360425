package coroutine

import (
	"errors"
	"maps"
	"slices"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// Without symbols a coroutine is known by the code that makes its frame: close to each other are two instructions that
// take the address of a function each. That these are the functions of a coroutine they show when they are run: the
// first reads a number of the frame and goes to another place for another number; the second reads the same number, or
// frees the frame.

const (
	maxCode   = 64 << 20 // bytes that are looked through
	maxTaken  = 1 << 16  // addresses of functions that are taken
	maxApart  = 512      // bytes of code between the two
	perByte   = 1        // steps of the budget
	startCost = 20
	maxStarts = 1 << 20
)

// taken is where in the code the address of a function is taken.
type taken struct{ at, function module.Vaddr }

// looking finds the coroutines of a module without symbols.
type looking struct {
	r      *Runtime
	starts map[module.Vaddr]module.Vaddr // of functions, with their ends
	order  []module.Vaddr                // starts, ascending
	index  map[module.Vaddr]field        // what functions read first, as far as asked
	tried  map[[2]module.Vaddr]bool
	found  []kind
	cut    bool // not all of the code was looked through
}

var errCut = errors.New("coroutines of C++ may be missing: the module has no symbols, and not all of its code was " +
	"looked through")

// unnamed are the coroutines of a module without symbols.
func (r *Runtime) unnamed() ([]kind, error) {
	starts, whole, err := r.functions()
	if len(starts) == 0 {
		return nil, err
	}
	l := looking{r: r, cut: !whole, starts: starts, order: slices.Sorted(maps.Keys(starts)),
		index: map[module.Vaddr]field{}, tried: map[[2]module.Vaddr]bool{}}
	for _, code := range r.m.Segments() {
		if _, ok := r.m.Code(code.Addr); !ok {
			continue
		}
		if len(code.Data) > maxCode || !r.budget.Spend(int64(len(code.Data))*perByte) {
			l.cut = true
			continue
		}
		all := r.port.taken(code.Data, code.Addr, starts)
		l.cut = l.cut || len(all) == maxTaken
		for i := range all {
			for _, other := range all[i+1:] {
				if other.at-all[i].at > maxApart {
					break
				}
				l.try(all[i].function, other.function)
				l.try(other.function, all[i].function)
			}
		}
	}
	if l.cut && len(l.found) > 0 && err == nil { // of a program without any it says nothing that there may be some
		err = errCut
	}
	return l.found, err
}

// maxTried bounds the pairs of functions that are run.
const maxTried = 1 << 16

// try adds the kind of coroutine whose functions begin there, if they are those of one.
func (l *looking) try(resume, destroy module.Vaddr) {
	pair := [2]module.Vaddr{resume, destroy}
	if l.tried[pair] || resume == destroy || len(l.found) == maxKinds {
		return
	}
	if len(l.tried) == maxTried {
		l.cut = true
		return
	}
	l.tried[pair] = true
	if k, ok := l.pair(resume, destroy); ok {
		l.found = append(l.found, k)
	}
}

// functions are where functions begin, by the table for exceptions, with their ends. Not whole they are fewer.
func (r *Runtime) functions() (starts map[module.Vaddr]module.Vaddr, whole bool, err error) {
	addr, data, ok := r.m.Plain(".eh_frame")
	if !ok {
		return nil, true, nil
	}
	out := map[module.Vaddr]module.Vaddr{}
	table := cfi.New(cfi.Config{EHFrame: cfi.Section{Addr: addr, Data: data}, WordSize: wordSize, Order: order,
		Budget: r.budget})
	whole = true
	err = table.Each(func(f cfi.FDE) bool {
		whole = len(out) < maxStarts && r.budget.Spend(startCost)
		if whole {
			out[module.Vaddr(f.Start)] = module.Vaddr(f.End)
		}
		return whole
	})
	return out, whole, err
}

// pair is the kind of coroutine whose functions begin there, false if they are none.
func (l *looking) pair(resume, destroy module.Vaddr) (kind, bool) {
	r := l.r
	k := kind{resume: span{r.m.Addr(resume), r.m.Addr(l.starts[resume])}, destroy: []mem.Addr{r.m.Addr(destroy)}}
	if k.resume.end-k.resume.start > maxFunction {
		return kind{}, false
	}
	var known bool
	if k.index, known = l.index[resume]; !known {
		k.index = r.indexOf(&k)
		l.index[resume] = k.index
	}
	if k.index.size == 0 {
		return kind{}, false
	}
	ends := r.newRun(func(a mem.Addr) bool { return k.resume.holds(a) })
	if !ends.begin(k.destroy[0]) {
		return kind{}, false
	}
	end := span{k.destroy[0], r.m.Addr(l.starts[destroy])}
	ends.goOn(maxSteps, func(pc mem.Addr) bool { return end.holds(pc) || k.resume.holds(pc) })
	if pc := mem.Addr(ends.machine.PC); pc != endOfRun && !end.holds(pc) && !k.resume.holds(pc) {
		ends.freed = ends.freed || ends.machine.Argument(0) == ownFrame // by a jump
	}
	// GCC has a number of two bytes, and what ends a frame makes that odd. Clang has that only beyond 256 places.
	k.gcc = ends.first == k.index && k.index.size == 2
	if ends.first != k.index && !ends.freed {
		return kind{}, false
	}
	if !k.gcc {
		k.destroy = append(k.destroy, l.behind(resume)...)
	}
	return k, r.branches(&k)
}

// behind are the two functions behind the one that goes on, where Clang puts those that end a frame: one of them is for
// frames that lie in others.
func (l *looking) behind(resume module.Vaddr) (out []mem.Addr) {
	i, _ := slices.BinarySearch(l.order, resume)
	for _, v := range l.order[min(i+1, len(l.order)):min(i+3, len(l.order))] {
		out = append(out, l.r.m.Addr(v))
	}
	return out
}

// branches reports whether the function that goes on goes to other places for other numbers.
func (r *Runtime) branches(k *kind) bool {
	const tried = 8
	first := r.way(k, 0)
	for n := uint64(1); n < tried; n++ {
		way := r.way(k, n)
		for i := range min(len(way), len(first)) {
			if way[i].pc != first[i].pc {
				return true
			}
		}
	}
	return false
}
