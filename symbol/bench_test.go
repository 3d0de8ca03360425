package symbol

import (
	"math/rand/v2"
	"os/exec"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
)

// some returns n addresses in the executable segments of m.
func some(m *module.Module, n int) []module.Vaddr {
	r := rand.New(rand.NewPCG(3, 4))
	var out []module.Vaddr
	for _, s := range m.Segments() {
		for i := 0; s.Type == module.PTLoad && s.Flags&module.PFX != 0 && i < n; i++ {
			out = append(out, s.Addr+module.Vaddr(r.Uint64N(s.MemSz)))
		}
	}
	return out
}

func benchmarkPass(b *testing.B, path string) {
	m := load(b, path)
	addrs := some(m, 30)
	for b.Loop() {
		New(m).Lookup(addrs)
	}
}

func BenchmarkPassLibc(b *testing.B) { benchmarkPass(b, libc(b)) }

func BenchmarkPassNode(b *testing.B) { benchmarkPass(b, node(b)) }

func BenchmarkIndexNode(b *testing.B) {
	t := New(load(b, node(b)))
	t.open()
	for b.Loop() {
		newIndex(nil, t.symtab, t.dynsym)
	}
}

func BenchmarkResolveGo(b *testing.B) {
	m := load(b, goProgram(b, "-ldflags=-s -w"))
	var queries []Query
	for _, v := range some(m, 30) {
		queries = append(queries, Query{Lookup: v, PC: v})
	}
	for b.Loop() {
		NewResolver(m, nil).Resolve(queries, Options{})
	}
}

func node(b *testing.B) string {
	path, err := exec.LookPath("node")
	if err != nil {
		b.Skipf("node is not installed: %v", err)
	}
	return path
}
