package module_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// objectFile is an ELF object in a file of its own, with a constant that tells it from others.
func objectFile(t *testing.T, name string, value int) string {
	return compile(t, "gcc", fmt.Sprintf("int marker_%s(int x) { return x + %d; }\n", name, value), name+".so",
		"-shared", "-fPIC", "-nostdlib", "-Wl,--build-id")
}

// opened is an Opener that counts what is open.
type opened struct{ opens, open int }

func (o *opened) file(m *maps.Mapping) (*module.File, error) {
	f, err := openFile(m)
	if err != nil {
		return nil, err
	}
	o.opens++
	o.open++
	f.Close = func() error { o.open--; return nil }
	return f, nil
}

// whole maps the file of an object as one executable mapping.
func whole(path string, inode uint64, at mem.Addr) maps.Mapping {
	return maps.Mapping{Start: at, End: at + 0x8000, Perm: maps.Read | maps.Exec, Dev: 1, Inode: inode, Path: path}
}

func TestUpdate(t *testing.T) {
	const first, second = mem.Addr(0x10000), mem.Addr(0x40000)
	a, b := objectFile(t, "a", 1), objectFile(t, "b", 2)
	for _, tc := range []struct {
		name          string
		before, after []maps.Mapping
		at            mem.Addr // an address asked for before and after
		path          string   // of the module there after; "": none
		same          bool     // it is the *Module that was at first before
	}{
		{"another library was loaded", []maps.Mapping{whole(a, 1, first)},
			[]maps.Mapping{whole(a, 1, first), whole(b, 2, second)}, first, a, true},
		{"and is found", []maps.Mapping{whole(a, 1, first)}, []maps.Mapping{whole(a, 1, first), whole(b, 2, second)},
			second, b, false},
		{"another library at the same address", []maps.Mapping{whole(a, 1, first)}, []maps.Mapping{whole(b, 2, first)},
			first, b, false},
		{"a new file of the same name", []maps.Mapping{whole(a, 1, first)}, []maps.Mapping{whole(a, 3, first)}, first,
			a, false},
		{"the same library elsewhere", []maps.Mapping{whole(a, 1, first)}, []maps.Mapping{whole(a, 1, second)}, second,
			a, false},
		{"unloaded", []maps.Mapping{whole(a, 1, first)}, nil, first, "", false},
		{"nothing has changed", []maps.Mapping{whole(a, 1, first)}, []maps.Mapping{whole(a, 1, first)}, first, a, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var files opened
			s := module.NewSet(maps.NewTable(tc.before), module.Image{Mapping: files.file})
			old := s.Find(first)
			if old == nil || old.Err != nil {
				t.Fatalf("before: %+v", old)
			}
			s.Update(maps.NewTable(tc.after))
			got := s.Find(tc.at)
			if (got == nil) != (tc.path == "") || got != nil && (got.Path != tc.path || got.Err != nil) {
				t.Errorf("after: got %+v, want a module of %q", got, tc.path)
			}
			if (got == old) != tc.same {
				t.Errorf("the same *Module: got %v, want %v", got == old, tc.same)
			}
			if s.Executable(first) != (maps.NewTable(tc.after).Find(first) != nil) {
				t.Errorf("executable at %#x: got %v", uint64(first), s.Executable(first))
			}
			if _, ok := old.Section(".text"); !ok || files.open != files.opens {
				t.Errorf("the module of before lost its file: %d of %d are open", files.open, files.opens)
			}
			if got != nil && got != old && got.ID == old.ID {
				t.Errorf("two modules with the ID %d", got.ID)
			}
			if s.Close(); files.open != 0 {
				t.Errorf("%d files are open behind Close", files.open)
			}
		})
	}
}

// A library that is unloaded and loaded again is the module that it was.
func TestUpdateAndBack(t *testing.T) {
	a := objectFile(t, "a", 1)
	var files opened
	with := maps.NewTable([]maps.Mapping{whole(a, 1, 0x10000)})
	s := module.NewSet(with, module.Image{Mapping: files.file})
	m := s.Find(0x10000)
	for range 1000 {
		s.Update(maps.NewTable(nil))
		if got := s.Find(0x10000); got != nil {
			t.Fatalf("unloaded: got %+v", got)
		}
		s.Update(with)
		if got := s.Find(0x10000); got != m {
			t.Fatalf("loaded again: got %+v, want the same", got)
		}
	}
	if files.opens != 1 || len(s.All()) != 1 || s.Changes() != 2000 {
		t.Errorf("got %d opens, %d modules, %d changes; want 1, 1, 2000", files.opens, len(s.All()), s.Changes())
	}
}

