package module_test

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// disk opens files for one process after the other, and counts.
type disk struct {
	data           []byte
	err            error
	opened, closed int
	view           string // what the file beside holds
}

func (d *disk) open(*maps.Mapping) (*module.File, error) {
	if d.err != nil {
		return nil, d.err
	}
	d.opened++
	view := d.view
	return &module.File{Data: d.data, Path: "/libx.so", Close: func() error { d.closed++; return nil },
		Beside: func(string) (*module.File, error) { return &module.File{Path: view}, nil }}, nil
}

// at is the file mapped at an address of a process.
func at(start uint64, dev, inode uint64) *maps.Table {
	return maps.NewTable([]maps.Mapping{{Start: mem.Addr(start), End: mem.Addr(start + 0x1000), Perm: maps.Read,
		Dev: dev, Inode: inode, Path: "/libx.so"}})
}

func TestSharedByProcesses(t *testing.T) {
	library := small(t)
	longer := append(slices.Clone(library), 0)
	rebuilt := edit(library, func(b []byte) { b[len(b)-1] ^= 1 })
	relinked := edit(library, func(b []byte) { b[24] ^= 1 }) // e_entry
	for _, row := range []struct {
		name   string
		second func(d *disk)
		dev    uint64
		inode  uint64
		same   bool
		opened int
		held   int // files open when both sets are closed
	}{
		{"the same file", func(d *disk) {}, 3, 7, true, 2, 1},
		{"its process has ended", func(d *disk) { d.err = errors.New("no such process") }, 3, 7, true, 1, 1},
		{"another inode", func(d *disk) {}, 3, 8, false, 2, 2},
		{"another device", func(d *disk) {}, 4, 7, false, 2, 2},
		{"a snapshot gave the same inode to a longer file", func(d *disk) { d.data = longer }, 3, 7, false, 2, 2},
		{"to one that differs at its end", func(d *disk) { d.data = rebuilt }, 3, 7, false, 2, 2},
		{"to one that differs at its start", func(d *disk) { d.data = relinked }, 3, 7, false, 2, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := &disk{data: library, view: "first"}
			shared := module.NewShared()
			a := module.NewSet(at(0x10000, 3, 7), module.Image{Mapping: shared.Opener(d.open)})
			one := a.Find(0x10000)
			a.Close()
			d.view = "second"
			row.second(d)
			b := module.NewSet(at(0x50000, row.dev, row.inode), module.Image{Mapping: shared.Opener(d.open)})
			two := b.Find(0x50000)
			b.Close()
			if one.Err != nil || two.Err != nil {
				t.Fatal(one.Err, two.Err)
			}
			if got := one.Object() == two.Object(); got != row.same {
				t.Errorf("one object: %v, want %v", got, row.same)
			}
			if d.opened != row.opened || d.opened-d.closed != row.held {
				t.Errorf("opened %d, held %d; want %d, %d", d.opened, d.opened-d.closed, row.opened, row.held)
			}
			if one.Start() != 0x10000 || two.Start() != 0x50000 {
				t.Errorf("modules start at %#x and %#x, each in its own process", one.Start(), two.Start())
			}
			if _, ok := one.Section(".text"); !ok {
				t.Error("the first module has no sections when its set is closed")
			}
			if err := shared.Close(); err != nil || d.opened != d.closed {
				t.Errorf("Close: %v, %d of %d files closed", err, d.closed, d.opened)
			}
		})
	}
}

// TestSharedFileWrittenOver: what was parsed of the old bytes serves no new process.
func TestSharedFileWrittenOver(t *testing.T) {
	d := &disk{data: slices.Clone(small(t))}
	shared := module.NewShared()
	defer shared.Close()
	one := module.NewSet(at(0x10000, 3, 7), module.Image{Mapping: shared.Opener(d.open)}).Find(0x10000)
	entry := one.Entry()
	d.data[24] ^= 1 // e_entry, under the mapping of the first
	two := module.NewSet(at(0x10000, 3, 7), module.Image{Mapping: shared.Opener(d.open)}).Find(0x10000)
	if one.Object() == two.Object() || two.Entry() != entry^1 {
		t.Errorf("entry %#x of the new file, want %#x of another object", two.Entry(), entry^1)
	}
	three := module.NewSet(at(0x20000, 3, 7), module.Image{Mapping: shared.Opener(d.open)}).Find(0x20000)
	if three.Object() != two.Object() {
		t.Error("the new file is not shared")
	}
}

// TestSharedLooksBesideInALivingView: the process that opened a file first may have ended.
func TestSharedLooksBesideInALivingView(t *testing.T) {
	d := &disk{data: small(t), view: "first"}
	shared := module.NewShared()
	defer shared.Close()
	one := module.NewSet(at(0x10000, 3, 7), module.Image{Mapping: shared.Opener(d.open)}).Find(0x10000)
	d.view = "second"
	two := module.NewSet(at(0x10000, 3, 7), module.Image{Mapping: shared.Opener(d.open)}).Find(0x10000)
	for name, m := range map[string]*module.Module{"first": one, "second": two} {
		if f, err := m.Beside("/x"); err != nil || f.Path != "second" {
			t.Errorf("beside the %s: %+v, %v, want the view of the second", name, f, err)
		}
	}
	plain := func(*maps.Mapping) (*module.File, error) { return &module.File{Data: d.data}, nil }
	none := module.NewSet(at(0x10000, 5, 5), module.Image{Mapping: shared.Opener(plain)}).Find(0x10000)
	if _, err := none.Beside("/x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("beside a file without a view: %v, want that it is not there", err)
	}
}

// TestSharedErrors: what one process could not open another may.
func TestSharedErrors(t *testing.T) {
	d := &disk{err: errors.New("permission denied")}
	shared := module.NewShared()
	defer shared.Close()
	if m := module.NewSet(at(0x10000, 3, 7), module.Image{Mapping: shared.Opener(d.open)}).Find(0x10000); m.Err == nil {
		t.Error("no error")
	}
	d.err, d.data = nil, []byte("no object")
	for range 2 {
		set := module.NewSet(at(0x10000, 3, 7), module.Image{Mapping: shared.Opener(d.open)})
		if m := set.Find(0x10000); !errors.Is(m.Err, module.ErrNotELF) {
			t.Errorf("got %v, want %v", m.Err, module.ErrNotELF)
		}
	}
}
