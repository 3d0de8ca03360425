//go:build linux

package tracer

import (
	"errors"
	"unsafe"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/tracer/ptrace"
	"golang.org/x/sys/unix"
)

var (
	// errMappedFile says that a stack lies in a mapped file, whose pages somebody may have to
	// bring while the thread is stopped.
	errMappedFile = errors.New("stack lies in a mapped file")
	errNoStack    = errors.New("stack cannot be read")
	errCut        = errors.New("not copied while the thread was stopped")
	errStackTotal = errors.New("limit on the bytes copied of all stacks is reached")
)

// stackCopy is the copied part of one stack. It is used by dumps and recordings alike.
type stackCopy struct {
	stack mem.Range
	err   error  // why it is shorter than wanted
	buf   []byte // what stack lies in; kept for the next copy
	win   window
	cut   mem.FaultError // of err
}

// read copies what win says. r are the registers, nil if unknown. It fails with ErrExec alone.
func (c *stackCopy) read(m *memory, ws *windows, win window, r *regs.Registers) error {
	c.win, c.stack, c.err = win, mem.Range{}, nil
	if win.size == 0 {
		c.err = errStackTotal
		return nil
	}
	start := win.start
	b := c.room(win.size)
	n, err := m.quickRead(b, start)
	if next := (start + pageSize) &^ (pageSize - 1); n == 0 && err == nil {
		return ErrExec
	} else if n <= 0 && int(next-start) < len(b) {
		// What lies below SP need not be mapped.
		b = b[next-start:]
		start = next
		n, _ = m.quickRead(b, start)
	}
	c.stack = mem.Range{Start: start, Data: b[:max(n, 0):max(n, 0)]}
	if win.open && n == len(b) && r != nil {
		c.deepen(m, ws, r)
	}
	switch end := c.stack.End(); {
	case n <= 0:
		c.err = errNoStack
	case !win.open && end < win.top:
		c.cut = mem.FaultError{Addr: end, Len: int(win.top - end), Err: errCut}
		c.err = &c.cut
	}
	return nil
}

// shortness is err, in memory of its own.
func (c *stackCopy) shortness() error {
	if c.err == error(&c.cut) {
		cut := c.cut
		return &cut
	}
	return c.err
}

// deepen enlarges the copy of a stack whose upper end is not known as far as a chain of
// frame pointers leads out of it. Each round quadruples the copy.
func (c *stackCopy) deepen(m *memory, ws *windows, r *regs.Registers) {
	for leadsOut(r, c.stack, c.win.top) {
		size := len(c.stack.Data)
		more := min(size*3, int(c.win.top-c.stack.End()), ws.limit-size, ws.total)
		if more <= 0 {
			c.err = errStackTotal
			return
		}
		ws.total -= more
		b := c.room(size + more)
		if &b[0] != &c.stack.Data[0] {
			copy(b, c.stack.Data)
		}
		n, _ := m.quickRead(b[size:], c.stack.End())
		c.stack.Data = b[: size+max(n, 0) : size+max(n, 0)]
		if n < more {
			return
		}
	}
}

// room returns n bytes of the buffer, which only grows.
func (c *stackCopy) room(n int) []byte {
	if n > len(c.buf) {
		grown := make([]byte, max(n, 2*len(c.buf)))
		copy(grown, c.buf)
		c.buf = grown
	}
	return c.buf[:n]
}

// maxFrame bounds the size of a frame in a chain that enlarges a copy, bytes.
const maxFrame = 256 << 10

// leadsOut follows the chain of frame pointers, where [fp] is the caller's, and shows
// whether it leaves the copy at its upper end within the mapping. A register that is no
// frame pointer seldom gives a chain of three.
func leadsOut(r *regs.Registers, stack mem.Range, top mem.Addr) bool {
	a := r.Arch
	fp, ok := r.FP()
	if !ok || a != regs.AMD64 && a != regs.I386 && a != regs.ARM64 {
		return false
	}
	for links := 0; ; links++ { // ends: fp grows within the copy
		b, ok := stack.Bytes(fp, 2*a.WordSize)
		if !ok {
			return links >= 3 && fp < top && uint64(fp)%uint64(a.WordSize) == 0
		}
		next := mem.Addr(word(a, b))
		if next <= fp || next-fp > maxFrame {
			return false
		}
		fp = next
	}
}

func word(a *regs.Arch, b []byte) uint64 {
	if a.WordSize == 4 {
		return uint64(a.Order.Uint32(b))
	}
	return a.Order.Uint64(b)
}

// quickRead reads memory that needs nobody but the kernel, in one call and unknown to
// the scheduler. It returns what came before a hole; 0 without an error says that the
// program is gone.
func (m *memory) quickRead(b []byte, addr mem.Addr) (int, error) {
	if m.fd < 0 {
		return m.readSome(b, addr)
	}
	return rawPread(m.fd, b, uint64(addr))
}

// rawPread is pread unknown to the scheduler.
func rawPread(fd int, b []byte, offset uint64) (int, error) {
	if ptrace.WordSize == 4 { // a 64-bit offset takes two arguments there
		return unix.Pread(fd, b, int64(offset))
	}
	n, _, e := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
		uintptr(offset), 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}