// A file that was written over in place keeps its inode: its header and build id tell.
func TestUpdateOfRewrittenFile(t *testing.T) {
	read := func(name string) []byte {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	was, is := read(objectFile(t, "a", 1)), read(objectFile(t, "b", 2))
	mapped := make([]byte, max(len(was), len(is))) // as a shared mapping shows the file
	copy(mapped, was)
	open := func(m *maps.Mapping) (*module.File, error) { return &module.File{Data: mapped, Path: m.Path}, nil }
	table := maps.NewTable([]maps.Mapping{whole("/lib/x.so", 1, 0x10000)})
	s := module.NewSet(table, module.Image{Mapping: open})
	old := s.Find(0x10000)
	clear(mapped)
	copy(mapped, is)
	s.Update(table)
	got := s.Find(0x10000)
	if got == old || got.Err != nil || got.BuildID() == old.BuildID() {
		t.Errorf("got module %d with build id %s, want another than %d with %s", got.ID, got.BuildID(), old.ID,
			old.BuildID())
	}
}

// An object that was read from memory is kept while its beginning is there.
func TestUpdateOfObjectInMemory(t *testing.T) {
	b, err := os.ReadFile(objectFile(t, "a", 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		change func(image []byte)
		same   bool
	}{
		{"nothing has changed", func([]byte) {}, true},
		{"another object is there", func(image []byte) { image[24]++ }, false}, // e_entry
	} {
		t.Run(tc.name, func(t *testing.T) {
			image := make([]byte, 0x8000)
			copy(image, b)
			table := maps.NewTable([]maps.Mapping{{Start: 0x10000, End: 0x18000, Perm: maps.Read | maps.Exec}})
			s := module.NewSet(table, module.Image{Memory: mem.NewOverlay(nil, mem.Range{Start: 0x10000, Data: image})})
			old := s.Find(0x10000)
			if old == nil || old.Err != nil {
				t.Fatalf("before: %+v", old)
			}
			tc.change(image)
			s.Update(table)
			if got := s.Find(0x10000); got == nil || got.Err != nil || (got == old) != tc.same {
				t.Errorf("got %+v, the same: %v; want the same: %v", got, got == old, tc.same)
			}
		})
	}
}

// steps runs a program that writes a line and waits for one, again and again. next returns its
// next line.
func steps(t *testing.T, name string, args ...string) (pid int, next func() string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("%s does not run here: %v", name, err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines, first := bufio.NewReader(out), true
	return cmd.Process.Pid, func() string {
		if !first {
			fmt.Fprintln(in)
		}
		first = false
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("read a line of %s: %v", name, err)
		}
		return line
	}
}

// TestUpdateLive loads, unloads and loads libraries in a live program.
func TestUpdateLive(t *testing.T) {
	a, b := objectFile(t, "a", 1), objectFile(t, "b", 2)
	program := compile(t, "gcc", `
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
	char line[8];
	void *h = NULL;
	for (int i = 1; i < argc; i++) {
		if (h) dlclose(h);
		if (!(h = dlopen(argv[i], RTLD_NOW))) return 1;
		printf("%p\n", dlsym(h, argv[i + 1]));
		fflush(stdout);
		i++;
		if (!fgets(line, sizeof line, stdin)) return 0;
	}
}`, "loader", "-ldl")
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc/PID/maps of Linux")
	}
	p, next := steps(t, program, a, "marker_a", b, "marker_b", a, "marker_a")
	at := func() mem.Addr {
		var v uint64
		if _, err := fmt.Sscanf(next(), "0x%x", &v); err != nil {
			t.Fatal(err)
		}
		return mem.Addr(v)
	}
	inA := at()
	s, _ := set(t, p, openFile)
	was := s.Find(inA)
	update := func() {
		f, err := os.Open(fmt.Sprintf("/proc/%d/maps", p))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		table, err := maps.Parse(f)
		if err != nil {
			t.Fatal(err)
		}
		s.Update(table)
	}
	inB := at()
	update()
	if got := s.Find(inB); got == was || filepath.Base(got.Path) != "b.so" {
		t.Errorf("second library at %#x (the first was at %#x): got %q", uint64(inB), uint64(inA), got.Path)
	}
	if again := at(); again != inA {
		t.Skipf("the first library came back at %#x, not %#x", uint64(again), uint64(inA))
	}
	update()
	if got := s.Find(inA); got != was {
		t.Errorf("first library again: got module %d, want %d", got.ID, was.ID)
	}
}
