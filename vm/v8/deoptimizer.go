package v8

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/view"
)

// deoptEntry is what the builtin does that gives optimised code up: it saves all registers and makes a Deoptimizer; it
// moves the frame of the code into the FrameDescription of that, and calls C++, which computes the frames that take its
// place; it writes these onto the stack, and goes on in the innermost of them.
// Source: Generate_DeoptimizationEntry in src/builtins/x64/builtins-x64.cc and src/builtins/arm64/builtins-arm64.cc.
type deoptEntry struct {
	moves   module.Vaddr // from here on the frame is being moved
	returns module.Vaddr // where the C++ that computes frames returns to
	input   int32        // the FrameDescription in the Deoptimizer
	content int32        // the words of the frame in that, lowest first; its size comes first of all
	// padding is how many bytes, all 0, were pushed before the pointer to the Deoptimizer, so that the stack pointer
	// stays aligned; 0 where it is aligned behind it, and what it was is pushed.
	padding mem.Addr
	way     deoptWay // zero where that is not read
}

// deoptWay is where the entry of a machine with a link register has what, when it is interrupted: nothing of the code
// that is given up but its frame is on the stack there.
type deoptWay struct {
	made    module.Vaddr // from here on there is a Deoptimizer, in the register of results
	moved   module.Vaddr // from here on it alone has the frame
	popped  module.Vaddr // from here on the Deoptimizer is in another register
	rebuilt module.Vaddr // from here on the frames that take its place are whole
	held    regs.Reg     // that register
	top     int32        // in the Deoptimizer, where the frame that is given up ended
}

// object is where the Deoptimizer is in the entry interrupted at pc, whose registers are now.
func (e *deoptEntry) object(pc module.Vaddr, now *regs.Registers, word func(mem.Addr) (uint64, bool)) (mem.Addr, bool) {
	if e == nil || pc < e.way.made || pc >= e.way.rebuilt {
		return 0, false
	}
	at, ok := now.Get(now.Arch.Result)
	if sp, _ := now.SP(); pc >= e.way.popped {
		at, ok = now.Get(e.way.held)
	} else if pc >= e.returns {
		at, ok = word(sp)
	}
	return mem.Addr(at), ok && at != 0
}

// deoptEntryOf reads the instructions of the builtin that begins at start; nil if they are others.
func deoptEntryOf(code []byte, start module.Vaddr) *deoptEntry {
	var (
		moves = []byte("\x48\x8b\x0b\x48\x01\xe1\x48\x8d\x93") // mov rcx, [rbx]; add rcx, rsp; lea rdx, [rbx + content]
		input = []byte("\x48\x8b\x58")                         // mov rbx, [rax + input]
		call  = []byte("\xff\xd0")                             // call rax
	)
	const drop = 4 // add rsp, 8 comes before
	i := bytes.Index(code, moves)
	if i < drop || i+len(moves)+4 > len(code) {
		return nil
	}
	from, to := bytes.LastIndex(code[:i], input), bytes.Index(code[i:], call)
	if from < 0 || to < 0 {
		return nil
	}
	e := &deoptEntry{moves: start + module.Vaddr(i-drop), returns: start + module.Vaddr(i+to+len(call)),
		input: int32(code[from+len(input)]), content: int32(order.Uint32(code[i+len(moves):]))}
	if e.content <= 0 || e.content > 1<<12 {
		return nil
	}
	return e
}

// standsFor reports whether a frame of the entry at pc, as it is looked up, stands for the code too that is given up:
// its own frame is gone.
func (e *deoptEntry) standsFor(a *area, pc mem.Addr, interrupted bool) bool {
	if v := module.Vaddr(uint64(pc) - a.bias); interrupted && e != nil {
		return v >= e.way.moved && v < e.way.rebuilt
	}
	return e != nil && module.Vaddr(uint64(pc)+1-a.bias) == e.returns
}

const (
	// deoptimizerHead is how much is copied of a Deoptimizer, bytes: up to the FrameDescription of its input.
	deoptimizerHead = 128
	// frameTop is how much is copied of a frame that was given up, bytes from its upper end on: the return address
	// lies below the arguments.
	frameTop = 2 << 10
)

