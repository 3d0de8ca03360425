//go:build linux

package tracer

import (
	"errors"
	"time"

	"github.com/fpstack/fpstack/mem"
)

const (
	// fewPieces is the number of stacks up to which this thread reads each by itself, which
	// takes no longer than to wake the copier.
	fewPieces = 64
	// copyTime bounds how long the copier may take while threads stand.
	copyTime = 250 * time.Millisecond
)

// collect copies registers, stacks and what the Copiers ask for, of the threads from index
// from on that stand.
func (s *stop) collect(from int) {
	s.pieces, s.of = s.pieces[:0], s.of[:0]
	for i := from; i < len(s.threads); i++ {
		t := &s.threads[i]
		if t.phase != stopped {
			continue
		}
		if i%64 == 63 && s.over() {
			s.problem("not all threads were read within the longest pause")
			break
		}
		if s.registers(t) {
			s.plan(i)
		}
	}
	s.copyStacks()
	for k, i := range s.of {
		s.settleStack(&s.threads[i], &s.pieces[k])
	}
	if len(s.of) > 0 && s.memory.replaced(s.pieces[0].addr) {
		s.exec = true
		return
	}
	if len(s.opt.Copiers) > 0 && len(s.of) > 0 {
		s.fetch(from)
	}
}

// plan adds the stack of thread i to the pieces to copy.
func (s *stop) plan(i int) {
	t := &s.threads[i]
	sp, ok := t.regs.SP()
	if !ok || sp == 0 {
		return
	}
	room := s.windows.total
	t.win = s.windows.find(sp, t.tp)
	if t.win.size >= room && room < s.p.opt.StackTotal { // all that is left, and maybe not all of it
		t.crowded, s.windows.total = true, room
		return
	}
	if t.win.size == 0 {
		t.stkErr = errStackTotal
		return
	}
	s.pieces = append(s.pieces, piece{addr: t.win.start, data: s.arena.take(t.win.size)})
	s.of = append(s.of, i)
}

var errStackTotal = errors.New("limit on the bytes copied of all stacks is reached")

// copyStacks fills the pieces.
func (s *stop) copyStacks() {
	if len(s.pieces) == 0 {
		return
	}
	direct := len(s.pieces) <= fewPieces && s.memory.fd >= 0
	for k := 0; direct && k < len(s.of); k++ {
		direct = s.threads[s.of[k]].win.quick
	}
	if direct {
		for k := range s.pieces {
			s.pieces[k].got, _ = s.memory.read(s.pieces[k].data, s.pieces[k].addr)
		}
		return
	}
	pieces := s.pieces
	err := s.copier.do(func() {
		if s.vector.read(s.memory.tid, pieces) != nil {
			readEach(s.memory, pieces)
		}
	}, min(copyTime, s.opt.MaxPause))
	switch {
	case errors.Is(err, errNotInTime):
		s.problem("a page of a stack did not come")
		s.copyAgain()
	case err != nil:
		s.problem(err.Error())
		s.copyAgain()
	}
}

// copyAgain reads the stacks by /proc/PID/mem, into fresh memory, when the copier sleeps in
// the kernel on a page that does not come. The file skips such pages.
func (s *stop) copyAgain() {
	fresh := make([]piece, len(s.pieces))
	for k := range fresh {
		fresh[k] = piece{addr: s.pieces[k].addr, data: make([]byte, len(s.pieces[k].data))}
		if s.memory.fd >= 0 && s.threads[s.of[k]].win.quick && !s.over() {
			fresh[k].got, _ = s.memory.read(fresh[k].data, fresh[k].addr)
		}
	}
	s.pieces = fresh
}

func readEach(m *memory, pieces []piece) {
	for k := range pieces {
		pieces[k].got, _ = m.read(pieces[k].data, pieces[k].addr)
	}
}

// settleStack gives a thread the copy of its stack, makes up for a window that began in a
// hole, and follows the frames that lead beyond it.
func (s *stop) settleStack(t *tracee, p *piece) {
	t.stack = rangeOf(p)
	if p.got == 0 {
		s.fromNextPage(t, p)
	}
	if t.win.open && p.got == len(p.data) && t.win.quick {
		s.deepen(t)
	}
	if known := t.win.top; !t.win.open && t.stack.End() < known {
		t.stkErr = &mem.FaultError{Addr: t.stack.End(), Len: int(known - t.stack.End()), Err: errCut}
	}
}

var errCut = errors.New("not copied while the thread stood")

// fromNextPage reads from the page of SP, then from the page above: what lies below SP
// need not be mapped, nor all of the stack.
func (s *stop) fromNextPage(t *tracee, p *piece) {
	if !t.win.quick && t.win.top != 0 {
		return
	}
	next := (p.addr + pageSize) &^ (pageSize - 1)
	if skip := int(next - p.addr); skip < len(p.data) {
		fresh := make([]byte, len(p.data)-skip) // the old one may still be written to
		n, _ := s.memory.read(fresh, next)
		t.stack = mem.Range{Start: next, Data: fresh[:n:n]}
	}
}
