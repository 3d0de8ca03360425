package coroutine

import (
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
	maxCode     = 64 << 20 // bytes that are looked through
	maxTaken    = 1 << 16  // addresses of functions that are taken
	maxApart    = 128      // bytes of code between the two
	perByte     = 1        // steps of the budget
	startCost   = 20
	maxStarts   = 1 << 20
	addressSize = 4 // of an address in an instruction
)

// taken is where in the code the address of a function is taken.
type taken struct{ at, function module.Vaddr }

// unnamed are the coroutines of a module without symbols.
func (r *Runtime) unnamed() ([]kind, error) {
	starts, err := r.functions()
	if len(starts) == 0 {
		return nil, err
	}
	var out []kind
	tried := map[[2]module.Vaddr]bool{}
	for _, code := range r.m.Segments() {
		if _, ok := r.m.Code(code.Addr); !ok || len(code.Data) > maxCode ||
			!r.budget.Spend(int64(len(code.Data))*perByte) {
			continue
		}
		all := takenIn(code.Data, code.Addr, starts)
		for i := range all {
			for _, other := range all[i+1:] {
				if other.at-all[i].at > maxApart {
					break
				}
				for _, pair := range [][2]module.Vaddr{{all[i].function, other.function}, {other.function, all[i].function}} {
					if tried[pair] || pair[0] == pair[1] || len(out) == maxKinds {
						continue
					}
					tried[pair] = true
					if k, ok := r.pair(starts, pair[0], pair[1]); ok {
						out = append(out, k)
					}
				}
			}
		}
	}
	return out, err
}

// functions are where functions begin, by the table for exceptions, with their ends.
func (r *Runtime) functions() (map[module.Vaddr]module.Vaddr, error) {
	addr, data, ok := r.m.Plain(".eh_frame")
	if !ok {
		return nil, nil
	}
	out := map[module.Vaddr]module.Vaddr{}
	table := cfi.New(cfi.Config{EHFrame: cfi.Section{Addr: addr, Data: data}, WordSize: wordSize, Order: order,
		Budget: r.budget})
	err := table.Each(func(f cfi.FDE) bool {
		out[module.Vaddr(f.Start)] = module.Vaddr(f.End)
		return len(out) < maxStarts && r.budget.Spend(startCost)
	})
	return out, err
}

// takenIn are the addresses of functions that code takes: relative to the instruction, or in one.
func takenIn(code []byte, at module.Vaddr, starts map[module.Vaddr]module.Vaddr) (out []taken) {
	for i := 3; i+addressSize <= len(code) && len(out) < maxTaken; i++ {
		var f module.Vaddr
		switch value := order.Uint32(code[i:]); {
		case code[i-2] == 0x8d && code[i-1]&0xc7 == 0x05 && code[i-3]&0xfb == 0x48: // lea value(%rip), %register
			f = at + module.Vaddr(i+addressSize) + module.Vaddr(int64(int32(value)))
		case code[i-1]&0xf8 == 0xb8, // mov $value, %register
			code[i-2] == 0xc7 && code[i-1]&0xc7 == 0 && code[i-3]&0xf8 == 0x48,             // mov $value, (%register)
			code[i-3] == 0xc7 && code[i-2]&0xc7 == 0x40 && i > 3 && code[i-4]&0xf8 == 0x48: // … offset(%register)
			f = module.Vaddr(value)
		default:
			continue
		}
		if _, ok := starts[f]; ok {
			out = append(out, taken{at + module.Vaddr(i), f})
		}
	}
	return out
}

// pair is the kind of coroutine whose functions begin there, false if they are none.
func (r *Runtime) pair(starts map[module.Vaddr]module.Vaddr, resume, destroy module.Vaddr) (kind, bool) {
	k := kind{resume: span{r.m.Addr(resume), r.m.Addr(starts[resume])}, destroy: []mem.Addr{r.m.Addr(destroy)}}
	if k.resume.end-k.resume.start > maxFunction {
		return kind{}, false
	}
	if k.index = r.indexOf(&k); k.index.size == 0 {
		return kind{}, false
	}
	ends := r.newRun(func(a mem.Addr) bool { return k.resume.holds(a) })
	if !ends.begin(k.destroy[0]) {
		return kind{}, false
	}
	end := span{k.destroy[0], r.m.Addr(starts[destroy])}
	ends.goOn(maxSteps, func(pc mem.Addr) bool { return end.holds(pc) || k.resume.holds(pc) })
	// GCC has one function do both: what ends a frame makes the number odd.
	k.gcc = ends.first == k.index && k.index.size == 2 && slices.ContainsFunc(ends.steps, func(s step) bool {
		return s.pc == k.resume.start || s.called == k.resume.start
	})
	if ends.first != k.index && !ends.freed {
		return kind{}, false
	}
	return k, r.branches(&k)
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