// deoptReturns are the addresses that the C++ of the entries returns to. They are read by whoever copies.
type deoptReturns struct {
	areas *areas // of which they are
	list  []deoptReturn
}

type deoptReturn struct {
	at    mem.Addr
	entry *deoptEntry
}

// publish makes the addresses known to Copy once the builtins have been read.
func (r *Runtime) publish() {
	areas, now := r.areas.Load(), r.returns.Load()
	if r.builtins.unread != nil || now != nil && now.areas == areas {
		return
	}
	next := &deoptReturns{areas: areas}
	for i := range r.builtins.list {
		e := r.builtins.list[i].deopt
		for k := range areas.list {
			a := &areas.list[k]
			if e == nil || a.made {
				continue
			}
			if at := mem.Addr(uint64(e.returns) + a.bias); areas.find(at) == a {
				next.list = append(next.list, deoptReturn{at, e})
			}
		}
	}
	r.returns.Store(next)
}

// entry is that whose C++ returns to ra; nil if there is none.
func (s *deoptReturns) entry(ra mem.Addr) *deoptEntry {
	if s == nil {
		return nil
	}
	for i := range s.list {
		if s.list[i].at == ra {
			return s.list[i].entry
		}
	}
	return nil
}

// interrupted is what is given up where the innermost frame of t is an entry; its entry is nil where that is not known.
func (s *deoptReturns) interrupted(t *snapshot.Thread) givingUp {
	if s == nil {
		return givingUp{}
	}
	pc, _ := t.Registers.PC()
	for i := range s.list {
		at := &s.list[i]
		v := module.Vaddr(uint64(pc) - uint64(at.at) + uint64(at.entry.returns))
		word := func(a mem.Addr) (uint64, bool) { return stackWord(t, a, 0) }
		if object, ok := at.entry.object(v, t.Registers, word); ok {
			return givingUp{entry: at.entry, object: object}
		}
	}
	return givingUp{}
}

// givingUp is a call of the C++ that computes frames, on the stack of a thread, or an entry that is interrupted.
type givingUp struct {
	entry  *deoptEntry
	sp     mem.Addr // when the C++ has returned
	object mem.Addr // the Deoptimizer, if the entry is interrupted
}

// held is where the pointer to the Deoptimizer is, right below the frame of the C++ and what aligns that.
func (g *givingUp) held(word func(mem.Addr) (uint64, bool)) (mem.Addr, bool) {
	if g.entry.padding != 0 {
		padding, ok := word(g.sp + wordSize)
		return g.sp, ok && padding == 0
	}
	saved, ok := word(g.sp)
	return mem.Addr(saved), ok && mem.Addr(saved) >= g.sp && mem.Addr(saved)-g.sp <= 2*wordSize
}

// pointer is where the Deoptimizer is, and where the stack pointer was when the frame that is given up was dropped.
func (g *givingUp) pointer(word func(mem.Addr) (uint64, bool)) (at, dropped mem.Addr, ok bool) {
	if g.object != 0 {
		return g.object, 0, true
	}
	held, ok := g.held(word)
	if !ok {
		return 0, 0, false
	}
	object, ok := word(held)
	return mem.Addr(object), held + wordSize + g.entry.padding, ok
}

// deoptimizer is where the Deoptimizer is, and where the frame that is given up ended: an odd word of arguments is not
// dropped where the stack pointer stays aligned, and the Deoptimizer says that.
func (g *givingUp) deoptimizer(word func(mem.Addr) (uint64, bool)) (at, top mem.Addr, ok bool) {
	at, top, ok = g.pointer(word)
	if !ok || g.entry.way.top == 0 {
		return at, top, ok
	}
	end, ok := word(at + mem.Addr(g.entry.way.top))
	return at, mem.Addr(end), ok && (g.object != 0 || mem.Addr(end)-top <= wordSize)
}

