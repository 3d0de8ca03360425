package symbol

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol/dwarf"
	"github.com/fpstack/fpstack/tests/harness"
)

// spots marks an address inside of two inlined calls; the lines below are counted by hand.
const spots = `
namespace outer {
struct Box {
	int n;
	__attribute__((always_inline)) inline void put(int k) {
		n += k; __asm__ volatile(".globl spot\nspot: nop");
	}
};
}
static inline __attribute__((always_inline)) void twice(outer::Box &b, int k) {
	b.put(k + 1);
}
__attribute__((noinline)) int host(int k) {
	outer::Box b{k};
	twice(b, k);
	return b.n;
}
int main(int n, char **) { return host(n); }
`

var spotCalls = []profile.Frame{
	{Func: "outer::Box::put", Line: 6, Inlined: true},
	{Func: "twice", Line: 11, Inlined: true},
	{Func: "host", Line: 15},
}

// spotOf returns the address of the label in a program.
func spotOf(t testing.TB, path string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == "spot" {
			return s.Value
		}
	}
	t.Fatalf("%s has no symbol spot", path)
	return 0
}

func checkSpot(t *testing.T, got []profile.Frame) {
	t.Helper()
	if len(got) != len(spotCalls) {
		t.Fatalf("got %d calls, want %d: %+v", len(got), len(spotCalls), got)
	}
	for i, want := range spotCalls {
		f := got[i]
		if f.Func != want.Func || f.Line != want.Line || f.Inlined != want.Inlined || filepath.Base(f.File) != "a.cc" {
			t.Errorf("frame %d: got %+v, want %s at a.cc:%d", i, f, want.Func, want.Line)
		}
	}
}

func TestLinesAndInlinedCalls(t *testing.T) {
	for _, c := range []struct{ name, compiler, options string }{
		{"gcc, version 5", "g++", "-O1 -gdwarf-5"},
		{"gcc, version 4", "g++", "-O1 -gdwarf-4"},
		{"gcc, version 3", "g++", "-O1 -gdwarf-3"},
		{"gcc, version 2", "g++", "-O1 -gdwarf-2"},
		{"gcc, 64-bit format", "g++", "-O1 -gdwarf-5 -gdwarf64"},
		{"gcc, types apart", "g++", "-O1 -g -fdebug-types-section"},
		{"gcc, whole program", "g++", "-O2 -g -flto"},
		{"gcc, 32 bits", "g++", "-O1 -g -m32 -nostdlib -Wl,-e,main -fno-pic -no-pie"},
		{"gcc, inflated by zlib", "g++", "-O1 -g -gz=zlib"},
		{"gcc, inflated by zlib, GNU's old form", "g++", "-O1 -g -gz=zlib-gnu"},
		{"gcc, inflated by zstd", "g++", "-O1 -g -Wl,--compress-debug-sections=zstd"},
		{"clang, version 5", "clang++", "-O1 -gdwarf-5"},
		{"clang, version 4", "clang++", "-O1 -gdwarf-4"},
		{"clang, lines and inlined calls alone", "clang++", "-O1 -gline-tables-only"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := compile(t, c.compiler, "a.cc", spots, strings.Fields(c.options)...)
			got := resolve(t, NewResolver(load(t, path), nil), spotOf(t, path), Options{})
			if strings.Contains(c.options, "line-tables-only") { // such units say nothing of namespaces
				got[0].Func = "outer::Box::put"
			}
			checkSpot(t, got)
		})
	}
}

func TestNoLinesNoInlinedCalls(t *testing.T) {
	path := compile(t, "g++", "a.cc", spots, "-O1", "-g")
	v := spotOf(t, path)
	for _, c := range []struct {
		name string
		opt  Options
		want int // frames
		line int // of the last
	}{
		{"no inlined calls", Options{NoInlines: true}, 1, 15},
		{"no lines", Options{NoLines: true}, 3, 0},
		{"neither", Options{NoInlines: true, NoLines: true}, 1, 0},
	} {
		got := resolve(t, NewResolver(load(t, path), nil), v, c.opt)
		if last := got[len(got)-1]; len(got) != c.want || last.Line != c.line || last.Func != "host" {
			t.Errorf("%s: got %+v, want %d frames, the last host at line %d", c.name, got, c.want, c.line)
		}
	}
}

// Without symbols the function itself is named by DWARF, and offsets count from its start.
func TestInlinedCallsWithoutSymbols(t *testing.T) {
	path := compile(t, "g++", "a.cc", spots, "-O1", "-g", "-no-pie")
	v := spotOf(t, path)
	var host uint64
	for _, s := range readelf(t, path, ".symtab") {
		if strings.HasPrefix(s.name, "_Z4host") {
			host = s.value
		}
	}
	harness.Need(t, "objcopy")
	harness.Output(t, "objcopy", "--remove-section=.symtab", "--strip-unneeded", "--keep-section=.debug_*",
		"--only-keep-debug", path, path+".debug")
	m := load(t, path)
	debug := DebugFileOf(load(t, path+".debug"))
	calls, err := NewDWARF(m, debug, DebugLinks{}).Calls([]module.Vaddr{module.Vaddr(v)})
	if err != nil {
		t.Fatal(err)
	}
	last := calls[0][len(calls[0])-1]
	if last.Func != "host" || !last.HasStart || uint64(last.Start) != host {
		t.Errorf("function: got %+v, want host from %#x", last, host)
	}
}

