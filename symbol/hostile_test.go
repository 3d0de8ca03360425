package symbol

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/symbol/debugfile"
	"github.com/fpstack/fpstack/tests/hostile"
	"github.com/fpstack/fpstack/work"
)

// within returns data as a module of a process whose run has budget b.
func within(t testing.TB, data []byte, path string, b *work.Budget) *module.Module {
	t.Helper()
	end := (mem.Addr(len(data)) + 0xfff) &^ 0xfff
	set := module.NewSet(maps.NewTable([]maps.Mapping{{End: 1<<32 + end, Start: 1 << 32, Perm: maps.Read | maps.Exec,
		Inode: 1, Path: path}}), module.Image{Mapping: func(m *maps.Mapping) (*module.File,
		error) {
		return &module.File{Data: data, Path: m.Path}, nil
	}})

	set.Charge(b)
	t.Cleanup(func() { set.Close() })
	m := set.Find(1<<32 + hostile.TextAt)
	if m == nil || m.Err != nil {
		t.Fatalf("open %q: %+v", path, m)
	}
	return m
}

// spread are n addresses in the code of an object of package hostile.
func spread(n int) []Query {
	out := make([]Query, n)
	for i := range out {
		v := module.Vaddr(hostile.TextAt + i%(64<<10))
		out[i] = Query{Lookup: v, PC: v}
	}
	return out
}

// What all files of a run take together is bounded, whatever they are; and none of them is named by
// chance: what is cut says so.
func TestRunIsBounded(t *testing.T) {
	const steps, memory = 100 << 20, 32 << 20
	run := work.New(steps, memory)
	files := NewFiles(debugfile.New(nil, nil, nil), false)
	queries, cut := spread(1000), 0
	made := map[string][]byte{}
	for round := range 3 {
		for _, k := range hostile.Kinds {
			if made[k.Name] == nil {
				made[k.Name] = k.Make(64 << 10)
			}
			r := NewResolver(within(t, made[k.Name], k.Name, run), files)
			for range 2 {
				frames, err := r.Resolve(queries, Options{})
				if len(frames) != len(queries) {
					t.Fatalf("%s: got %d answers, want %d", k.Name, len(frames), len(queries))
				}
				if errors.Is(err, work.ErrSpent) || errors.Is(err, work.ErrMemory) {
					cut++
				}
			}
		}
		if left, bytes := run.Left(); left < 0 || bytes < 0 {
			t.Errorf("round %d: %d steps and %d bytes are left", round, left, bytes)
		}
	}
	if cut == 0 {
		t.Error("nothing was cut: the files ask for less than this test is about")
	}
}

// Symbols that cannot all be looked at give no name, for a nearer one may be among the others.
func TestCutSymbolsNameNothing(t *testing.T) {
	data := hostile.Symbols(256 << 10)
	for _, after := range []int{0, indexAfter + 1} { // by passes, and when an index would serve
		budget := work.New(1<<40, 1<<40)
		m := within(t, data, "/x", budget)
		table := New(m)
		v := module.Vaddr(hostile.TextAt)
		for i := range after {
			if got, err := table.Lookup([]module.Vaddr{v + module.Vaddr(i)}); got[0] == nil || err != nil {
				t.Fatalf("with budget: got %v, %v, want a symbol", got[0], err)
			}
		}
		if after > 0 && table.index == nil {
			t.Fatal("no index after many passes")
		}
		table.index = nil
		m.Budget().Spend(1 << 41)
		if got, err := table.Lookup([]module.Vaddr{v + 100}); got[0] != nil || !errors.Is(err, work.ErrSpent) {
			t.Errorf("after %d: got %v, %v, want no symbol and %v", after, got[0], err, work.ErrSpent)
		}
	}
}

// A signal ends what is read, with its reason.
func TestResolverStops(t *testing.T) {
	for _, k := range hostile.Kinds {
		budget := work.New(1<<40, 1<<40)
		r := NewResolver(within(t, k.Make(64<<10), k.Name, budget), NewFiles(debugfile.New(nil, nil, nil), true))
		want := errors.New("signal")
		budget.Stop(want)
		_, err := r.Resolve(spread(10), Options{})
		reads := !slices.Contains([]string{"cfi", "cies", "names"}, k.Name) // they hold no names
		if reads && !errors.Is(err, want) && k.Name != "branches" && k.Name != "pclntab" {
			t.Errorf("%s: got %v, want %v", k.Name, err, want)
		}
	}
}

// Which segment a symbol lies in does not depend on how many there are.
func TestManySegments(t *testing.T) {
	took := func(data []byte) time.Duration {
		var all []time.Duration
		for range 5 {
			table := New(within(t, data, "/x", nil))
			table.open()
			begun := time.Now()
			if got, err := table.Lookup([]module.Vaddr{hostile.TextAt}); got[0] == nil || err != nil {
				t.Fatalf("got %v, %v, want a symbol", got[0], err)
			}
			all = append(all, time.Since(begun))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	many := hostile.Segments(6 << 20)
	few := hostile.Segments(6 << 20)
	for i := range few[56:58] { // e_phnum: the true segment is the last
		few[56+i] = 0
	}
	few[56] = 1
	last := few[32:40] // e_phoff
	off := uint64(len(few) - 56)
	for i := range last {
		last[i] = byte(off >> (8 * i))
	}
	if a, b := took(many), took(few); a > 10*b {
		t.Errorf("with many segments a look-up takes %v, with one %v", a, b)
	}
}

// Large programs as they are need a small part of what a run may take.
func TestLargeProgramsAreWhole(t *testing.T) {
	for _, path := range []string{"/usr/lib/chromium/chromium", "/usr/bin/node",
		"/usr/lib/x86_64-linux-gnu/libLLVM-15.so.1", libc(t)} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Logf("no %s here", path)
			continue
		}
		ms, err := mappings(path)
		if err != nil {
			t.Fatal(err)
		}
		run := work.New(work.Steps, work.Memory)
		set := module.NewSet(maps.NewTable(ms),
			module.Image{Mapping: func(m *maps.Mapping) (*module.File, error) {
				return &module.File{Data: data,
					Path: m.Path}, nil
			}})
		set.Charge(run)
		var m *module.Module
		for i := range ms {
			if ms[i].Perm&maps.Exec != 0 {
				m = set.Find(ms[i].Start)
			}
		}
		var queries []Query
		for _, v := range some(m, 5000) {
			queries = append(queries, Query{Lookup: v, PC: v})
		}
		r := NewResolver(m, NewFiles(debugfile.New([]debugfile.Open{readFile}, []string{"/usr/lib/debug"}, nil), false))
		for range indexAfter + 2 { // passes, and the index
			if _, err := r.Resolve(queries, Options{}); errors.Is(err, work.ErrSpent) ||
				errors.Is(err, work.ErrMemory) {
				t.Errorf("%s: %v", path, err)
			}
			r.table.known = map[module.Vaddr]*Symbol{}
		}
		steps, bytes := run.Left()
		t.Logf("%s: %d million steps, %d MB", path, (work.Steps-steps)/1e6, (work.Memory-bytes)>>20)
		if steps < work.Steps/2 || bytes < work.Memory/4 {
			t.Errorf("%s: %d steps and %d bytes are left of %d and %d", path, steps, bytes, int64(work.Steps),
				int64(work.Memory))
		}
		set.Close()
	}
}

func readFile(path string) (*module.File, error) {
	b, err := os.ReadFile(path)
	return &module.File{Data: b, Path: path}, err
}
