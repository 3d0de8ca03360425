package core

import (
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// ReadMem implements [mem.Reader]: what is in the core, and where whoever wrote it left out a part of a file that
// cannot have been written to, what is there in that file. Memory that could be written to is never taken from a file.
func (c *Core) ReadMem(b []byte, addr mem.Addr) (int, error) {
	done := 0
	for done < len(b) { // ends: each round reads something
		at := addr + mem.Addr(done)
		if at < addr {
			return done, &mem.FaultError{Addr: at, Len: len(b) - done, Err: mem.ErrUnmapped}
		}
		n, err := c.dumped(b[done:], at)
		if n == 0 && err == ErrNotInCore {
			n, err = c.fromFile(b[done:], at)
		}
		if done += n; n == 0 {
			return done, &mem.FaultError{Addr: at, Len: len(b) - done, Err: err}
		}
	}
	return done, nil
}

// dumped reads what the core itself has at addr, up to where its bytes there end. It fails if that is nothing: with
// ErrNotInCore where nothing was written of it, with ErrCut where it is behind the end of the file.
func (c *Core) dumped(b []byte, addr mem.Addr) (int, error) {
	s := c.find(addr)
	if s == nil || uint64(addr-s.start) >= s.held {
		return 0, ErrNotInCore
	}
	at := uint64(addr - s.start)
	n, err := c.cache.read(b[:min(uint64(len(b)), s.held-at)], s.off+at)
	if n > 0 {
		return n, nil
	}
	return 0, err
}

// fromFile reads what a file had mapped at addr.
func (c *Core) fromFile(b []byte, addr mem.Addr) (int, error) {
	m := c.Maps.Find(addr)
	switch {
	case m == nil, !m.IsFile() && m.Perm&(maps.Read|maps.Write|maps.Exec) == 0:
		return 0, mem.ErrUnmapped // addresses that were set aside are no memory that the process had
	case !m.IsFile() || m.Perm&maps.Write != 0:
		return 0, ErrNotInCore
	}
	end := m.End
	if next := c.after(addr); next != nil { // what the core has of it comes first
		end = min(end, max(next.start, addr+1))
	}
	file := c.mapped[m.Inode]
	f, err := c.file(file)
	if err != nil || c.perm(file, addr)&maps.Write != 0 { // the first is reported once; the second was relocated
		return 0, ErrNotInCore
	}
	n := 0
	err = module.Guard(f.Path, func() error {
		off := uint64(m.Offset) + uint64(addr-m.Start)
		if off < uint64(len(f.Data)) {
			n = copy(b[:min(uint64(len(b)), uint64(end-addr))], f.Data[off:])
			file.remarkAppended(c.order, off, f.Data)
		}
		return nil
	})
	if n == 0 && err == nil {
		err = ErrNotInCore
	}
	return n, err
}

// after returns the first segment that begins behind a, or nil.
func (h *headers) after(a mem.Addr) *segment {
	low, high := 0, len(h.segments)
	for low < high {
		if at := (low + high) / 2; h.segments[at].start > a {
			high = at
		} else {
			low = at + 1
		}
	}
	if low == len(h.segments) {
		return nil
	}
	return &h.segments[low]
}

// ReadPieces implements [snapshot.PieceReader].
func (c *Core) ReadPieces(pieces []snapshot.Piece) error {
	if err := c.budget.Err(); err != nil {
		return err
	}
	for i := range pieces {
		p := &pieces[i]
		p.Got, _ = c.ReadMem(p.Data, p.Addr)
	}
	return nil
}

const (
	blockSize = 16 << 10
	blocks    = 64
)

// cache keeps blocks of the file that were read last: a walk reads it word by word.
type cache struct {
	in   *input
	at   [blocks]uint64 // where the block begins, plus one; 0: empty
	data [blocks][]byte
}

// read reads up to len(b) bytes at off, at least one without an error.
func (c *cache) read(b []byte, off uint64) (int, error) {
	if len(b) >= blockSize {
		n, err := c.in.read(b, off)
		if n > 0 {
			err = nil
		}
		return n, err
	}
	start := off &^ (blockSize - 1)
	slot := start / blockSize % blocks
	if c.at[slot] != start+1 {
		if c.data[slot] == nil {
			c.data[slot] = make([]byte, blockSize)
		}
		n, err := c.in.read(c.data[slot][:blockSize], start)
		if c.at[slot] = 0; n == 0 {
			return 0, err
		}
		c.data[slot], c.at[slot] = c.data[slot][:n], start+1
	}
	block := c.data[slot]
	if off-start >= uint64(len(block)) {
		return 0, ErrCut
	}
	return copy(b, block[off-start:]), nil
}
