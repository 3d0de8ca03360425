package tokio

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"slices"

	"github.com/fpstack/fpstack/code/emulate"
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/moment"
	"github.com/fpstack/fpstack/work"
)

// Where a task waits is known to its code alone: the function that polls it goes down to the future that it waits for,
// which says that it is not ready. So that function is run here, over a view of the memory in which nothing is written
// but an overlay: in the process nothing runs. Where it goes is the stack that the task would have.

const (
	// maxSteps bounds one dry run, instructions: 300 to 600 are usual.
	maxSteps = 20_000
	// maxRuns bounds the tasks that are run, and maxTraces the different ways that they take.
	maxRuns   = 1 << 13
	maxTraces = 1 << 12
	// maxPages bounds the pages of code that are held.
	maxPages = 1 << 10
	pageSize = 4096
	stepCost = 100
	// endOfRun is where the outermost function returns to.
	endOfRun = 1<<62 - 16
)

// step is where a run was: an instruction, and the calls that led to it.
type step struct {
	call int // of trace.calls, 0 for the outermost function
	pc   mem.Addr
}

// call is one that was made: from the function that call from led to.
type call struct {
	from int
	ret  mem.Addr
}

// trace is the way of a run: its calls, and each instruction of them that ran, in the order of the first time.
type trace struct {
	calls []call
	steps []step
	drops bool  // it is of a task that is dropped
	gives []int // the steps of that that may give something back: atomic ones, and later ones on the same words
}

// dry runs tasks.
type dry struct {
	r       *Runtime
	moment  *moment.Moment
	thread  mem.Addr                // thread pointer of the thread in whose place they run
	local   mem.Span[mem.Addr]      // the memory of that thread, of which it does not matter whether it changes
	pages   map[mem.Addr][]byte     // of local, as the run at hand has found them
	code    map[mem.Addr]*[2][]byte // pages, with their start in the next
	slots   map[uint64]imported
	frees   bool // the kernel is taken to do what it is asked for by [freeing]
	seed    maphash.Seed
	known   map[uint64]int // traces by their hash
	traces  []trace
	machine emulate.Machine
	heap    bump
	at      trace     // of the run at hand, with memory of the one before
	stack   []frameOf // of the machine
	seen    steps
	most    int                   // instructions of the run at hand
	tables  []mem.Span[mem.Addr]  // where the linker puts tables of functions
	wakers  []waker               // that were dropped, or left to who has the other end of a channel
	unwoken bool                  // more were, or may have been
	drops   map[mem.Addr]bool     // functions that were called, by whether they drop a waker
	recent  [recentReads]mem.Addr // where was read last
	held    int64                 // bytes of traces that the budget has given
}

type frameOf struct {
	call int
	cfa  uint64
}

func (r *Runtime) newDry(t *snapshot.Thread) *dry {
	d := &dry{r: r, thread: t.TP, pages: map[mem.Addr][]byte{}, code: map[mem.Addr]*[2][]byte{}, slots: r.slots(),
		drops: map[mem.Addr]bool{}, seed: maphash.MakeSeed(), known: map[uint64]int{}, tables: r.data()}
	if in := r.table.Find(t.TP); in != nil {
		d.local = mem.Span[mem.Addr]{Start: in.Start, End: in.End}
	}
	d.machine = emulate.Machine{ISA: r.port.isa, Code: d.codeAt, Decoded: new(emulate.Decoded), Read: d.read,
		Writable: d.writable, Call: d.called, Return: d.returned}
	return d
}

// codeAt are bytes of code that the process may execute at pc.
func (d *dry) codeAt(pc uint64) []byte {
	at := mem.Addr(pc) &^ (pageSize - 1)
	p, ok := d.code[at]
	if !ok {
		p = &[2][]byte{d.page(at), nil}
		if len(d.code) < maxPages {
			d.code[at] = p
		}
	}
	off := pc % pageSize
	if p[0] == nil || off+16 <= pageSize {
		return p[0][min(off, uint64(len(p[0]))):]
	}
	if p[1] == nil {
		next := d.page(at + pageSize)
		p[1] = slices.Concat(p[0][pageSize-16:], next[:min(16, len(next))])
	}
	return p[1][off-(pageSize-16):]
}

