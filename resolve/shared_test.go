package resolve

import (
	"os"
	"reflect"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/unwind"
)

// ourselves is the program of this test as a process has it mapped, whole, at an address.
func ourselves(t *testing.T, shared *module.Shared, start mem.Addr) *module.Module {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table := maps.NewTable([]maps.Mapping{{Start: start, End: start + mem.Addr(len(data)), Perm: maps.Read | maps.Exec,
		Inode: 7, Path: path}})
	m := module.NewSet(table, module.Image{Mapping: shared.Opener(func(*maps.Mapping) (*module.File, error) {
		return &module.File{Data: data, Path: path}, nil
	})}).
		Find(start)
	if m == nil || m.Err != nil {
		t.Skipf("the program of this test is no ELF object: %+v", m)
	}
	return m
}

// TestSharedNamesAreTheSame: the second process gets the names of the first at its own addresses,
// and nothing is looked up for it.
func TestSharedNamesAreTheSame(t *testing.T) {
	objects, shared := module.NewShared(), NewShared()
	one, two := ourselves(t, objects, 0x10000000), ourselves(t, objects, 0x50000000)
	name := func(m *module.Module, opt Options) []profile.Frame {
		frames := New(nil, opt).Frames([]unwind.Frame{{PC: m.Addr(m.Entry()), Interrupted: true, Module: m}})[0]
		for i := range frames {
			frames[i].Addr -= uint64(m.Start())
		}
		return frames
	}
	want := name(one, Options{})
	if want[len(want)-1].Func == "" {
		t.Fatalf("the entry point has no name: %+v", want)
	}
	if got := name(one, Options{Shared: shared}); !reflect.DeepEqual(got, want) {
		t.Errorf("first process: got %+v\nwant %+v", got, want)
	}
	clear(shared.symbols) // so that it shows who asks
	if got := name(two, Options{Shared: shared}); !reflect.DeepEqual(got, want) {
		t.Errorf("second process: got %+v\nwant %+v", got, want)
	}
	if len(shared.symbols) != 0 {
		t.Error("symbols were asked again for an address that is known")
	}
	if shared.of(one, nil) != shared.of(two, nil) {
		t.Error("the modules of one object have symbols of their own")
	}
	if New(nil, Options{}).of(one) == shared.of(one, nil) {
		t.Error("symbols are shared though nobody asked for it")
	}
}

func TestSharedIsBounded(t *testing.T) {
	shared := NewShared()
	m := ourselves(t, module.NewShared(), 0x10000000)
	for i := range maxAnswers + 10 {
		shared.keep(m, symbol.Query{PC: module.Vaddr(i)}, nil)
	}
	if len(shared.answers) > maxAnswers {
		t.Errorf("%d answers are kept, want at most %d", len(shared.answers), maxAnswers)
	}
	data, err := os.ReadFile(m.Path)
	if err != nil {
		t.Fatal(err)
	}
	for range maxShared + 10 {
		other, err := module.NewFile(&module.File{Data: data, Path: m.Path})
		if err != nil {
			t.Fatal(err)
		}
		shared.of(other, nil)
	}
	if len(shared.symbols) > maxShared {
		t.Errorf("symbols of %d objects are kept, want at most %d", len(shared.symbols), maxShared)
	}
}
