package cfi

import (
	"encoding/binary"
	"math/rand"
	"testing"
)

// rowStarts returns one address in each row of a file, in random order, and its sections.
func rowStarts(b *testing.B, path string) ([]uint64, Config) {
	b.Helper()
	cfg, _ := fileConfig(b, path)
	if len(cfg.EHFrameHdr.Data) == 0 {
		b.Skipf("%s has no .eh_frame_hdr", path)
	}
	var pcs []uint64
	for _, fde := range printedFDEs(b, readelf(b, "--debug-dump=frames-interp", path)) {
		for _, row := range fde.rows {
			if row.start < fde.end {
				pcs = append(pcs, row.start)
			}
		}
	}
	rand.New(rand.NewSource(1)).Shuffle(len(pcs), func(i, j int) { pcs[i], pcs[j] = pcs[j], pcs[i] })
	return pcs, cfg
}

func BenchmarkNewRow(b *testing.B) {
	for name, path := range map[string]string{"libc": "/lib/x86_64-linux-gnu/libc.so.6", "node": "/usr/bin/node"} {
		b.Run(name, func(b *testing.B) {
			pcs, cfg := rowStarts(b, path)
			table := New(cfg)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if i == len(pcs) {
					i, table = 0, New(cfg)
				}
				if _, err := table.Row(pcs[i]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

// BenchmarkDump is what one dump needs of a module: a table and 30 rows.
func BenchmarkDump(b *testing.B) {
	pcs, cfg := rowStarts(b, "/lib/x86_64-linux-gnu/libc.so.6")
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		table := New(cfg)
		for range 30 {
			if _, err := table.Row(pcs[i%len(pcs)]); err != nil {
				b.Fatal(err)
			}
			i++
		}
	}
}

// BenchmarkWalk indexes .eh_frame of a file as if it had no header.
func BenchmarkWalk(b *testing.B) {
	for name, path := range map[string]string{"libc": "/lib/x86_64-linux-gnu/libc.so.6", "node": "/usr/bin/node"} {
		b.Run(name, func(b *testing.B) {
			cfg, _ := fileConfig(b, path)
			cfg.EHFrameHdr = Section{}
			b.ReportAllocs()
			for b.Loop() {
				New(cfg).eh.walked()
			}
		})
	}
}

func BenchmarkEval(b *testing.B) {
	plt := []byte{0x77, 8, 0x70, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Eval(plt, nil, machine, binary.LittleEndian, 8); err != nil {
			b.Fatal(err)
		}
	}
}
