package symbol

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/harness"
)

// resolve names one address, which is taken for an interrupted PC.
func resolve(t testing.TB, r *Resolver, v uint64, opt Options) []profile.Frame {
	t.Helper()
	out, err := r.Resolve([]Query{{Lookup: module.Vaddr(v), PC: module.Vaddr(v)}}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

func goProgram(t testing.TB, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", append(append([]string{"build", "-o", out}, args...),
		"../code/pclntab/testdata/frames.go")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, msg)
	}
	return out
}

// A stripped Go program has neither symbols nor DWARF; the expectations come from the same
// program unstripped, by nm and by go tool addr2line.
func TestGoProgramStripped(t *testing.T) {
	harness.Need(t, "nm")
	whole := goProgram(t)
	r := NewResolver(load(t, goProgram(t, "-ldflags=-s -w")), nil)
	var addrs []uint64
	for sc := bufio.NewScanner(strings.NewReader(harness.Output(t, "nm", whole))); sc.Scan(); {
		var v uint64
		var typ, name string
		fmt.Sscanf(sc.Text(), "%x %s %s", &v, &typ, &name)
		if strings.ToLower(typ) == "t" && (strings.HasPrefix(name, "main.") || strings.HasPrefix(name, "bufio.")) {
			addrs = append(addrs, v, v+17)
		}
	}
	cmd := exec.Command("go", "tool", "addr2line", whole)
	var in strings.Builder
	for _, v := range addrs {
		fmt.Fprintf(&in, "%#x\n", v)
	}
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("go tool addr2line does not work here: %v", err)
	}
	lines := strings.Split(string(out), "\n")
	for i, v := range addrs {
		got := resolve(t, r, v, Options{})
		last := got[len(got)-1]
		if name := lines[2*i]; last.Func != goName(name) || last.Inlined {
			t.Errorf("function at %#x: got %+v, want %s", v, last, name)
		}
		if at := fmt.Sprintf("%s:%d", got[0].File, got[0].Line); at != lines[2*i+1] {
			t.Errorf("line at %#x (%s): got %s, want %s", v, last.Func, at, lines[2*i+1])
		}
	}
	if len(addrs) < 12 {
		t.Errorf("compared %d addresses, too few", len(addrs))
	}
}

func TestGoInlinesAndOptions(t *testing.T) {
	path := goProgram(t)
	r := NewResolver(load(t, path), nil)
	start, end, ok := uint64(0), uint64(0), false
	for _, s := range readelf(t, path, ".symtab") {
		if strings.HasPrefix(s.name, "main.outer[") {
			start, end, ok = s.value, s.value+s.size, true
		}
	}
	if !ok {
		t.Fatal("program has no main.outer")
	}
	for v := start; v < end; v++ {
		chain := resolve(t, r, v, Options{})
		if len(chain) != 3 {
			continue
		}
		want := []string{"main.middle", "main.walker[...].walk", "main.outer[...]"}
		for i, f := range chain {
			if f.Func != want[i] || f.Inlined != (i < 2) || !strings.HasSuffix(f.File, "frames.go") || f.Line == 0 {
				t.Errorf("frame %d at %#x: got %+v, want %s", i, v, f, want[i])
			}
		}
		if last := chain[2]; last.Offset != v-start || !strings.HasPrefix(last.Linkage, "main.outer[go.shape.") {
			t.Errorf("function at %#x: got %+v, want offset %#x", v, last, v-start)
		}
		bare := resolve(t, r, v, Options{NoInlines: true, NoLines: true})
		if len(bare) != 1 || bare[0].Func != want[2] || bare[0].File != "" || bare[0].Line != 0 {
			t.Errorf("without inlines and lines at %#x: got %+v", v, bare)
		}
		if a, b, ok := r.Bounds(module.Vaddr(v)); !ok || uint64(a) != start || uint64(b) < end {
			t.Errorf("bounds at %#x: got [%#x, %#x) %v, want [%#x, %#x)", v, a, b, ok, start, end)
		}
		return
	}
	t.Error("no address in main.outer has two inlined calls")
}

