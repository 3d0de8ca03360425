//go:build linux

package tracer

import (
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// pieces reads memory for Copiers (snapshot.PieceReader), by /proc/PID/mem: of many small ranges each read takes
// no longer than its part of a process_vm_readv, and on a page that nobody brings it fails at once, where the call
// sleeps for good.
type pieces struct {
	m     *memory
	table *maps.Table
	// patient says that somebody waits with a bound, so that files may be read whose pages have to be brought.
	patient bool
}

// ReadPieces implements snapshot.PieceReader. It fails with ErrExec.
func (p *pieces) ReadPieces(list []snapshot.Piece) error {
	for i := range list {
		at := &list[i]
		if len(at.Data) == 0 || !p.patient && !p.quick(at.Addr) {
			continue
		}
		n, err := p.m.quickRead(at.Data, at.Addr)
		if n == 0 && err == nil {
			return ErrExec
		}
		at.Got = max(n, 0)
	}
	return nil
}

// quick tells whether what lies at addr is no mere page of a file: what a process may write to it has written, or
// it is next to its own.
func (p *pieces) quick(addr mem.Addr) bool {
	m := p.table.Find(addr)
	return m != nil && (m.Inode == 0 || m.Perm&maps.Write != 0)
}
