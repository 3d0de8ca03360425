package coreclr

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/work"
)

// pages reads memory by pages and keeps these: for an answer that takes a hundred thousand small reads, or of a module
// for as long as that is the same. It is for one goroutine at a time.
type pages struct {
	from mem.Reader
	held *sites.Recent[pageKey, []byte]
	of   uint64 // which of those that share held
}

type pageKey struct {
	of uint64
	at mem.Addr
}

const (
	pageSize = 4 << 10
	maxPages = 16 << 20 // bytes
)

func newPages(from mem.Reader, b *work.Budget) *pages {
	held := sites.NewRecent[pageKey, []byte](b, maxPages)
	return &pages{from: from, held: &held}
}

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

// page returns the page at a, nil if it cannot be read whole: now, as it may be read later.
func (p *pages) page(a mem.Addr) []byte {
	if b, ok := p.held.Get(pageKey{p.of, a}); ok {
		return b
	}
	b := make([]byte, pageSize)
	if _, err := p.from.ReadMem(b, a); err != nil {
		return nil
	}
	p.held.Keep(pageKey{p.of, a}, b, pageSize)
	return b
}
