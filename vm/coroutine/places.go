package coroutine

import (
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/code/x86"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol"
)

// place is where coroutines of a kind wait.
type place struct {
	frame   profile.Frame
	awaiter string // the type of what is awaited, "" if it is not known

	resumed []step   // from there on
	stores  [][]step // around each instruction that has put its number into the frame
}

// The functions that the compiler calls of what is awaited: [expr.await] in C++20.
const awaitReady, awaitSuspend, awaitResume = "await_ready", "await_suspend", "await_resume"

const (
	maxPlaces = 1 << 14
	resumed   = 48 // instructions behind a place
	before    = 8  // instructions in front of a store
	after     = 32 // and behind it
)

// name finds the places of all frames, and names all code that is asked for at once.
func (r *Runtime) name(frames []frame) error {
	var fresh []placeKey
	for i := range frames {
		key := placeKey{frames[i].kind, frames[i].number}
		if _, ok := r.places[key]; ok || len(r.places) == maxPlaces {
			continue
		}
		p := &place{frame: profile.Frame{Func: symbol.Demangle(key.kind.linkage), Linkage: key.kind.linkage, Module: -1}}
		r.places[key] = p
		if fresh = append(fresh, key); frames[i].known {
			p.resumed = r.goesOn(key.kind, key.number)
			p.stores = r.stores(key.kind, key.number)
		}
	}
	b, err := r.book(fresh)
	for _, key := range fresh {
		p := r.places[key]
		b.place(key.kind, p)
		p.resumed, p.stores = nil, nil
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
		for _, way := range append(p.stores, p.resumed) {
			for _, s := range way {
				add(s.pc)
				add(s.called)
			}
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
// way in and on the way out.
func (b *book) place(k *kind, p *place) {
	b.awaits(p, p.resumed, awaitResume)
	for _, way := range p.stores {
		b.awaits(p, way, awaitSuspend)
		b.awaits(p, way, awaitReady)
	}
	if p.frame.Line != 0 {
		return
	}
	var opening int
	if f := outermost(b.named[k.resume.start]); f != nil {
		opening = f.Line
	}
	set := func(s step) {
		if f := outermost(b.named[s.pc]); f != nil && f.Line != 0 && f.Line != opening && p.frame.Line == 0 {
			p.frame.File, p.frame.Line = f.File, f.Line
		}
	}
	for _, way := range p.stores {
		if !k.gcc && len(way) > 0 { // GCC says of what it stores that it is where the function ends
			set(way[min(before, len(way)-1)])
		}
	}
	for _, s := range p.resumed {
		set(s)
	}
}

// awaits sets the line of p, and what is awaited, if that function of it is called on the way.
func (b *book) awaits(p *place, way []step, function string) {
	for _, s := range way {
		frames := b.named[s.pc]
		if len(frames) == 0 {
			continue
		}
		name := ""
		for _, f := range frames[:len(frames)-1] {
			if n, ok := awaiterOf(f.Func, function); ok {
				name = n
			}
		}
		if called := outermost(b.named[s.called]); called != nil && name == "" {
			name, _ = awaiterOf(called.Func, function)
		}
		if name == "" {
			continue
		}
		if p.awaiter == "" {
			p.awaiter = name
		}
		if f := &frames[len(frames)-1]; p.frame.Line == 0 {
			p.frame.File, p.frame.Line = f.File, f.Line
		}
		return
	}
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

// stores are the ways around the instructions that put that number into a frame.
func (r *Runtime) stores(k *kind, number uint64) (out [][]step) {
	b := r.code(k.resume)
	var way []step
	var constants [16]int64 // of registers, where a constant was put into one
	var at []int
	for pc := k.resume.start; len(b) > 0 && r.budget.Spend(stepCost); {
		in, ok := x86.Decode(b)
		if !ok {
			break
		}
		s := step{pc: pc}
		pc, b = pc+mem.Addr(in.Len), b[in.Len:]
		const call = 0xe8
		if in.Space == 0 && in.Op == call && !in.VEX {
			s.called = pc + mem.Addr(in.Imm)
		}
		if in.Space == 0 && in.Op >= 0xb8 && in.Op <= 0xbf && !in.VEX { // mov $imm, %register
			constants[in.RM] = in.Imm
		}
		if v, ok := stored(&in, &constants, k.index); ok && uint64(v)&(1<<(8*k.index.size)-1) == number {
			at = append(at, len(way))
		}
		way = append(way, s)
	}
	const most = 4
	for _, i := range at[:min(len(at), most)] {
		out = append(out, way[max(0, i-before):min(len(way), i+after)])
	}
	return out
}

// stored is the number that an instruction puts into field f of what a register leads to.
func stored(in *x86.Instruction, constants *[16]int64, f field) (int64, bool) {
	if in.Space != 0 || in.VEX || !in.IsMem || in.Base < 0 || in.Index >= 0 || in.Disp != f.offset ||
		f.size == 2 && !in.Small {
		return 0, false
	}
	switch {
	case in.Op == 0xc6 && f.size == 1, in.Op == 0xc7 && f.size == 2: // mov $imm, offset(%register)
		return in.Imm, true
	case in.Op == 0x88 && f.size == 1, in.Op == 0x89 && f.size == 2: // mov %register, offset(%register)
		return constants[in.Reg], true
	}
	return 0, false
}

// code are the bytes of a function, by the file of the module.
func (r *Runtime) code(s span) []byte {
	b, _ := r.m.Text(r.m.Vaddr(s.start))
	return b[:min(len(b), int(s.end-s.start), maxFunction)]
}

var _ module.Vaddr
