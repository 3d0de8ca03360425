//go:build linux

package tracer

import (
	"errors"

	"github.com/fpstack/fpstack/mem"
	"golang.org/x/sys/unix"
)

// maxVector is UIO_MAXIOV of linux/include/uapi/linux/uio.h: more pieces are EINVAL.
const maxVector = 1024

// piece is a range to copy: len(data) bytes at addr, of which got were had.
type piece struct {
	addr mem.Addr
	data []byte
	got  int
}

// vector reads many pieces with few system calls. It is made before a stop, so that
// nothing is allocated in one.
type vector struct {
	local  []unix.Iovec
	remote []unix.RemoteIovec
}

func newVector(n int) *vector {
	n = min(n, maxVector)
	return &vector{local: make([]unix.Iovec, 0, n), remote: make([]unix.RemoteIovec, 0, n)}
}

// read fills pieces by process_vm_readv, each as far as memory is mapped. A hole ends a
// call and hides the pieces behind it, so the next call begins behind the hole.
//
// It can sleep for ever in the kernel on a page that nobody serves: the caller lets a
// thread run it that it can do without. It fails if the call is not to be had at all.
func (v *vector) read(tid int, pieces []piece) error {
	for len(pieces) > 0 {
		batch := pieces[:min(len(pieces), cap(v.local))]
		v.fill(batch)
		n, err := unix.ProcessVMReadv(tid, v.local, v.remote, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil && !errors.Is(err, unix.EFAULT) {
			return err
		}
		pieces = pieces[share(batch, max(n, 0)):]
	}
	return nil
}

// fill describes batch. Neighbours in our memory become one local vector, which the
// kernel handles faster.
func (v *vector) fill(batch []piece) {
	v.local, v.remote = v.local[:0], v.remote[:0]
	next := &batch[0].data[0]
	total := 0
	for i := range batch {
		b := batch[i].data
		if len(v.local) == 0 || next != &b[0] {
			v.local = append(v.local, unix.Iovec{Base: &b[0]})
			total = 0
		}
		total += len(b)
		v.local[len(v.local)-1].SetLen(total)
		v.remote = append(v.remote, unix.RemoteIovec{Base: uintptr(batch[i].addr), Len: len(b)})
		if cap(b) > len(b) {
			next = &b[:len(b)+1][len(b)]
		} else {
			next = nil
		}
	}
}

// share deals the n bytes that were read out to batch, and returns how many pieces are
// done with: those before the hole and the one in it.
func share(batch []piece, n int) int {
	for i := range batch {
		batch[i].got = min(n, len(batch[i].data))
		n -= batch[i].got
		if batch[i].got < len(batch[i].data) {
			return i + 1
		}
	}
	return len(batch)
}
