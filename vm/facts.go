package vm

import (
	"bytes"

	"github.com/fpstack/fpstack/mem"
)

// maxFacts bounds the bytes that are kept of what was read before a stop.
const maxFacts = 1 << 20

// facts is a memory that keeps what is read through it: what a runtime learned of the process before the stop. With
// it a recorded snapshot says the same again.
type facts struct {
	mem.Reader
	ranges []mem.Range
	size   int
}

// ReadMem implements mem.Reader.
func (f *facts) ReadMem(b []byte, addr mem.Addr) (int, error) {
	if f.Reader == nil {
		return 0, &mem.FaultError{Addr: addr, Len: len(b), Err: mem.ErrUnmapped}
	}
	n, err := f.Reader.ReadMem(b, addr)
	if n > 0 && f.size+n <= maxFacts {
		f.size += n
		f.ranges = append(f.ranges, mem.Range{Start: addr, Data: bytes.Clone(b[:n])})
	}
	return n, err
}