func (d *dry) page(at mem.Addr) []byte {
	m := d.r.table.Find(at)
	if m == nil || m.Perm&maps.Exec == 0 || !d.r.budget.Spend(readCost) {
		return nil
	}
	b := make([]byte, pageSize)
	if _, err := d.r.scratch.ReadMem(b, at); err != nil {
		return nil
	}
	if d.r.image.Keep != nil {
		d.r.image.Keep(mem.Range{Start: at, Data: b})
	}
	return b
}

func (d *dry) read(b []byte, a uint64) bool {
	at, end := mem.Addr(a), mem.Addr(a)+mem.Addr(len(b))-1
	switch {
	case own.Holds(at) && own.Holds(end):
		clear(b)
		return true
	case d.local.Holds(at):
		return d.readLocal(b, at)
	}
	if d.frees && d.machine.Atomic && len(b) <= wordSize { // a lock or a count that many share, whatever it is
		w, ok := d.moment.Peek(at)
		var word [wordSize]byte
		order.PutUint64(word[:], w)
		copy(b, word[:])
		return ok
	}
	got, ok := d.moment.Bytes(at, len(b))
	if ok {
		copy(b, got)
	}
	return ok
}

// readLocal fills b with memory of the thread, which is read once in a run: a page, or of a recording what there is.
func (d *dry) readLocal(b []byte, a mem.Addr) bool {
	start := a &^ (pageSize - 1)
	page, ok := d.pages[start]
	if !ok {
		page = make([]byte, pageSize)
		if _, err := d.r.scratch.ReadMem(page, start); err != nil || !d.r.budget.Spend(readCost) {
			page = nil
		}
		d.pages[start] = page
	}
	if off := int(a - start); off+len(b) <= len(page) {
		copy(b, page[off:])
	} else if _, err := d.r.scratch.ReadMem(b, a); err != nil || !d.r.budget.Spend(readCost) {
		return false
	}
	if d.r.image.Keep != nil {
		d.r.image.Keep(mem.Range{Start: a, Data: bytes.Clone(b)})
	}
	return true
}

func (d *dry) writable(a uint64, n int) bool {
	at := mem.Addr(a)
	if own.Holds(at) && own.Holds(at+mem.Addr(n)-1) {
		return true
	}
	m := d.r.table.Find(at)
	return m != nil && m.Perm&maps.Write != 0 && at+mem.Addr(n) <= m.End
}

// called hears of a call.
func (d *dry) called(slot uint64) bool {
	if f, ok := d.slots[slot]; ok && slot != 0 && (d.frees || !f.frees) && f.do(&d.machine, &d.heap) {
		return true
	}
	if d.frees {
		d.recent[0] = cmp.Or(mem.Addr(slot), d.recent[0])
		d.dropped()
	}
	cfa := d.machine.CFA()
	if len(d.stack) > 0 && d.stack[len(d.stack)-1].cfa == cfa { // in the place of the function that was called
		return false
	}
	d.at.calls = append(d.at.calls, call{from: d.inside(), ret: mem.Addr(d.machine.ReturnAddress())})
	d.stack = append(d.stack, frameOf{len(d.at.calls), cfa})
	return false
}

// inside is the call that is at hand, 0 for the outermost function.
func (d *dry) inside() int {
	if n := len(d.stack); n > 0 {
		return d.stack[n-1].call
	}
	return 0
}

// returned hears of a return.
func (d *dry) returned() {
	for n := len(d.stack); n > 0 && d.stack[n-1].cfa <= d.machine.SP(); n-- {
		d.stack = d.stack[:n-1]
	}
}

// way is what a run has shown.
type way struct {
	trace   int // -1 for none
	touched []touch
}

// touch is the memory that a step of a trace was about, the first time that it ran: neither a stack nor of a thread.
type touch struct {
	step   int
	at     mem.Addr
	atomic bool // it was read and written as one
	takes  bool // it is the task whose result is asked for
}

// poll runs what polls task t, as if it had been woken.
func (d *dry) poll(t *task) (way, error) {
	if err := d.begin(t, t.vtable.poll, t.state|stateNotified); err != nil {
		return way{trace: -1}, err
	}
	return d.polled()
}

// polled runs until what polls a task returns.
func (d *dry) polled() (way, error) {
	w, err := d.run()
	if err != nil {
		return way{trace: -1}, err
	}
	w.trace, err = d.number()
	return w, err
}

