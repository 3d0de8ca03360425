package symbol

import (
	"debug/elf"
	"os"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/tests/harness"
)

// compile builds source, a file whose name ends as the compiler wants, and returns the program's path.
func compile(t testing.TB, compiler, file, source string, options ...string) string {
	t.Helper()
	return harness.Compile(t, compiler, file, source, "program", options...)
}

// load maps the file at path as a process would have it and returns its module.
func load(t testing.TB, path string) *module.Module {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("no file to test with: %v", err)
	}
	ms, err := mappings(path)
	if err != nil {
		t.Fatal(err)
	}
	m := moduleOf(t, data, ms)
	if m == nil || m.Err != nil {
		t.Fatalf("open %q: got %+v", path, m)
	}
	return m
}

// mappings lays out the segments of a file, at a bias if it may be moved.
func mappings(path string) ([]maps.Mapping, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var bias uint64
	if f.Type == elf.ET_DYN {
		bias = 0x40000000
	}
	var out []maps.Mapping
	if s := f.Section(".text"); s != nil && s.Type == elf.SHT_NOBITS { // a debug file: headers alone
		return []maps.Mapping{{Start: mem.Addr(bias), End: mem.Addr(bias + 4096), Perm: maps.Read | maps.Exec,
			Dev: 8 << 32, Inode: 1, Path: path}}, nil
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		const page = 4096
		m := maps.Mapping{
			Start: mem.Addr((bias + p.Vaddr) &^ (page - 1)),
			End:   mem.Addr((bias + p.Vaddr + p.Filesz + page - 1) &^ (page - 1)),
			Perm:  maps.Read, Offset: int64(p.Off &^ (page - 1)), Dev: 8 << 32, Inode: 1, Path: path,
		}
		if p.Flags&elf.PF_X != 0 {
			m.Perm |= maps.Exec
		}
		if p.Flags&elf.PF_W != 0 {
			m.Perm |= maps.Write
		}
		out = append(out, m)
	}
	return out, nil
}

// moduleOf opens data, which the first executable of the mappings shows; nil if it is no object.
func moduleOf(t testing.TB, data []byte, ms []maps.Mapping) *module.Module {
	set := module.NewSet(maps.NewTable(ms), module.Image{Mapping: func(m *maps.Mapping) (*module.File, error) {
		return &module.File{Data: data, Path: m.Path, Close: func() error { return nil }}, nil
	}})

	t.Cleanup(func() { set.Close() })
	for _, m := range set.Table().All() {
		if m.Perm&maps.Exec != 0 {
			return set.Find(m.Start)
		}
	}
	return nil
}

// libc is the path of the C library that programs here load.
func libc(t testing.TB) string {
	for _, path := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6",
		"/lib/aarch64-linux-gnu/libc.so.6"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Skip("no glibc in its usual places")
	return ""
}

// names asks for addresses one at a time and returns the names, "" for none.
func names(t testing.TB, table *Table, addrs ...module.Vaddr) []string {
	t.Helper()
	symbols, err := table.Lookup(addrs)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(symbols))
	for i, s := range symbols {
		if s != nil {
			out[i] = s.Name
		}
	}
	return out
}
