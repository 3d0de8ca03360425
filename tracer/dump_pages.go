//go:build linux

package tracer

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// pages is the memory of threads that stay stopped for all that is read of it: a block that was read is kept for what
// lies next to it, of this thread or another, as a word takes more than half as long to read as two pages. A block
// never reaches beyond the mapping that the word is in, and files are read as stoppedMemory does.
type pages struct {
	stoppedMemory
	room   []byte // of all blocks
	blocks [blockSlots]block
}

// block is memory that was read.
type block struct {
	number mem.Addr // of the address space, from 1 on; 0 for none
	mem.Range
}

const (
	blockSize  = 2 * pageSize
	blockSlots = 64
	// pagesRoom is the memory that pages takes.
	pagesRoom = blockSize * blockSlots
)

// ReadPieces implements [snapshot.PieceReader].
func (m *pages) ReadPieces(pieces []snapshot.Piece) error {
	for i := range pieces {
		p := &pieces[i]
		if had, err := m.near(p.Addr, len(p.Data)); err != nil {
			return err
		} else if had != nil {
			p.Got = copy(p.Data, had)
		} else if err := m.stoppedMemory.ReadPieces(pieces[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// near returns the n bytes at addr of the block that they are in, nil if no block has them all.
func (m *pages) near(addr mem.Addr, n int) ([]byte, error) {
	number := addr / blockSize
	slot := number % blockSlots
	b := &m.blocks[slot]
	if b.number == number+1 {
		had, _ := b.Bytes(addr, n)
		return had, nil
	}
	mapping := m.table.Find(addr)
	start := number * blockSize
	if mapping == nil || mapping.Inode != 0 || addr-start > mem.Addr(blockSize-n) {
		return nil, nil
	}
	start, end := max(start, mapping.Start), min(start+blockSize, mapping.End)
	room := m.room[slot*blockSize:][:end-start]
	got, err := m.quickRead(room, start)
	if got == 0 && err == nil {
		return nil, ErrExec
	}
	b.number, b.Range = number+1, mem.Range{Start: start, Data: room[:max(got, 0)]}
	had, _ := b.Bytes(addr, n)
	return had, nil
}
