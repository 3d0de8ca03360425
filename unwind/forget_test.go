package unwind

import (
	"os"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// A program that loads and unloads a library again and again leaves one set of tables behind, wherever it was mapped;
// one that loads another file each time no more than its modules keep.
func TestTablesOfReloads(t *testing.T) {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		inode func(i int) uint64
		most  int
	}{
		{"the same file", func(int) uint64 { return 1 }, 1},
		{"another file each time", func(i int) uint64 { return uint64(1 + i) }, 12},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set := module.NewSet(maps.NewTable(nil), module.Image{Mapping: func(m *maps.Mapping) (*module.File, error) {
				return &module.File{Data: self, Path: m.Path}, nil
			}})

			set.Keep(8)
			w := NewWalker(set, nil)
			for i := range 200 {
				at := mem.Addr(0x400000 + 0x1000000*(i%7))
				set.Update(maps.NewTable([]maps.Mapping{{Start: at, End: at + 0x1000000, Perm: maps.Read | maps.Exec,
					Dev:   1,
					Inode: tc.inode(i), Path: "/drawn"}}))
				m := set.Find(at + 0x1000)
				if m == nil || m.Err != nil {
					t.Fatalf("reload %d: module %v", i, m)
				}
				w.begin(w.arch)
				if w.table(m).m.Object() != m.Object() {
					t.Fatalf("reload %d: tables are of another file", i)
				}
				w.sites.add(&site{pc: at, module: m})
				if len(w.tables) > tc.most {
					t.Fatalf("reload %d: %d tables are kept, want at most %d", i, len(w.tables), tc.most)
				}
			}
			if len(w.tables) == 0 || tc.most > 1 && w.sites.used > 50 {
				t.Errorf("%d tables, %d sites are kept, want some, and few", len(w.tables), w.sites.used)
			}
		})
	}
}
