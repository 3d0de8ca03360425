package perfmap

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/fpstack/fpstack/jit/codelog"
	"github.com/fpstack/fpstack/mem"
)

// benchmarked is a perf map of so many functions, 64 bytes each.
func benchmarked(functions int) []byte {
	var out bytes.Buffer
	for i := range functions {
		at := uint64(0x7f0000000000) + uint64(i)*64
		fmt.Fprintf(&out, "%x 40 LazyCompile:*function%d /srv/app/lib/module%d.js:%d:7\n", at, i, i%500, 1+i%900)
	}
	return out.Bytes()
}

// BenchmarkRead100000 reads a perf map of 100,000 lines.
func BenchmarkRead100000(b *testing.B) {
	data := benchmarked(100_000)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		var book codelog.Book
		if _, err := (&parser{}).Read(bytes.NewReader(data), 0, int64(len(data)), &book); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFind looks an address up in a perf map of 100,000 lines.
func BenchmarkFind(b *testing.B) {
	data := benchmarked(100_000)
	var book codelog.Book
	if _, err := (&parser{}).Read(bytes.NewReader(data), 0, int64(len(data)), &book); err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		i = (i + 7919) % 100_000
		if _, _, ok := book.Find(mem.Addr(0x7f0000000000)+mem.Addr(i)*64+5, 0); !ok {
			b.Fatal("not found")
		}
	}
}
