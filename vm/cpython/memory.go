package cpython

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
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
