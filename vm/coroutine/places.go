package coroutine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol"
)

// place is where coroutines of a kind wait.
type place struct {
	frame   profile.Frame
	awaiter string // the type of what is awaited, "" if it is not known
	begun   bool   // false: it is in front of its first line
	behind  bool   // the line is where it goes on, which may be another than where it waits

	resumed []step     // from there on
	stores  []store    // what has put its number into the frame
	all     []mem.Addr // instructions of its function, of GCC
}

// store is an instruction that puts a number into a frame, and the way around it.
type store struct {
	at  mem.Addr
	way []step
}

// The functions that the compiler calls of what is awaited: [expr.await] in C++20.
const (
	awaitReady, awaitSuspend, awaitResume = "await_ready", "await_suspend", "await_resume"
	yieldValue, awaitTransform            = "yield_value", "await_transform"
)

const (
	maxPlaces = 1 << 14
	resumed   = 48 // instructions behind a place
	before    = 8  // instructions in front of a store
	after     = 32 // and behind it
)

// way is all code of p that is named.
func (p *place) way() []step {
	out := slices.Clone(p.resumed)
	for i := range p.stores {
		out = append(out, p.stores[i].way...)
	}
	for _, a := range p.all {
		out = append(out, step{pc: a})
	}
	return out
}

// name finds the places of all frames, and names all code that is asked for at once.
func (r *Runtime) name(frames []frame) error {
	var fresh []placeKey
	for i := range frames {
		key := placeKey{frames[i].kind, frames[i].number}
		if _, ok := r.places[key]; ok || len(r.places) == maxPlaces {
			continue
		}
		linkage := key.kind.linkage
		p := &place{frame: profile.Frame{Func: symbol.Demangle(linkage), Linkage: linkage, Module: -1}}
		r.places[key] = p
		fresh = append(fresh, key)
		if p.resumed = r.goesOn(key.kind, key.number); frames[i].known {
			p.stores = append(r.stores(key.kind, key.kind.resume, key.number),
				r.stores(key.kind, key.kind.ramp, key.number)...)
			if key.kind.gcc {
				p.all = r.instructions(key.kind.resume)
			}
		}
	}
	b, err := r.book(fresh)
	for _, key := range fresh {
		p := r.places[key]
		b.place(key, p)
		p.resumed, p.stores, p.all = nil, nil, nil
	}
	if err != nil {
		return fmt.Errorf("name where coroutines of C++ wait: %w", err)
	}
	return nil
}

// book are the functions at addresses, innermost first.
type book struct {
	r     *Runtime
	named map[mem.Addr][]profile.Frame
}

// book names the code of places.
func (r *Runtime) book(keys []placeKey) (*book, error) {
	b := &book{r: r, named: map[mem.Addr][]profile.Frame{}}
	var queries []symbol.Query
	add := func(a mem.Addr) {
		if _, ok := b.named[a]; ok || a == 0 {
			return
		}
		b.named[a] = nil
		if v := r.m.Vaddr(a); r.isCode(a) {
			queries = append(queries, symbol.Query{Lookup: v, PC: v})
		}
	}
	for _, key := range keys {
		p := r.places[key]
		p.resumed = p.resumed[:min(len(p.resumed), resumed)]
		add(key.kind.resume.start)
		for _, s := range p.way() {
			add(s.pc)
			add(s.called)
		}
	}
	s := symbol.NewResolver(r.m, nil)
	defer s.Close()
	found, err := s.Resolve(queries, symbol.Options{})
	for i, q := range queries {
		b.named[r.m.Addr(q.Lookup)] = found[i]
	}
	return b, err
}

func (r *Runtime) isCode(a mem.Addr) bool {
	_, ok := r.m.Code(r.m.Vaddr(a))
	return ok
}

// place finds the line of p and what is awaited there. The functions of what is awaited are called on that line, on the
// way in and on the way out. Clang says of what it stores on the way in that it is there, too; GCC that it is where the
// function ends, and of some of those calls as well.
func (b *book) place(key placeKey, p *place) {
	opening := outermost(b.named[key.kind.resume.start])
	if p.begun = !b.isFirst(key, p, opening); !p.begun {
		if opening != nil {
			p.frame.File, p.frame.Line = opening.File, opening.Line
		}
		return
	}
	var no []*profile.Frame
	if key.kind.index.size > 0 { // else the function begins with what is behind the place
		no = append(no, opening)
	}
	for i := range p.stores {
		if !key.kind.gcc {
			p.set(no, outermost(b.named[p.stores[i].at]))
		}
	}
	if last := b.last(p.all, opening); last != nil {
		no = append(no, last)
	}
	take := func(way []step, function string) {
		name, at := b.awaits(way, function)
		if p.set(no, at); p.awaiter == "" {
			p.awaiter = name
		}
	}
	take(p.resumed, awaitResume)
	for i := range p.stores {
		take(p.stores[i].way, awaitSuspend)
		take(p.stores[i].way, awaitReady)
		for _, function := range [...]string{yieldValue, awaitTransform} { // of the promise
			_, at := b.awaits(p.stores[i].way, function)
			p.set(no, at)
		}
	}
	if key.kind.index.size == 0 { // the way is from where the function begins
		return
	}
	p.behind = p.frame.Line == 0
	for _, s := range p.resumed {
		p.set(no, outermost(b.named[s.pc]))
	}
	if len(no) > 1 && opening != nil && no[1].Line == opening.Line { // all of the function is on one line
		p.behind = false
		p.set(nil, opening)
	}
}

