package module_test

import (
	"runtime"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/work"
)

// A program that loads new libraries for ever leaves no more behind than Keep allows: modules, open files, memory of
// the budget. What stays mapped is the same Module all the time, and so is what is mapped again soon.
func TestKeep(t *testing.T) {
	const keep, reloads = 8, 2000
	main, plugin := objectFile(t, "main", 1), objectFile(t, "plugin", 2)
	var files opened
	budget := work.New(work.Steps, work.Memory)
	program := whole(main, 1, 0x10000)
	again := whole(plugin, 2, 0x900000)
	set := module.NewSet(maps.NewTable([]maps.Mapping{program}), module.Image{Mapping: files.file})
	set.Charge(budget)
	set.Keep(keep)
	first := set.Find(0x10000)
	set.Update(maps.NewTable([]maps.Mapping{program, again}))
	often := set.Find(again.Start)
	_, full := budget.Left()
	if first == nil || often == nil || first.Err != nil || often.Err != nil {
		t.Fatalf("modules %v and %v, want two", first, often)
	}
	var early uint64
	for i := range reloads {
		at := mem.Addr(0x20000 + 0x10000*(i%50))
		loaded := []maps.Mapping{program, whole(plugin, uint64(10+i), at)}
		if i%5 == 0 {
			loaded = append(loaded, again)
		}
		set.Update(maps.NewTable(loaded))
		if m := set.Find(at); m == nil || m.Err != nil || m == often || !set.Has(m.Object()) {
			t.Fatalf("reload %d: module %v, want one of its own", i, m)
		} else if _, ok := m.Section(".text"); !ok {
			t.Fatalf("reload %d: no .text", i)
		}
		if set.Find(0x10000) != first || i%5 == 0 && set.Find(again.Start) != often {
			t.Fatalf("reload %d: what was mapped all the time, or a moment ago, is another module", i)
		}
		if n := len(set.All()); n > keep+4 {
			t.Fatalf("reload %d: %d modules are kept, want at most %d", i, n, keep+4)
		}
		if i == reloads/10 {
			early = heap()
		}
	}
	if files.open > keep+4 || files.opens < reloads {
		t.Errorf("%d files are open of %d, want at most %d of %d", files.open, files.opens, keep+4, reloads)
	}
	if _, left := budget.Left(); full-left > (keep+4)*64<<10 {
		t.Errorf("%d bytes of the budget are held, want a few for each of %d modules", full-left, keep+4)
	}
	if late := heap(); late > early+512<<10 {
		t.Errorf("the heap grew from %d to %d bytes in %d reloads", early, late, reloads*9/10)
	}
	runtime.KeepAlive(set)
	if err := set.Close(); err != nil || files.open != 0 {
		t.Errorf("after Close %d files are open, error %v", files.open, err)
	}
}

// Without Keep nothing is forgotten: names are asked for at the end.
func TestAllAreKept(t *testing.T) {
	path := objectFile(t, "kept", 1)
	var files opened
	set := module.NewSet(maps.NewTable(nil), module.Image{Mapping: files.file})
	for i := range 300 {
		at := mem.Addr(0x10000 * (1 + i))
		set.Update(maps.NewTable([]maps.Mapping{whole(path, uint64(1+i), at)}))
		set.Find(at)
	}
	if n := len(set.All()); n != 300 || files.open != 300 {
		t.Errorf("%d modules, %d open files, want 300 of each", n, files.open)
	}
	set.Close()
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
