package vm_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// fake is a runtime that copies nothing.
type fake struct{ m *module.Module }

func (f fake) Region(mem.Addr) (unwind.Region, bool)    { return unwind.Region{}, false }
func (f fake) String() string                           { return "fake" }
func (f fake) Copy(*snapshot.Thread, *snapshot.Fetcher) {}

// program is a set with this test's own program, mapped at 1 GiB, and a library behind it that is the same file.
func program(t *testing.T) (*module.Set, *maps.Table, module.Image) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the test's program is no ELF file here")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	const rx = maps.Read | maps.Exec
	table := maps.NewTable([]maps.Mapping{
		{Start: 1 << 30, End: 1<<30 + mem.Addr(len(data)), Perm: rx, Inode: 1, Path: "/program"},
		{Start: 1 << 40, End: 1<<40 + mem.Addr(len(data)), Perm: rx, Inode: 2, Path: "/libfake.so.1"},
		{Start: 1 << 41, End: 1<<41 + mem.Addr(len(data)), Perm: rx, Inode: 3, Path: "/libother.so"},
	})
	image := module.Image{Memory: mem.NewOverlay(nil, mem.Range{Start: 0x1000, Data: make([]byte, 64)}),
		Mapping: func(m *maps.Mapping) (*module.File, error) { return &module.File{Data: data, Path: m.Path}, nil }}
	set := module.NewSet(table, image)
	t.Cleanup(func() { set.Close() })
	return set, table, image
}

// TestScan finds runtimes in the program and in files by their names, and forgets those that are mapped no longer.
func TestScan(t *testing.T) {
	set, table, image := program(t)
	var asked []string
	kind := vm.Kind{Name: "fake", Files: []string{"libfake.so"}}
	kind.New = func(m *module.Module, i module.Image) (unwind.Runtime, error) {
		asked = append(asked, m.Path)
		var b [8]byte
		if _, err := i.Memory.ReadMem(b[:], 0x1000+8*mem.Addr(len(asked))); err != nil {
			t.Error(err)
		}
		return fake{m}, nil
	}
	p := vm.NewTable([]vm.Kind{kind}, nil).Process(image)
	if len(p.All()) != 0 || len(p.Copiers()) != 0 {
		t.Error("runtimes are known before Scan")
	}
	p.Scan(set)
	p.Scan(set)
	if !slices.Equal(asked, []string{"/program", "/libfake.so.1"}) || len(p.All()) != 2 || len(p.Copiers()) != 2 {
		t.Errorf("asked of %q, %d runtimes, %d copiers; want each of two once", asked, len(p.All()), len(p.Copiers()))
	}
	p.Meet(set.Find(1 << 41))
	if len(asked) != 3 || len(p.All()) != 3 {
		t.Errorf("a module that a walk met: asked of %q", asked)
	}
	if f := p.Facts(); len(f) != 3 || f[0].Start != 0x1008 || len(f[0].Data) != 8 {
		t.Errorf("facts %v, want 8 bytes for each, from 0x1008 on", f)
	}
	set.Update(maps.NewTable(table.All()[:1]))
	p.Scan(set)
	if len(p.All()) != 1 || p.All()[0].(fake).m.Path != "/program" || len(p.Copiers()) != 1 {
		t.Errorf("%d runtimes when the libraries are gone, want that of the program", len(p.All()))
	}
}

// TestTwoInOne: of a module that holds three runtimes, of which one is broken, both others are used.
func TestTwoInOne(t *testing.T) {
	set, _, image := program(t)
	broken := errors.New("no tables")
	var kinds []vm.Kind
	for _, err := range []error{nil, broken, nil} {
		k := vm.Kind{Name: "fake"}
		k.New = func(m *module.Module, _ module.Image) (unwind.Runtime, error) {
			if err != nil {
				return nil, err
			}
			return fake{m}, nil
		}
		kinds = append(kinds, k)
	}
	p := vm.NewTable(kinds, nil).Process(image)
	p.Scan(set)
	p.Meet(set.Find(1 << 30))
	if n := len(p.All()); n != 2 || !errors.Is(p.Err(), broken) {
		t.Errorf("%d runtimes, %v; want 2 and %v", n, p.Err(), broken)
	}
}

// knowing is a runtime that knows something of thread 7.
type knowing struct {
	fake
	profile.RuntimeThread
}

func (k knowing) ThreadFacts(*snapshot.Snapshot) map[int]profile.RuntimeThread {
	return map[int]profile.RuntimeThread{7: k.RuntimeThread}
}

// TestThreadFacts: of a thread that several runtimes know the facts of all are told, and the name of the first.
func TestThreadFacts(t *testing.T) {
	set, _, image := program(t)
	var kinds []vm.Kind
	for _, known := range []profile.RuntimeThread{
		{Language: "Python", Name: "worker", Facts: []string{"holds the GIL"}},
		{Language: "WebAssembly", Facts: []string{"of store 1"}}} {
		kinds = append(kinds, vm.Kind{Name: known.Language,
			New: func(m *module.Module, _ module.Image) (unwind.Runtime, error) {
				return knowing{fake{m}, known}, nil
			}})
	}
	p := vm.NewTable(kinds, nil).Process(image)
	p.Scan(set)
	got, facts := p.ThreadFacts(&snapshot.Snapshot{})[7], []string{"holds the GIL", "of store 1"}
	if got.Language != "Python" || got.Name != "worker" || !slices.Equal(got.Facts, facts) {
		t.Errorf("got %+v", got)
	}
}