// last is where a function ends that begins at opening: what has the greatest line of it.
func (b *book) last(all []mem.Addr, opening *profile.Frame) (last *profile.Frame) {
	for _, a := range all {
		f := outermost(b.named[a])
		if f != nil && opening != nil && f.File == opening.File && (last == nil || f.Line > last.Line) {
			last = f
		}
	}
	return last
}

// The numbers of the place in front of the first line: gcc/cp/coroutines.cc has it always, Clang where it waits there.
const gccFirst, clangFirst = 2, 0

// isFirst reports whether p is in front of the first line of its function.
func (b *book) isFirst(key placeKey, p *place, opening *profile.Frame) bool {
	if key.kind.gcc {
		return key.number == gccFirst
	}
	if key.number != clangFirst || opening == nil || len(p.stores) == 0 {
		return false
	}
	for i := range p.stores {
		if f := outermost(b.named[p.stores[i].at]); f == nil || f.Line != opening.Line {
			return false
		}
	}
	return true
}

// set sets the line of p to that of f, unless it is known, or f is at one of those lines, where the function begins and
// ends, or of another file.
func (p *place) set(no []*profile.Frame, f *profile.Frame) {
	if p.frame.Line != 0 || f == nil || f.Line == 0 {
		return
	}
	for _, other := range no {
		if other == nil || f.File != other.File || f.Line == other.Line {
			return
		}
	}
	p.frame.File, p.frame.Line = f.File, f.Line
}

// awaits is the type of what is awaited, and where, if that function of it is called on the way.
func (b *book) awaits(way []step, function string) (name string, at *profile.Frame) {
	for _, s := range way {
		frames := b.named[s.pc]
		if len(frames) == 0 {
			continue
		}
		for _, f := range frames[:len(frames)-1] {
			if n, ok := awaiterOf(f.Func, function); ok {
				name = n
			}
		}
		if called := outermost(b.named[s.called]); called != nil && name == "" {
			name, _ = awaiterOf(called.Func, function)
		}
		if name != "" {
			return name, &frames[len(frames)-1]
		}
	}
	return "", nil
}

// awaiterOf is the type whose function of that name it is.
func awaiterOf(name, function string) (of string, ok bool) {
	i := strings.LastIndex(name, "::"+function)
	if i < 0 {
		return "", false
	}
	of = name[:i]
	return of, true
}

func outermost(frames []profile.Frame) *profile.Frame {
	if len(frames) == 0 {
		return nil
	}
	return &frames[len(frames)-1]
}

// stores are the instructions of a function that put that number into a frame.
func (r *Runtime) stores(k *kind, in span, number uint64) (out []store) {
	const most = 4
	var straight []step // what runs one after the other
	var at []int        // of it
	end := func() {
		for _, i := range at {
			if len(out) < most {
				out = append(out, store{straight[i].pc, straight[max(0, i-before):min(len(straight), i+after)]})
			}
		}
		straight, at = nil, nil
	}
	code, next := r.code(in), r.port.reader(k.index)
	for pc := in.start; len(code) > 0 && k.index.size > 0 && r.budget.Spend(stepCost); {
		in, ok := next(code, pc)
		if !ok {
			break
		}
		if in.stores && uint64(in.value)&(1<<(8*k.index.size)-1) == number {
			at = append(at, len(straight))
		}
		straight = append(straight, step{pc: pc, called: in.called})
		pc, code = pc+mem.Addr(in.size), code[in.size:]
		if in.leaves {
			end()
		}
	}
	end()
	return out
}

// instructions are those of a function, so far as they are looked at.
func (r *Runtime) instructions(of span) (out []mem.Addr) {
	const most = 4 << 10
	code, next := r.code(of), r.port.reader(field{})
	for pc := of.start; len(code) > 0 && len(out) < most && r.budget.Spend(stepCost); {
		in, ok := next(code, pc)
		if !ok {
			break
		}
		out = append(out, pc)
		pc, code = pc+mem.Addr(in.size), code[in.size:]
	}
	return out
}

// code are the bytes of a function, by the file of the module.
func (r *Runtime) code(s span) []byte {
	b, _ := r.m.Text(r.m.Vaddr(s.start))
	return b[:min(len(b), int(s.end-s.start), maxFunction)]
}
