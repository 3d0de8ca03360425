package coroutine

import (
	"github.com/fpstack/fpstack/code/emulate"
	"github.com/fpstack/fpstack/mem"
)

// The function that lets a coroutine go on first looks where it has stopped, by a number in the frame, and goes there.
// So it is run here, over memory that is all 0 but for that number: nothing of the process is read but its code and
// constants, nothing is written, and in the process nothing runs. Calls do nothing.

const (
	// maxSteps bounds a run, instructions: the way to the place takes ten to sixty.
	maxSteps = 400
	stepCost = 100
	// Where a run has its frame and its stack: no addresses of a process.
	ownStart   = 1 << 62
	ownSize    = 1 << 20
	ownFrame   = ownStart + ownSize/2
	frameSpace = ownSize / 4 // of the frame
	ownStack   = ownStart + ownSize/4
	endOfRun   = ownStart - 16
)

// step is an instruction that ran.
type step struct {
	pc     mem.Addr
	called mem.Addr // what it calls, 0 for nothing
}

// run is one run of the functions of coroutines.
type run struct {
	r       *Runtime
	machine emulate.Machine
	steps   []step
	first   field // the first number of the frame, of one or two bytes, that was read
	follow  func(mem.Addr) bool
	freed   bool // a function was called with the frame
	// over says that the coroutine has come to its end, or to where it waits next: it has written where it is.
	over  bool
	index field
	// memory is what is read outside of the module and of the run's own, nil for nothing.
	memory func(b []byte, a mem.Addr) bool
	frame  uint64
}

// newRun returns a run that does not follow calls but where follow says so.
func (r *Runtime) newRun(follow func(mem.Addr) bool) *run {
	c := &run{r: r, follow: follow, frame: ownFrame}
	c.machine = emulate.Machine{ISA: r.port.isa, Code: c.code, Read: c.read, Writable: c.writable, Call: c.call}
	return c
}

// code are bytes of code at pc, by the file of the module.
func (c *run) code(pc uint64) []byte {
	b, _ := c.r.m.Text(c.r.m.Vaddr(mem.Addr(pc)))
	const longest = 15
	return b[:min(len(b), longest)]
}

func isOwn(a uint64, n int) bool { return a >= ownStart && a+uint64(n) <= ownStart+ownSize }

func (c *run) read(b []byte, a uint64) bool {
	if offset := a - c.frame; offset >= headSize && offset < frameSpace && len(b) <= 2 && c.first.size == 0 {
		c.first = field{int64(offset), len(b)}
	}
	if isOwn(a, len(b)) {
		clear(b)
		return true
	}
	if c.memory != nil {
		return c.memory(b, mem.Addr(a))
	}
	from, ok := c.r.m.Loaded(c.r.m.Vaddr(mem.Addr(a)))
	return ok && copy(b, from) == len(b)
}

// writable hears of what is written, and whether a coroutine that is at hand is over.
func (c *run) writable(a uint64, n int) bool {
	for _, f := range [...]field{{0, wordSize}, c.index} {
		at := c.frame + uint64(f.offset)
		c.over = c.over || a < at+uint64(f.size) && at < a+uint64(n)
	}
	return isOwn(a, n) || c.memory != nil
}

// call hears of a call, and does nothing in its place unless it is followed. A jump to another function is a call, too.
func (c *run) call(uint64) bool {
	m := &c.machine
	at := mem.Addr(m.PC)
	if n := len(c.steps); n > 0 {
		c.steps[n-1].called = at
	}
	c.freed = c.freed || m.Argument(0) == c.frame
	if c.follow(at) {
		return false
	}
	m.SetResult(0)
	return true
}

// begin lets a function begin whose argument is the frame.
func (c *run) begin(at mem.Addr) bool {
	m := &c.machine
	ok := m.Begin(uint64(at), ownStack, endOfRun, c.frame)
	if c.frame == ownFrame { // one without a first word has come to its end
		ok = ok && m.SetWord(ownFrame, endOfRun)
	}
	c.over = false
	return ok
}

// goOn runs until an instruction leaves what within says, or cannot be run.
func (c *run) goOn(most int, within func(mem.Addr) bool) {
	for range most {
		pc := mem.Addr(c.machine.PC)
		if pc == endOfRun || !within(pc) {
			return
		}
		if !c.r.budget.Spend(stepCost) {
			c.r.refused = c.r.budget.Refusal()
			return
		}
		c.steps = append(c.steps, step{pc: pc})
		if c.machine.Step() != nil {
			return
		}
	}
}

// none is for a run that follows no call.
func none(mem.Addr) bool { return false }

// indexOf is where the functions of a kind have the number of the place, without size if that is not known: a number
// that the first of them reads before all others.
func (r *Runtime) indexOf(k *kind) field {
	c := r.newRun(none)
	if c.begin(k.resume.start) {
		c.goOn(maxSteps, func(pc mem.Addr) bool { return k.resume.holds(pc) && c.first.size == 0 })
	}
	return c.first
}

// way is what runs with that number in a frame.
func (r *Runtime) way(k *kind, number uint64) []step {
	c := r.newRun(none)
	b := []byte{byte(number), byte(number >> 8)}[:k.index.size]
	if c.begin(k.resume.start) && c.machine.Store(b, uint64(ownFrame+k.index.offset)) {
		c.index, c.over = k.index, false
		c.goOn(maxSteps, func(pc mem.Addr) bool { return k.resume.holds(pc) && !c.over })
	}
	return c.steps
}

// neighbours is how many numbers on each side a number is told apart from, and least the first ones: code that looks
// for one of many compares with those last.
const (
	neighbours = 6
	least      = 16
)

// goesOn is the way of a coroutine from the place on where it waits: what no other number leads to, behind what is
// common to it and another one. It is nil if that is not known. Where there is no number it is all of the function.
func (r *Runtime) goesOn(k *kind, number uint64) []step {
	own, each := r.way(k, number), uint64(1)
	if k.index.size == 0 { // there is one place
		return own
	}
	if k.gcc {
		each = 2
	}
	common := 0
	try := func(other uint64) {
		if other == number || other>>(8*k.index.size) != 0 {
			return
		}
		way := r.way(k, other)
		n := 0
		for n < len(own) && n < len(way) && own[n].pc == way[n].pc {
			n++
		}
		if n < len(own) && n < len(way) {
			common = max(common, n)
		}
	}
	for i := range uint64(least) {
		try(i * each)
	}
	for i := range uint64(neighbours) {
		try(number + (i+1)*each)
		try(number - (i+1)*each)
	}
	if common == 0 {
		return nil
	}
	return own[common:]
}

// leads reports whether a number is that of a place: it leads to code that no other one leads to, or, where the
// compiler has made no branches, its functions put it into frames.
func (r *Runtime) leads(key placeKey) bool {
	ok, known := r.isPlace[key]
	if !known {
		k := key.kind
		ok = r.goesOn(k, key.number) != nil || len(r.stores(k, k.resume, key.number)) > 0 ||
			len(r.stores(k, k.ramp, key.number)) > 0
		if len(r.isPlace) < maxPlaces {
			r.isPlace[key] = ok
		}
	}
	return ok
}
