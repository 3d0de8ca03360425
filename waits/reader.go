package waits

import (
	"path"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/mem"
)

// reader reads the memory of a process as far as it was read, and asks for the rest.
type reader struct {
	s       *study
	p       *Process
	pending bool // something was asked for: what is said now is said again when it was read
}

func (s *study) memory(p *Process) *reader { return &reader{s: s, p: p} }

// fill reads the bytes at addr into b. It is false if they are not known, or not yet.
func (r *reader) fill(b []byte, addr mem.Addr) bool {
	if addr+mem.Addr(len(b)) < addr || addr < 4096 {
		return false
	}
	switch r.p.Memory.bytes(b, addr) {
	case unread:
		r.s.need.memory(r.p.PID, addr, len(b))
		r.pending = true
		return false
	case unreadable:
		return false
	}
	return true
}

// bytes returns the n bytes at addr, as fill reads them.
func (r *reader) bytes(addr mem.Addr, n int) ([]byte, bool) {
	b := make([]byte, n)
	if !r.fill(b, addr) {
		return nil, false
	}
	return b, true
}

// prefetch asks for at most 128 bytes that will be wanted.
func (r *reader) prefetch(addr mem.Addr, n int) {
	var b [128]byte
	r.fill(b[:min(n, len(b))], addr)
}

func (r *reader) u32(addr mem.Addr) (uint32, bool) {
	var b [4]byte
	ok := r.fill(b[:], addr)
	return u32(b[:]), ok
}

// word reads an address or unsigned long of the process.
func (r *reader) word(addr mem.Addr) (uint64, bool) {
	if r.p.Word == 4 {
		n, ok := r.u32(addr)
		return uint64(n), ok
	}
	var b [8]byte
	ok := r.fill(b[:], addr)
	return u64(b[:]), ok
}

// words reads n neighbours of 32 bits.
func (r *reader) words(addr mem.Addr, n int) ([]uint32, bool) {
	b, ok := r.bytes(addr, 4*n)
	if !ok {
		return nil, false
	}
	out := make([]uint32, n)
	for i := range out {
		out[i] = u32(b[4*i:])
	}
	return out, true
}

// timespec reads a struct timespec, with 32-bit members if narrow.
func (r *reader) timespec(addr mem.Addr, narrow bool) (seconds, nanos int64, ok bool) {
	if narrow {
		v, ok := r.words(addr, 2)
		if !ok {
			return 0, 0, false
		}
		return int64(int32(v[0])), int64(int32(v[1])), true
	}
	b, ok := r.bytes(addr, 16)
	if !ok {
		return 0, 0, false
	}
	seconds, nanos = int64(u64(b)), int64(u64(b[8:]))
	const most = 1 << 33 // seconds that a Duration holds
	return seconds, nanos, seconds >= 0 && seconds < most && nanos >= 0 && nanos < 1e9
}

// base is the last part of a path.
func base(file string) string { return path.Base(file) }

func hasPrefix(name string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
