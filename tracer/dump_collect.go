//go:build linux

package tracer

import (
	"errors"
	"time"
)

// copyTime bounds how long stacks in mapped files may take while threads are stopped.
const copyTime = 250 * time.Millisecond

// collect copies registers, stacks and what the Copiers ask for, of the threads from index
// from on that are stopped.
func (s *stop) collect(from int) {
	slow, read := false, false
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
			slow, read = s.copyStack(t) || slow, true
		}
		if s.exec {
			return
		}
	}
	if slow {
		s.copySlow(from)
	}
	if read && s.memory.replaced(s.table.All()[0].Start) {
		s.exec = true
		return
	}
	if read && len(s.opt.Copiers) > 0 {
		s.fetch(from)
	}
}

// registers reads the registers of a thread that is stopped.
func (s *stop) registers(t *dumped) bool {
	err := t.registers.read(s.p, t.tid, &s.note)
	switch err {
	case nil:
		t.showStop()
		return true
	case ErrNoThread:
		s.lose(&t.tracee)
	default:
		t.err = err
	}
	return false
}

// copyStack copies the stack of a thread that is stopped. It reports whether that lies in a file, and was not read.
func (s *stop) copyStack(t *dumped) (slow bool) {
	sp, ok := t.regs.SP()
	if !ok || sp == 0 {
		return false
	}
	room := s.windows.total
	win := s.windows.find(sp, t.tp)
	if win.size >= room && room < s.p.opt.StackTotal { // all that is left, and maybe not all of it
		t.crowded, s.windows.total = true, room
		return false
	}
	if t.win = win; !win.quick && win.top != 0 {
		return win.size > 0
	}
	t.buf = s.arena.take(win.size)
	if t.stackCopy.read(s.memory, &s.windows, win, &t.regs) != nil {
		s.exec = true
	}
	return false
}

// copySlow copies the stacks that lie in files, on the copier: the pages of a file may never come.
func (s *stop) copySlow(from int) {
	var of []*dumped
	var read []stackCopy
	for i := from; i < len(s.threads); i++ {
		if t := &s.threads[i]; t.phase == stopped && t.win.size > 0 && t.buf == nil {
			of, read = append(of, t), append(read, stackCopy{win: t.win, buf: make([]byte, t.win.size)})
		}
	}
	m, ws := s.memory, s.windows // what is charged for growth is lost: it is little
	err := s.copier.do(func() {
		for i := range read {
			_ = read[i].read(m, &ws, read[i].win, nil)
		}
	}, min(copyTime, s.opt.MaxPause))
	for i, t := range of {
		t.stackCopy.err = errMappedFile
		if err == nil {
			t.stackCopy = read[i]
		}
	}
	switch {
	case errors.Is(err, errNotInTime):
		s.problem("a page of a stack did not come")
	case err != nil:
		s.problem(err.Error())
	}
}