const throwing = `
#include <stdexcept>
#include <vector>
namespace ns {
template <class T> struct box { std::vector<T> v; __attribute__((noinline)) void put(T x); };
template <class T> void box<T>::put(T x) { v.push_back(x); if (v.size() > 100) throw std::runtime_error("full"); }
}
int main(int n, char **) { ns::box<int> b;
 try { for (int i = 0; i < n; i++) b.put(i); } catch (...) { return 1; } return 0; }
`

func TestCPlusPlusProgram(t *testing.T) {
	path := compile(t, "g++", "a.cc", throwing, "-O2")
	r := NewResolver(load(t, path), nil)
	seen := map[string]bool{}
	for _, s := range readelf(t, path, ".symtab") {
		if s.size == 0 || s.name == "" {
			continue
		}
		got := resolve(t, r, s.value+s.size-1, Options{})[0]
		seen[got.Func] = true
		if got.Offset != s.size-1 {
			t.Errorf("offset at %#x (%s): got %#x, want %#x", s.value+s.size-1, s.name, got.Offset, s.size-1)
		}
	}
	for _, want := range []string{"ns::box<int>::put", "main", "main [cold]"} {
		if !seen[want] {
			t.Errorf("no function %q among %v", want, seen)
		}
	}
}

func TestRustProgram(t *testing.T) {
	const source = `
trait Shape { fn area(&self) -> f64; }
struct Square(f64);
impl Shape for Square { #[inline(never)] fn area(&self) -> f64 { self.0 * self.0 } }
#[inline(never)] fn total<T: Shape>(v: &[T]) -> f64 { v.iter().map(|s| s.area()).sum() }
fn main() { let v: Vec<Square> = (0..std::env::args().count()).map(|i| Square(i as f64)).collect();
 println!("{}", total(&v)); }
`
	path := compile(t, "rustc", "a.rs", source, "-O", "--crate-name", "shapes", "-C", "symbol-mangling-version=v0")
	r := NewResolver(load(t, path), nil)
	seen := map[string]bool{}
	for _, s := range readelf(t, path, ".symtab") {
		if s.size > 0 {
			seen[resolve(t, r, s.value, Options{})[0].Func] = true
		}
	}
	for _, want := range []string{"shapes::main", "<shapes::Square as shapes::Shape>::area"} {
		if !seen[want] {
			t.Errorf("no function %q", want)
		}
	}
}

// lines is a source of further facts, as DWARF will be.
type lines map[module.Vaddr][]Call

func (l lines) Calls(addrs []module.Vaddr) ([][]Call, error) {
	out := make([][]Call, len(addrs))
	for i, v := range addrs {
		out[i] = l[v]
	}
	return out, errors.New("lines of unit 3: cut")
}

func TestFurtherSource(t *testing.T) {
	path := libc(t)
	var v uint64
	for _, s := range readelf(t, path, ".dynsym") {
		if strings.HasPrefix(s.name, "malloc@") {
			v = s.value + 5
		}
	}
	r := NewResolver(load(t, path), nil, lines{module.Vaddr(v): {
		{Func: "checked_request2size", File: "malloc.c", Line: 1322},
		{Func: "__libc_malloc", File: "malloc.c", Line: 3300},
	}})
	out, err := r.Resolve([]Query{{Lookup: module.Vaddr(v), PC: module.Vaddr(v + 1)}, {Lookup: 1, PC: 1}}, Options{})
	if err == nil || !strings.Contains(err.Error(), "unit 3") {
		t.Errorf("got error %v, want that of the source", err)
	}
	if len(out[0]) != 2 || !out[0][0].Inlined || out[0][0].Func != "checked_request2size" || out[0][0].Line != 1322 {
		t.Errorf("inlined frame: got %+v", out[0])
	}
	if f := out[0][1]; f.Func != "malloc" || f.Offset != 6 || f.Line != 3300 || f.Inlined || f.ModuleAddr != v+1 {
		t.Errorf("function: got %+v, want malloc+6 at line 3300", f)
	}
	if f := out[1][0]; len(out[1]) != 1 || f.Func != "" || f.ModuleAddr != 1 {
		t.Errorf("address without name: got %+v", out[1])
	}
}