// drop runs what frees task t, and with it all that its future has. That it does not come to an end is no error: what
// it gave back until then is shown.
func (d *dry) drop(t *task) (way, error) {
	if err := d.begin(t, t.vtable.dealloc, t.state); err != nil {
		return way{trace: -1}, err
	}
	d.frees = true
	w, err := d.run()
	d.frees, d.unwoken = false, d.unwoken || err != nil
	if refused := d.r.budget.Refusal(); err != nil && errors.Is(err, refused) {
		return way{trace: -1}, err
	}
	d.at.drops = true
	for i, t := range w.touched {
		// Who drops the sender after the receiver only looks at what the receiver has written.
		written := func(other touch) bool { return other.atomic && other.at == t.at }
		if t.atomic || slices.ContainsFunc(w.touched[:i], written) {
			d.at.gives = append(d.at.gives, t.step)
		}
	}
	w.trace, err = d.number()
	return w, err
}

// begin makes the machine ready to call a function of task t, which is in that state then.
func (d *dry) begin(t *task, function mem.Addr, state uint64) error {
	m := &d.machine
	m.Forget()
	d.heap, d.wakers, d.unwoken, d.recent, d.most = bump{}, nil, false, [recentReads]mem.Addr{}, maxSteps
	m.TP = uint64(d.thread)
	clear(d.pages)
	if b, ok := d.moment.Bytes(t.at, headerSize); !ok || order.Uint64(b[headerState:]) != t.state {
		return errChanged
	}
	if !m.SetWord(uint64(t.at), state) {
		return emulate.ErrMemory
	}
	d.call(function, uint64(t.at))
	return nil
}

// call makes the machine ready to call a function, of which it is all that a trace shows.
func (d *dry) call(function mem.Addr, argument uint64) {
	d.at, d.stack = trace{calls: d.at.calls[:0], steps: d.at.steps[:0]}, d.stack[:0]
	d.seen.clear()
	d.machine.Begin(uint64(function), uint64(own.Start)+ownStack-4096, endOfRun, argument)
}

// run runs until the function returns.
func (d *dry) run() (w way, err error) {
	m, purse := &d.machine, d.r.budget.Purse()
	w.trace = -1
	for n := 0; m.PC != endOfRun; n++ {
		if n == d.most {
			return w, emulate.ErrSteps
		}
		if !purse.Spend(stepCost) {
			return w, d.r.budget.Refusal()
		}
		s := step{d.inside(), mem.Addr(m.PC)}
		first := d.seen.add(s)
		if first {
			d.at.steps = append(d.at.steps, s)
		}
		if first && d.r.takes[s.pc] {
			w.touched = append(w.touched, touch{len(d.at.steps) - 1, mem.Addr(m.Argument(0)), false, true})
		}
		if err := m.Step(); err != nil {
			return w, err
		}
		at := mem.Addr(m.Touched)
		if at == 0 || !first && !d.frees || own.Holds(at) {
			continue
		}
		if d.frees {
			d.recent[n%recentReads] = at
			if m.Atomic && d.writable(uint64(at), 1) {
				d.left(at)
			}
		}
		if first && !d.local.Holds(at) && d.writable(uint64(at), 1) {
			w.touched = append(w.touched, touch{len(d.at.steps) - 1, at, m.Atomic, false})
		}
	}
	return w, nil
}

// stepBytes and callBytes are what a trace holds of each.
const (
	stepBytes = 24
	callBytes = 24
)

// release gives back what traces have held.
func (d *dry) release() {
	d.r.budget.Release(d.held)
	d.held, d.traces = 0, nil
}

// number is that of the trace at hand.
func (d *dry) number() (int, error) {
	var h maphash.Hash
	h.SetSeed(d.seed)
	var b [16]byte
	for _, s := range d.at.steps {
		binary.LittleEndian.PutUint64(b[:], uint64(s.call))
		binary.LittleEndian.PutUint64(b[8:], uint64(s.pc))
		h.Write(b[:])
	}
	sum := h.Sum64()
	if n, ok := d.known[sum]; ok {
		return n, nil
	}
	bytes := int64(len(d.at.steps))*stepBytes + int64(len(d.at.calls))*callBytes
	switch {
	case len(d.traces) == maxTraces:
		return -1, errWays
	case !d.r.budget.Hold(bytes):
		return -1, work.ErrMemory
	}
	d.held += bytes
	n := len(d.traces)
	d.known[sum] = n
	d.traces = append(d.traces, trace{slices.Clone(d.at.calls), slices.Clone(d.at.steps), d.at.drops, d.at.gives})
	return n, nil
}