// maxOfC bounds the frame of the C++ above its frame record, bytes: where that lies anywhere in it, the end of it is
// searched for.
const maxOfC = 512

// fetch copies what is read of the Deoptimizer.
func (g *givingUp) fetch(t *snapshot.Thread, f *snapshot.Fetcher) {
	if g.entry.padding == 0 || g.object != 0 {
		g.copy(t, f)
		return
	}
	for end := g.sp + maxOfC; g.sp < end && !g.copy(t, f); g.sp += wordSize + g.entry.padding {
	}
}

// copy is false if there is no Deoptimizer.
func (g *givingUp) copy(t *snapshot.Thread, f *snapshot.Fetcher) bool {
	at, _, ok := g.pointer(func(a mem.Addr) (uint64, bool) { return stackWord(t, a, 0) })
	if _, onStack := stackWord(t, at, 0); !ok || onStack || at == 0 || at%wordSize != 0 {
		return false
	}
	f.Fetch(snapshot.Want{Addr: at, Len: deoptimizerHead})
	_, _, ok = g.deoptimizer(func(a mem.Addr) (uint64, bool) {
		if w, ok := stackWord(t, a, 0); ok {
			return w, true
		}
		return f.Word(a)
	})
	input, ok2 := f.Word(at + mem.Addr(g.entry.input))
	if !ok || !ok2 || input == 0 || input%wordSize != 0 {
		return false
	}
	f.Fetch(snapshot.Want{Addr: mem.Addr(input), Len: wordSize})
	size, ok := f.Word(mem.Addr(input))
	if !ok || size > maxFrame || size%wordSize != 0 {
		return false
	}
	n := min(size, frameTop)
	return f.Fetch(snapshot.Want{Addr: mem.Addr(input+size-n) + mem.Addr(g.entry.content), Len: int(n)})
}

var errGivenUp = errors.New("the frame that V8 gives up cannot be read")

// caller are the registers of the caller of the frame that is given up, whose frame pointer fp still is: that is V8's
// code too.
func (g *givingUp) caller(arch *regs.Arch, areas *areas, fp mem.Addr, v *view.View) (regs.Registers, error) {
	read := wordOf(v)
	at, top, ok := g.deoptimizer(read)
	input, ok2 := read(at + mem.Addr(g.entry.input))
	size, ok3 := read(mem.Addr(input))
	if !ok || !ok2 || !ok3 || size > maxFrame || fp >= top || uint64(top-fp) > size || uint64(top-fp) < 2*wordSize {
		return regs.Registers{}, errGivenUp
	}
	held := mem.Addr(input) + mem.Addr(g.entry.content) + mem.Addr(size) - (top - fp)
	saved, ok := read(held)
	ra, ok2 := read(held + wordSize)
	if !ok || !ok2 || areas.find(mem.Addr(ra)-1) == nil {
		return regs.Registers{}, errGivenUp
	}
	return behindRecord(arch, fp, saved, ra), nil
}

// exit is where the code that is given up called the entry; that is read by code.
func (r *Runtime) exit(g *givingUp, areas *areas, v, code *view.View) (mem.Addr, bool) {
	at, _, ok := g.deoptimizer(wordOf(v))
	var b [deoptimizerHead]byte
	if _, err := v.ReadMem(b[:], at); !ok || err != nil {
		return 0, false
	}
	for i := 0; i+wordSize <= int(g.entry.input); i += wordSize {
		pc := mem.Addr(order.Uint64(b[i:]))
		if a := areas.find(pc - 1); a != nil && a.made && r.called(pc, code) {
			return pc, true
		}
	}
	return 0, false
}

const (
	rebuiltNote = "functions may be missing before this one: V8 is replacing their frame"
	deoptimizes = "V8 deoptimizes: %w"
)

