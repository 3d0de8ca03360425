package cpython

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/cpython/object"
)

// liveMemory is the memory of the running process.
type liveMemory struct{ mem.Reader }

// Bytes implements object.Memory.
func (m liveMemory) Bytes(addr mem.Addr, n int) ([]byte, bool) {
	b := make([]byte, n)
	if _, err := m.ReadMem(b, addr); err != nil {
		return nil, false
	}
	return b, true
}

// perStep is how many bytes take about as long to copy as it takes to find them.
const perStep = 64

// stepsOf is what reading n bytes at one address costs.
func stepsOf(n int) int { return 1 + max(n, 0)/perStep }

// bounded is memory of which only so much is read: what a target holds says where to read next, and how often.
type bounded struct {
	object.Memory
	left int // steps; below 0: nothing is read any more
}

// Bounds of what is read, in steps ([stepsOf]): of what was copied, some 100 ns each, and of a running process, where
// each is a system call.
const (
	maxCopiedSteps = 1 << 24
	maxLiveSteps   = 1 << 22
)

// Bytes implements object.Memory.
func (m *bounded) Bytes(addr mem.Addr, n int) ([]byte, bool) {
	if m.left < 0 {
		return nil, false
	}
	if m.left -= stepsOf(n); m.left < 0 {
		return nil, false
	}
	return m.Memory.Bytes(addr, n)
}

// spent reports whether something was not read because of the bound.
func (m *bounded) spent() bool { return m.left < 0 }

// copiedMemory is what was copied of a thread while it was stopped.
type copiedMemory struct{ t *snapshot.Thread }

// Bytes implements object.Memory.
func (m copiedMemory) Bytes(addr mem.Addr, n int) ([]byte, bool) {
	for i := range m.t.Copied {
		if b, ok := m.t.Copied[i].Bytes(addr, n); ok {
			return b, true
		}
	}
	return m.t.Stack.Bytes(addr, n)
}

// chainMemory is a copiedMemory for who follows a chain through many ranges: most lie in the range of the one before.
type chainMemory struct {
	copiedMemory
	last int // the range that was used last
}

// Bytes implements object.Memory.
func (m *chainMemory) Bytes(addr mem.Addr, n int) ([]byte, bool) {
	if m.last < len(m.t.Copied) {
		if b, ok := m.t.Copied[m.last].Bytes(addr, n); ok {
			return b, true
		}
	}
	for i := range m.t.Copied {
		if b, ok := m.t.Copied[i].Bytes(addr, n); ok {
			m.last = i
			return b, true
		}
	}
	return m.t.Stack.Bytes(addr, n)
}

// fetching is the memory of a stopped thread, of which all that is read is kept.
type fetching struct{ f *snapshot.Fetcher }

// Bytes implements object.Memory.
func (m fetching) Bytes(addr mem.Addr, n int) ([]byte, bool) {
	if b, ok := m.f.Bytes(addr, n); ok {
		return b, true
	}
	if !m.f.Fetch(snapshot.Want{Addr: addr, Len: n}) {
		return nil, false
	}
	return m.f.Bytes(addr, n)
}
