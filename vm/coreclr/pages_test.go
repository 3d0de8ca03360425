package coreclr

import (
	"bytes"
	"testing"

	"github.com/fpstack/fpstack/mem"
)

func TestPages(t *testing.T) {
	data := make([]byte, 3*pageSize)
	for i := range data {
		data[i] = byte(i * 7 / 3)
	}
	const start = 0x10000
	whole := mem.Range{Start: start + 100, Data: data[100:]} // the first page is mapped in part
	p := newPages(mem.NewOverlay(nil, whole), nil)
	for _, c := range []struct{ at, n int }{{200, 8}, {100, 1}, {pageSize, 16}, {pageSize - 4, 8},
		{2*pageSize - 100, 300}, {3*pageSize - 8, 8}, {pageSize, 2 * pageSize}} {
		b := make([]byte, c.n)
		n, err := p.ReadMem(b, mem.Addr(start+c.at))
		if n != c.n || err != nil || !bytes.Equal(b, data[c.at:c.at+c.n]) {
			t.Errorf("%d bytes at %d: %d, %v", c.n, c.at, n, err)
		}
	}
	b := make([]byte, 16)
	if n, err := p.ReadMem(b, start+3*pageSize-8); n != 8 || err == nil {
		t.Errorf("over the end: %d, %v", n, err)
	}
	if n, err := p.ReadMem(b, start+50); n != 0 || err == nil {
		t.Errorf("before the begin: %d, %v", n, err)
	}
}
