package v8

import (
	"debug/elf"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/vm/v8/heap"
)

// programs are those with V8 that are there: of scripts/build-node, and the system's.
func programs(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("../../testdata/bin/node/*/bin/node")
	if err != nil {
		t.Fatal(err)
	}
	if at, err := filepath.EvalSymlinks("/usr/bin/node"); err == nil {
		all = append(all, at)
	}
	if len(all) == 0 {
		t.Skip("no node to read: run scripts/build-node")
	}
	return all
}

// load maps the program at path as a process would have it.
func load(t *testing.T, path string) *module.Module {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []maps.Mapping
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		const page = 4096
		m := maps.Mapping{Start: mem.Addr(p.Vaddr &^ (page - 1)), Perm: maps.Read,
			End: mem.Addr((p.Vaddr + p.Filesz + page - 1) &^ (page - 1)), Dev: 8 << 32, Inode: 1, Path: path,
			Offset: int64(p.Off &^ (page - 1))}
		if p.Flags&elf.PF_X != 0 {
			m.Perm |= maps.Exec
		}
		all = append(all, m)
	}
	set := module.NewSet(maps.NewTable(all), module.Image{Mapping: func(m *maps.Mapping) (*module.File, error) {
		return &module.File{Data: data, Path: m.Path, Close: func() error { return nil }}, nil
	}})
	t.Cleanup(func() { set.Close() })
	m := set.Find(mem.Addr(f.Entry))
	if m == nil || m.Err != nil {
		t.Fatalf("open %q: %+v", path, m)
	}
	return m
}

// TestTables: what is looked up name by name is what the whole tables of symbols say, and the builtins are read when
// they are wanted, not before.
func TestTables(t *testing.T) {
	for _, path := range programs(t) {
		t.Run(path, func(t *testing.T) {
			m := load(t, path)
			quick, err := findTables(m, portOf(m))
			if err != nil || quick == nil {
				t.Fatalf("no tables: %v", err)
			}
			if quick.dynamic == nil {
				t.Fatal("all symbols are read of a program that has a hash table of those that it exports")
			}
			whole := &tables{m: m}
			if err := whole.readAll(); err != nil {
				t.Fatal(err)
			}
			got, err := heap.Read(quick.constant)
			want, wantErr := heap.Read(whole.constant)
			if err != nil || wantErr != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("layout: got %+v, %v; want %+v, %v", got, err, want, wantErr)
			}
			_, exported := quick.returned() // 0 where the program does not export what returns it
			b := quick.builtins()
			if start, end := whole.blob(); b.start != start || b.end != end || end == 0 {
				t.Errorf("builtins: got [%#x, %#x), want [%#x, %#x)", uint64(b.start), uint64(b.end), uint64(start),
					uint64(end))
			}
			if exported != 0 && (b.unread == nil || quick.data != nil) {
				t.Error("all symbols are read before a builtin is wanted")
			}
			if all := (&builtins{unread: whole}).all(); len(all) != len(whole.code) {
				t.Errorf("%d builtins are listed, want %d", len(all), len(whole.code))
			}
			if len(whole.code) == 0 || b.find(whole.code[0].start) == nil || b.err != nil || b.bytecodeSizes() == nil {
				t.Errorf("%d builtins, %v; want %d, and the first found", len(b.list), b.err, len(whole.code))
			}
		})
	}
}

// TestNoV8: a program without V8 is known as one by its strings.
func TestNoV8(t *testing.T) {
	m := load(t, "/bin/true")
	if got, err := findTables(m, portOf(m)); got != nil || err != nil {
		t.Errorf("got %v, %v; want none", got, err)
	}
	if symbol.MayDefine(m, ".dynsym", marker) {
		t.Error("a symbol of V8 may be in /bin/true")
	}
}