// crossDeoptimizer goes from the entry b, whose registers are now, to the code that has called it, or to the caller of
// that where its frame was moved already.
func (r *Runtime) crossDeoptimizer(a *area, b *builtin, f *unwind.Frame, now *regs.Registers,
	v *view.View) (unwind.Crossing, error) {
	sp, _ := now.SP()
	fp, known := now.FP()
	pc := module.Vaddr(uint64(f.PC) - a.bias)
	switch e := b.deopt; {
	case r.port.arch.LR != regs.NoReg && f.Interrupted && r.isExit(now, v):
		return unwind.Crossing{Registers: atLink(now)}, nil
	case e != nil && f.Interrupted && pc >= e.way.made && pc < e.way.rebuilt:
		next, err := r.crossInterrupted(e, pc, now, v)
		if err != nil {
			return unwind.Crossing{}, fmt.Errorf(deoptimizes, err)
		}
		return unwind.Crossing{Registers: next}, nil
	case r.port.arch.LR == regs.NoReg && (e == nil || pc <= e.moves):
		s, err := r.callerOnStack(now, v)
		if err != nil {
			return unwind.Crossing{}, fmt.Errorf(deoptimizes, err)
		}
		return unwind.Crossing{Registers: s.caller}, nil
	case e != nil && pc == e.returns && !f.Interrupted && known:
		g := givingUp{entry: e, sp: sp}
		next, err := g.caller(r.port.arch, r.areas.Load(), fp, v)
		if err != nil {
			return unwind.Crossing{}, fmt.Errorf(deoptimizes, err)
		}
		return unwind.Crossing{Registers: next}, nil
	case known && fp >= sp: // its place has a frame again
		next, err := callerOf(now, v)
		return unwind.Crossing{Registers: next, Note: rebuiltNote}, err
	}
	return unwind.Crossing{}, fmt.Errorf(deoptimizes, errGivenUp)
}

// crossInterrupted goes from the entry e, interrupted at pc when it had a Deoptimizer, to the code that has called it,
// or to the caller of that where its frame was moved already.
func (r *Runtime) crossInterrupted(e *deoptEntry, pc module.Vaddr, now *regs.Registers,
	v *view.View) (regs.Registers, error) {
	object, ok := e.object(pc, now, wordOf(v))
	fp, known := now.FP()
	if !ok || !known {
		return regs.Registers{}, errGivenUp
	}
	g := givingUp{entry: e, object: object}
	if pc >= e.way.moved {
		return g.caller(r.port.arch, r.areas.Load(), fp, v)
	}
	exit, ok := r.exit(&g, r.areas.Load(), v, r.code(v))
	if !ok {
		return regs.Registers{}, errGivenUp
	}
	next := *now
	next.Set(now.Arch.LR, uint64(exit))
	return atLink(&next), nil
}

// wordOf reads words by v.
func wordOf(v *view.View) func(mem.Addr) (uint64, bool) {
	return func(a mem.Addr) (uint64, bool) {
		w, err := v.Word(a)
		return w, err == nil
	}
}

// identifyDeoptimizer names the frame of the entry: if it stands for the code that is given up, whose frame is gone,
// with the functions of that.
func (r *Runtime) identifyDeoptimizer(a *activation, areas *areas, v *view.View) (unwind.Site, error) {
	stub, err := r.stub(a.builtin.name)
	e := a.builtin.deopt
	if err != nil || !e.standsFor(a.area, a.pc, a.interrupted) {
		return stub, err
	}
	g := givingUp{entry: e, sp: a.sp}
	if a.interrupted && a.regs != nil {
		g.object, _ = e.object(module.Vaddr(uint64(a.pc)-a.area.bias), a.regs, wordOf(v))
	}
	exit, ok := r.exit(&g, areas, v, r.code(v))
	if !ok {
		return stub, errGivenUp
	}
	up := activation{area: areas.find(exit - 1), pc: exit - 1, deoptimizes: true, stopped: a.stopped}
	c, err := r.codeAt(up.area, up.pc, v)
	if err != nil {
		return stub, err
	}
	site, err := r.optimized(&up, c, nil, v)
	if err != nil || site == 0 {
		return stub, err
	}
	frames := append(r.sites.list(stub), r.sites.list(site)...)
	frames[0].Inlined = true
	return r.sites.of(frames)
}
