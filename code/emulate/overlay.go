package emulate

import "encoding/binary"

const (
	pageSize = 4096
	wordBits = 64
	// maxPages bounds the pages that a machine writes to: 4 MB.
	maxPages = 1 << 10
)

// overlay is what was written, by page.
type overlay struct {
	pages map[uint64]*page
	free  []*page // of runs before
}

type page struct {
	data    [pageSize]byte
	written [pageSize / wordBits]uint64 // a bit for each byte
}

func (p *page) has(i int) bool { return p.written[i/wordBits]>>(i%wordBits)&1 != 0 }

// over lays what was written over b, the memory at a, and reports how much of it that is.
func (o *overlay) over(b []byte, a uint64) (n int) {
	if len(o.pages) == 0 {
		return 0
	}
	var p *page
	for i := range b {
		at := a + uint64(i)
		if i == 0 || at%pageSize == 0 {
			p = o.pages[at/pageSize]
		}
		if k := int(at % pageSize); p != nil && p.has(k) {
			b[i] = p.data[k]
			n++
		}
	}
	return n
}

// put writes b at a, and reports whether there was room.
func (o *overlay) put(b []byte, a uint64) bool {
	if o.pages == nil {
		o.pages = map[uint64]*page{}
	}
	var p *page
	for i := range b {
		at := a + uint64(i)
		if i == 0 || at%pageSize == 0 {
			p = o.pages[at/pageSize]
			if p == nil {
				if len(o.pages) == maxPages {
					return false
				}
				p = o.fresh()
				o.pages[at/pageSize] = p
			}
		}
		k := int(at % pageSize)
		p.data[k] = b[i]
		p.written[k/wordBits] |= 1 << (k % wordBits)
	}
	return true
}

// fresh is a page that nothing is written to.
func (o *overlay) fresh() *page {
	n := len(o.free)
	if n == 0 {
		return new(page)
	}
	p := o.free[n-1]
	o.free, p.written = o.free[:n-1], [pageSize / wordBits]uint64{}
	return p
}

// clear gives up all that was written.
func (o *overlay) clear() {
	for _, p := range o.pages {
		o.free = append(o.free, p)
	}
	clear(o.pages)
}

// Forget gives up all that was written, and that a run has failed.
func (m *Machine) Forget() {
	m.overlay.clear()
	m.fault = nil
}

// Load fills b with the memory at a as the code sees it, and reports whether it could; the run is over if not.
func (m *Machine) Load(b []byte, a uint64) bool {
	if a+uint64(len(b)) < a {
		m.fail(ErrMemory)
		return false
	}
	if m.overlay.over(b, a) == len(b) {
		return true
	}
	if m.Read == nil || !m.Read(b, a) {
		m.fail(ErrMemory)
		return false
	}
	m.overlay.over(b, a)
	return true
}

// Store writes b at a to the overlay, and reports whether it could; the run is over if not.
func (m *Machine) Store(b []byte, a uint64) bool {
	switch {
	case a+uint64(len(b)) < a, !m.mayWrite(a, len(b)):
		m.fail(ErrMemory)
	case !m.overlay.put(b, a):
		m.fail(ErrRoom)
	default:
		return true
	}
	return false
}

func (m *Machine) mayWrite(a uint64, n int) bool {
	if m.Writable != nil {
		return m.Writable(a, n)
	}
	b := make([]byte, n)
	return m.Read != nil && m.Read(b, a)
}

// load is the integer of size bytes at a, 0 where the run is over.
func (m *Machine) load(a uint64, size int) uint64 {
	var b [8]byte
	if !m.Load(b[:size], a) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

func (m *Machine) store(a uint64, size int, v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	m.Store(b[:size], a)
}

// Word is the word at a as the code sees it, false if it is not to be had.
func (m *Machine) Word(a uint64) (uint64, bool) {
	var b [8]byte
	ok := m.Load(b[:], a)
	return binary.LittleEndian.Uint64(b[:]), ok
}

// SetWord writes a word to the overlay.
func (m *Machine) SetWord(a, v uint64) bool {
	m.store(a, 8, v)
	return m.fault == nil
}