func TestLinesOfSplitUnit(t *testing.T) {
	dir := t.TempDir()
	harness.Need(t, "g++")
	src := filepath.Join(dir, "a.cc")
	if err := os.WriteFile(src, []byte(spots), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-O1", "-g", "-gsplit-dwarf", "-c", "a.cc"}, {"-o", "program", "a.o"}} {
		cmd := exec.Command("g++", args...)
		cmd.Dir = dir
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("g++ %v does not work here: %v\n%s", args, err, b)
		}
	}
	path := filepath.Join(dir, "program")
	m, v := load(t, path), spotOf(t, path)
	t.Run("file not at hand", func(t *testing.T) {
		out, err := NewResolver(m, nil).Resolve([]Query{{Lookup: module.Vaddr(v), PC: module.Vaddr(v)}}, Options{})
		if err == nil || !strings.Contains(err.Error(), "a.dwo") {
			t.Errorf("got error %v, want one that names a.dwo", err)
		}
		if f := out[0][0]; len(out[0]) != 1 || f.Func != "host" || f.Line != 6 {
			t.Errorf("got %+v, want host at the line of the innermost call, 6", out[0])
		}
	})
	t.Run("file at hand", func(t *testing.T) {
		s := NewDWARF(m, DebugFileOf(m), DebugLinks{Split: func(k dwarf.Skeleton) (*DebugFile, error) {
			if k.Name != "a.dwo" || k.CompDir != dir || k.ID == 0 {
				t.Errorf("asked for %+v, want a.dwo of %s", k, dir)
			}
			return elfFile(t, filepath.Join(dir, "a.dwo")), nil
		}})
		calls, err := s.Calls([]module.Vaddr{module.Vaddr(v)})
		if err != nil {
			t.Fatal(err)
		}
		var got []profile.Frame
		for i, c := range calls[0] {
			got = append(got, profile.Frame{Func: c.Func, File: c.File, Line: c.Line, Inlined: i < len(calls[0])-1})
		}
		checkSpot(t, got)
	})
}

// elfFile opens a file that no process maps.
func elfFile(t testing.TB, path string) *DebugFile {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &DebugFile{Path: path, Order: f.ByteOrder, Class: 8, Section: func(name string) (module.Section, bool) {
		s := f.Section(name)
		if s == nil {
			return module.Section{}, false
		}
		b, err := s.Data()
		return module.Section{Name: name, Data: b, Size: s.Size}, err == nil
	}}
}

func TestLinesThatCannotBeInflated(t *testing.T) {
	m := load(t, libc(t))
	le := binary.LittleEndian
	head := func(kind uint32, size uint64) []byte {
		b := le.AppendUint32(nil, kind)
		return le.AppendUint64(le.AppendUint64(append(b, 0, 0, 0, 0), size), 1)
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"more than Zstandard can make", append(head(2, 4<<20), make([]byte, 100)...), "cannot become 4194304"},
		{"no Zstandard stream", append(head(2, 100), "nothing of Zstandard"...), "magic number"},
		{"Zstandard gives less than told", append(head(2, 100), zstdOf(make([]byte, 99))...),
			"99 bytes came out, the header says 100"},
		{"unknown compression", head(77, 100), "compression 77"},
		{"header is cut", []byte{1, 0, 0, 0}, "header is cut"},
		{"more than deflate can make", append(head(1, 1<<30), make([]byte, 100)...), "cannot become 1073741824"},
		{"no zlib stream", append(head(1, 100), "nothing of zlib"...), "zlib"},
	} {
		file := DebugFile{Path: "/x", Order: le, Class: 8, Section: func(name string) (module.Section, bool) {
			return module.Section{Name: name, Data: c.data, Size: uint64(len(c.data)), Compressed: true}, true
		}}
		_, err := NewDWARF(m, file, DebugLinks{}).Calls([]module.Vaddr{1})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// zstdOf compresses b.
func zstdOf(b []byte) []byte {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return z.EncodeAll(b, nil)
}

// A module without DWARF costs nothing, and one that could not be read says so elsewhere.
func TestNoLinesWithoutInfo(t *testing.T) {
	m := load(t, libc(t))
	asked := ""
	file := DebugFileOf(m)
	file.Section = func(name string) (module.Section, bool) {
		asked += name + " "
		return module.Section{}, false
	}
	s := NewDWARF(m, file, DebugLinks{})
	calls, err := s.Calls([]module.Vaddr{0x1000, 0x2000})
	if err != nil || len(calls) != 2 || calls[0] != nil || s.Has() {
		t.Errorf("got %v, %v, want two times nothing", calls, err)
	}
	if want := ".debug_info .zdebug_info "; asked != want {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	if s.data != nil {
		t.Error("DWARF was opened")
	}
}

// A name that many addresses have is demangled once, and one string for all of them.
func TestNamesAreDemangledOnce(t *testing.T) {
	const n, length = 1000, 3000
	linkage := fmt.Sprintf("_Z%d%sv", length, strings.Repeat("a", length))
	names := map[string]string{}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		calls := fromDWARF([]dwarf.Call{{Linkage: linkage}, {Linkage: "plain"}, {Name: "none"}}, names, nil)
		if calls[0].Func != strings.Repeat("a", length) || calls[1].Func != "plain" || calls[2].Func != "none" {
			t.Fatalf("got %.100q, %q and %q", calls[0].Func, calls[1].Func, calls[2].Func)
		}
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > n*2*length {
		t.Errorf("%d names took %d bytes", n, took)
	}
}
