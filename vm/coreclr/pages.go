package coreclr

import "github.com/fpstack/fpstack/mem"

// pages reads memory by pages and keeps these: for what does not change, or for an answer that takes a hundred thousand
// small reads. It is for one goroutine at a time.
type pages struct {
	from mem.Reader
	held map[mem.Addr][]byte // nil for a page that cannot be read whole
}

const (
	pageSize = 4 << 10
	maxPages = 4 << 10 // then all are forgotten
)

func newPages(from mem.Reader) *pages { return &pages{from: from, held: map[mem.Addr][]byte{}} }

// forget forgets what was read.
func (p *pages) forget() { clear(p.held) }

// ReadMem implements mem.Reader.
func (p *pages) ReadMem(b []byte, addr mem.Addr) (int, error) {
	if len(b) > 4*pageSize {
		return p.from.ReadMem(b, addr)
	}
	done := 0
	for done < len(b) {
		at := addr + mem.Addr(done)
		page := p.page(at &^ (pageSize - 1))
		if page == nil {
			n, err := p.from.ReadMem(b[done:], at)
			return done + n, err
		}
		done += copy(b[done:], page[at%pageSize:])
	}
	return done, nil
}

// page returns the page at a, nil if it cannot be read whole.
func (p *pages) page(a mem.Addr) []byte {
	if b, ok := p.held[a]; ok {
		return b
	}
	if len(p.held) >= maxPages {
		clear(p.held)
	}
	b := make([]byte, pageSize)
	if _, err := p.from.ReadMem(b, a); err != nil {
		b = nil
	}
	p.held[a] = b
	return b
}
