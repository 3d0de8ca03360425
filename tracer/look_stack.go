//go:build linux

package tracer

import (
	"errors"
	"unsafe"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"golang.org/x/sys/unix"
)

// errMappedFile says that a stack lies in a mapped file, whose pages somebody may have to
// bring while the thread stands.
var errMappedFile = errors.New("stack lies in a mapped file")

var errNoStack = errors.New("stack cannot be read")

// copyStack copies the used part of the stack at SP of c.
func (l *Looker) copyStack(w *Watch, c *Copy, table *maps.Table) error {
	sp, ok := c.regs.SP()
	if !ok || sp == 0 {
		return nil
	}
	l.windows.table, l.windows.limit, l.windows.total = table, l.opt.StackLimit, l.opt.StackLimit
	err := c.copyStack(w.p.memory.Load(), &l.windows, sp, c.tp)
	w.window, w.windowOf = c.win, table
	return err
}

// copyStack fills Thread.Stack with what lies from sp up. It fails only with ErrExec.
func (c *Copy) copyStack(m *memory, ws *windows, sp, tp mem.Addr) error {
	c.win = ws.find(sp, tp)
	c.Stale = c.win.top == 0
	switch {
	case !c.win.quick && !c.Stale:
		c.Thread.StackErr = errMappedFile
		return nil
	case c.win.size == 0:
		c.Thread.StackErr = errStackTotal
		return nil
	}
	start := c.win.start
	b := c.room(c.win.size)
	n, err := m.quickRead(b, start)
	if next := (start + pageSize) &^ (pageSize - 1); n == 0 && err == nil {
		return ErrExec
	} else if n == 0 && int(next-start) < len(b) {
		// What lies below SP need not be mapped.
		b = b[next-start:]
		start = next
		n, _ = m.quickRead(b, start)
	}
	c.Thread.Stack = mem.Range{Start: start, Data: b[:max(n, 0):max(n, 0)]}
	if c.win.open && n == len(b) {
		c.deepen(m, ws.limit)
	}
	switch end := c.Thread.Stack.End(); {
	case n <= 0:
		c.Thread.StackErr = errNoStack
	case !c.win.open && end < c.win.top:
		c.cut = mem.FaultError{Addr: end, Len: int(c.win.top - end), Err: errCut}
		c.Thread.StackErr = &c.cut
	}
	return nil
}

// deepen enlarges the copy of a stack whose upper end is not known as far as a chain of
// frame pointers leads out of it.
func (c *Copy) deepen(m *memory, limit int) {
	stack := &c.Thread.Stack
	for c.Thread.Registers != nil && leadsOut(c.Thread.Registers, *stack, c.win.top) {
		size := len(stack.Data)
		more := min(size*3, int(c.win.top-stack.End()), limit-size)
		if more <= 0 {
			c.Thread.StackErr = errStackTotal
			return
		}
		b := c.room(size + more)
		if &b[0] != &stack.Data[0] {
			copy(b, stack.Data)
		}
		n, _ := m.quickRead(b[size:], stack.End())
		stack.Data = b[: size+max(n, 0) : size+max(n, 0)]
		if n < more {
			return
		}
	}
}

// room returns n bytes of the buffer, which keeps its size from look to look.
func (c *Copy) room(n int) []byte {
	if n > len(c.buf) {
		grown := make([]byte, max(n, 2*len(c.buf)))
		copy(grown, c.buf)
		c.buf = grown
	}
	return c.buf[:n]
}

// quickRead reads memory that needs nobody but the kernel, in one call and without telling
// the scheduler. It returns what came before a hole; 0 without an error says that the
// program is gone.
func (m *memory) quickRead(b []byte, addr mem.Addr) (int, error) {
	if m.fd < 0 {
		return m.readSome(b, addr)
	}
	return rawPread(m.fd, b, uint64(addr))
}

// rawPread is pread without telling the scheduler.
func rawPread(fd int, b []byte, offset uint64) (int, error) {
	if wordSize == 4 { // a 64-bit offset takes two arguments there
		return unix.Pread(fd, b, int64(offset))
	}
	n, _, e := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(offset), 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}