// TestRecognise: no, kept by build id; and yes, but broken.
func TestRecognise(t *testing.T) {
	set, _, image := program(t)
	asked, broken := 0, errors.New("no tables")
	var fails error
	table := vm.NewTable([]vm.Kind{{Name: "fake", New: func(*module.Module, module.Image) (unwind.Runtime, error) {
		asked++
		return nil, fails
	}}}, nil)
	m := set.Find(1 << 30)
	for range 2 {
		fails = broken
		if r, err := table.Recognise(m, image); r != nil || !errors.Is(err, broken) {
			t.Errorf("broken: %v, %v", r, err)
		}
	}
	fails = nil
	for range 3 {
		if r, err := table.Recognise(m, image); r != nil || err != nil {
			t.Errorf("none: %v, %v", r, err)
		}
	}
	want := 3
	if m.BuildID() == "" {
		want = 5 // nothing to keep it by
	}
	if asked != want {
		t.Errorf("asked %d times, want %d", asked, want)
	}
}

// TestGoIsRecognised: this test is a Go program.
func TestGoIsRecognised(t *testing.T) {
	set, _, image := program(t)
	p := vm.NewTable(vm.Kinds, nil).Process(image)
	p.Scan(set)
	if len(p.All()) != 1 || p.All()[0].String() != "Go" || p.Err() != nil {
		t.Errorf("runtimes %v, %v; want Go", p.All(), p.Err())
	}
}

// fakeWhole is a runtime of a whole process.
type fakeWhole struct {
	fake
	scans   int
	present bool
	err     error
}

func (f *fakeWhole) Scan(set *module.Set) (bool, error) {
	f.scans++
	if f.err != nil && f.present {
		panic(f.err)
	}
	return f.present, f.err
}

// TestWhole: a runtime of the whole process is made once, asked at each Scan, listed behind those of modules while it
// is there; a panic costs itself alone.
func TestWhole(t *testing.T) {
	set, _, image := program(t)
	w, made := &fakeWhole{}, 0
	kinds := []vm.Kind{
		{Name: "whole", Whole: func(i module.Image) vm.Whole {
			made++
			if _, err := i.Memory.ReadMem(make([]byte, 16), 0x1000); err != nil {
				t.Error(err)
			}
			return w
		}},
		{Name: "fake", New: func(m *module.Module, _ module.Image) (unwind.Runtime, error) { return fake{m}, nil }},
	}
	p := vm.NewTable(kinds, nil).Process(image)
	check := func(what string, scans, all int, err error) {
		t.Helper()
		p.Scan(set)
		if made != 1 || w.scans != scans || len(p.All()) != all || len(p.Copiers()) != all || !errors.Is(p.Err(), err) {
			t.Errorf("%s: made %d times, %d scans, %d runtimes, %d copiers, %v; want 1, %d, %d, %[3]d, %v", what, made,
				w.scans, len(p.All()), len(p.Copiers()), p.Err(), scans, all, err)
		}
	}
	check("absent", 1, 1, nil)
	w.present = true
	check("present", 2, 2, nil)
	if p.All()[1] != unwind.Runtime(w) {
		t.Errorf("runtimes %v: want that of the module first", p.All())
	}
	w.present, w.err = false, errors.New("of the test")
	check("it cannot be used", 3, 1, w.err)
	check("it still cannot be used", 4, 1, w.err)
	if n := len(p.Err().(interface{ Unwrap() []error }).Unwrap()); n != 1 {
		t.Errorf("%d errors, want one", n)
	}
	w.present = true
	check("it panics", 5, 1, w.err)
	if f := p.Facts(); len(f) != 1 || len(f[0].Data) != 16 {
		t.Errorf("facts %v, want 16 bytes", f)
	}
}

// TestMeetLibraries: any library may hold coroutines; without being asked some of those are looked at that do not lie
// in folders of the system, each once.
func TestMeetLibraries(t *testing.T) {
	const rx = maps.Read | maps.Exec
	for _, all := range []bool{false, true} {
		mappings := []maps.Mapping{{Start: 1 << 30, End: 1<<30 + 0x1000, Perm: rx, Inode: 1, Path: "/program"},
			{Start: 1<<31 - 0x1000, End: 1 << 31, Perm: rx, Inode: 2, Path: "/usr/lib/libsystem.so"}}
		for i := range mem.Addr(20) {
			at := 1<<31 + i*0x1000
			mappings = append(mappings, maps.Mapping{Start: at, End: at + 0x1000, Perm: rx, Inode: 3 + uint64(i),
				Path: fmt.Sprintf("/opt/lib%d.so", i)})
		}
		asked := map[string]int{}
		image := module.Image{Mapping: func(m *maps.Mapping) (*module.File, error) {
			asked[m.Path]++
			return nil, errors.New("there is no such file")
		}}
		set := module.NewSet(maps.NewTable(mappings), image)
		defer set.Close()
		p := vm.NewTable(nil, nil).Process(image)
		p.Scan(set)
		p.MeetLibraries(all)
		p.MeetLibraries(all)
		system, want := 0, 1+2*8 // at each time eight
		if all {
			system, want = 1, 22
		}
		if asked["/usr/lib/libsystem.so"] != system || len(asked) != want {
			t.Errorf("all %v: %d files were opened, %d of the system, want %d and %d", all, len(asked),
				asked["/usr/lib/libsystem.so"], want, system)
		}
		for path, n := range asked {
			if n != 1 {
				t.Errorf("%s was opened %d times", path, n)
			}
		}
	}
}
