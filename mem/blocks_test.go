package mem

import (
	"errors"
	"testing"
)

// countedReader counts the reads of what is below it.
type countedReader struct {
	Reader
	reads int
}

func (c *countedReader) ReadMem(b []byte, addr Addr) (int, error) {
	c.reads++
	return c.Reader.ReadMem(b, addr)
}

func TestBlocks(t *testing.T) {
	data := make([]byte, 2*BlockSize+16)
	for i := range data {
		data[i] = byte(i * 7)
	}
	from := &countedReader{Reader: NewOverlay(nil, Range{BlockSize, data})}
	k := NewBlocks(from, 2)
	read := func(addr Addr, n int) byte {
		t.Helper()
		b := make([]byte, n)
		if got, err := k.ReadMem(b, addr); got != n || err != nil || b[0] != data[addr-BlockSize] ||
			b[n-1] != data[int(addr)-BlockSize+n-1] {
			t.Errorf("%d bytes at %#x: %d, %v, %x", n, addr, got, err, b)
		}
		return b[0]
	}
	read(BlockSize+8, 8)
	before := read(BlockSize+16, 8)
	if from.reads != 2 {
		t.Errorf("%d reads for two while nothing is held, want 2", from.reads)
	}
	drop := k.Hold()
	from.reads = 0
	for i := range 100 {
		read(BlockSize+Addr(i), 8)
	}
	if from.reads != 1 {
		t.Errorf("%d reads for 100 in one block, want 1", from.reads)
	}
	read(2*BlockSize-4, 8) // in two blocks
	read(3*BlockSize, 8)   // in a block that ends early
	if b := make([]byte, 8); true {
		var fault *FaultError
		if _, err := k.ReadMem(b, 3*BlockSize+64); !errors.As(err, &fault) || fault.Addr != 3*BlockSize+64 {
			t.Errorf("behind the end: %v, want a fault there", err)
		}
	}
	read(2*BlockSize, 8) // more blocks than are held
	data[16]++
	if b := make([]byte, 8); true {
		if k.ReadMem(b, BlockSize+16); b[0] != before {
			t.Error("a block that is held was read again")
		}
		drop()
		if k.ReadMem(b, BlockSize+16); b[0] == before {
			t.Error("a block is held behind its end")
		}
	}
}
