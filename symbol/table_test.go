package symbol

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/harness"
)

// readelfSymbol is one line of readelf -sW.
type readelfSymbol struct {
	value, size      uint64
	typ, bind, shndx string
	name             string
}

// readelf lists the functions of a file as readelf sees them.
func readelf(t testing.TB, path, table string) []readelfSymbol {
	harness.Need(t, "readelf")
	var out []readelfSymbol
	in := false
	for sc := bufio.NewScanner(strings.NewReader(harness.Output(t, "readelf", "-sW", path))); sc.Scan(); {
		if strings.HasPrefix(sc.Text(), "Symbol table") {
			in = strings.Contains(sc.Text(), "'"+table+"'")
		}
		f := strings.Fields(sc.Text())
		if !in || len(f) < 8 || !strings.HasSuffix(f[0], ":") || f[6] == "UND" || f[3] != "FUNC" && f[3] != "IFUNC" {
			continue
		}
		s := readelfSymbol{typ: f[3], bind: f[4], shndx: f[6], name: f[7]}
		fmt.Sscanf(f[1], "%x", &s.value)
		fmt.Sscan(f[2], &s.size)
		if strings.HasPrefix(f[2], "0x") {
			fmt.Sscanf(f[2], "0x%x", &s.size)
		}
		out = append(out, s)
	}
	return out
}

// Every function that readelf lists is asked for by an address in it. The expectation is made
// by trying all symbols for each address.
func TestLookupFindsWhatReadelfLists(t *testing.T) {
	node, nodeTable := "/usr/bin/node", ".symtab"
	// Debian's node is a small program before a large library without .symtab.
	if found, _ := filepath.Glob("/usr/lib/x86_64-linux-gnu/libnode.so.*"); len(found) > 0 {
		node, nodeTable = found[0], ".dynsym"
	}
	for _, c := range []struct{ name, path, table string }{
		{"glibc, stripped", libc(t), ".dynsym"},
		{"glibc, debug file", debugFile(t, libc(t)), ".symtab"},
		{"C++ library", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", ".dynsym"},
		{"C, 32 bits", compile32(t), ".symtab"},
		{"node, 110,000 symbols", node, nodeTable},
	} {
		t.Run(c.name, func(t *testing.T) {
			if exec.Command("test", "-e", c.path).Run() != nil {
				t.Skip("no such file here")
			}
			table := New(load(t, c.path))
			all := readelf(t, c.path, c.table)
			byAddr := map[uint64][]string{} // names that may be shown
			var addrs []module.Vaddr
			sorted := slices.Clone(all)
			slices.SortFunc(sorted, func(a, b readelfSymbol) int { return int(int64(a.value) - int64(b.value)) })
			for i, s := range all {
				if s.size == 0 || i%(1+len(all)/5000) != 0 {
					continue
				}
				v := s.value + s.size/2
				best := uint64(0)
				for _, o := range sorted {
					if o.value > v {
						break
					}
					if v-o.value < o.size && o.value > best {
						best = o.value
						byAddr[v] = nil
					}
					if v-o.value < o.size && o.value == best {
						name, _, _ := strings.Cut(o.name, "@")
						byAddr[v] = append(byAddr[v], name)
					}
				}
				addrs = append(addrs, module.Vaddr(v))
			}
			for i, got := range names(t, table, addrs...) {
				if want := byAddr[uint64(addrs[i])]; !slices.Contains(want, got) {
					t.Errorf("symbol at %#x: got %q, want one of %q", addrs[i], got, want)
				}
			}
			if len(addrs) < 15 {
				t.Errorf("compared %d addresses, too few", len(addrs))
			}
		})
	}
}

// debugFile is the separate debug file of a library, "" if it is not installed.
func debugFile(t testing.TB, path string) string {
	id := load(t, path).BuildID()
	if len(id) < 3 {
		return ""
	}
	file := "/usr/lib/debug/.build-id/" + id[:2] + "/" + id[2:] + ".debug"
	if exec.Command("test", "-e", file).Run() != nil {
		return ""
	}
	return file
}

func compile32(t testing.TB) string {
	if _, err := exec.LookPath("gcc"); err != nil {
		return ""
	}
	return compile(t, "gcc", "a.c", "int f(int a) { return a + 1; } int main(int n, char **v) { return f(n); }", "-m32",
		"-O0", "-static")
}

// The index and the pass are two ways to one answer, whatever addresses come together.
func TestIndexAgreesWithPass(t *testing.T) {
	harness.Need(t, "gcc")
	for _, path := range []string{libc(t), compile(t, "gcc", "a.s", labels, "-nostdlib", "-static"), compile32(t)} {
		m := load(t, path)
		table := New(m)
		table.open()
		x := newIndex(nil, table.symtab, table.dynsym)
		r := rand.New(rand.NewPCG(1, 2))
		for _, seg := range m.Segments() {
			if seg.Flags&module.PFX == 0 || seg.Type != module.PTLoad {
				continue
			}
			for range 40 {
				var addrs []module.Vaddr
				for range 1 + r.IntN(50) {
					addrs = append(addrs, seg.Addr+module.Vaddr(r.Uint64N(seg.MemSz)))
				}
				if r.IntN(4) == 0 { // the widest range that can be asked
					addrs = append(addrs, 0, ^module.Vaddr(0))
				}
				got, err := New(m).Lookup(addrs)
				if err != nil {
					t.Fatal(err)
				}
				for i, v := range addrs {
					want := x.find(v)
					if (got[i] == nil) != (want == nil) || want != nil && *got[i] != *want {
						t.Fatalf("%s: symbol at %#x: pass %+v, index %+v", path, v, got[i], want)
					}
				}
			}
		}
	}
}

// labels is a program whose symbols have all the relations that the choice depends on.
const labels = `
	.text
	.globl _start
_start:                     # 0: no size
	nop
	nop
	.type sized, @function  # 2
	.globl sized
sized:
	nop
inside:                     # 3: label in a function with a size
	nop
	.size sized, .-sized
	nop                     # 4: behind the function, nothing is known
	nop
	.globl zglobal, aglobal, mglobal
	.weak aweak
	.type zglobal, @function; .type aglobal, @function; .type mglobal, @function
	.type aweak, @function; .type alocal, @function
zglobal: aglobal: mglobal: aweak: alocal:  # 6
	nop
	nop
	.size zglobal, 2; .size aglobal, 2; .size mglobal, 2; .size aweak, 2; .size alocal, 2
	.type __GI_open, @function; .type __open, @function; .type open64, @function; .type _open, @function
	.globl __GI_open, __open, open64, _open
__GI_open: __open: open64: _open:          # 8
	nop
	.size __GI_open, 1; .size __open, 1; .size open64, 1; .size _open, 1
	.globl old, new
	.type old, @function; .type new, @function
old: new:                                  # 9
	nop
	.size old, 1; .size new, 1
	.symver old, now@V1
	.symver new, then@@V2
	.type outer, @function
outer:                                     # 10
	nop
	.type inner, @function
inner:                                     # 11
	nop
	.size inner, .-inner
	nop                                    # 12: outer again
	.size outer, .-outer
last:                                      # 13: no size, to the end of the section
	nop
	nop
	.section .other, "ax"
	nop
	.data
datum:	.long 1
`

func TestChoice(t *testing.T) {
	harness.Need(t, "gcc", "nm")
	path := compile(t, "gcc", "a.s", labels, "-nostdlib", "-static")
	table := New(load(t, path))
	var start uint64
	for _, line := range strings.Split(harness.Output(t, "nm", path), "\n") {
		if strings.HasSuffix(line, " _start") {
			fmt.Sscanf(line, "%x", &start)
		}
	}
	for _, c := range []struct {
		name string
		off  uint64
		want string
	}{
		{"label without size", 0, "_start"},
		{"label without size, behind its first byte", 1, "_start"},
		{"function with a size", 2, "sized"},
		{"label inside a function with a size", 3, "sized"},
		{"behind a function with a size", 4, ""},
		{"five aliases", 6, "aglobal"},
		{"names for internal use", 8, "open64"},
		{"function in a function", 11, "inner"},
		{"function around a function", 12, "outer"},
		{"last label", 14, "last"},
		{"behind the section", 15, ""},
	} {
		if got := names(t, table, module.Vaddr(start+c.off))[0]; got != c.want {
			t.Errorf("%s, _start+%d: got %q, want %q", c.name, c.off, got, c.want)
		}
	}
	s, _ := table.Lookup([]module.Vaddr{module.Vaddr(start + 1), module.Vaddr(start + 14)})
	if s[0].End != module.Vaddr(start+2) || s[1].End != module.Vaddr(start+15) {
		t.Errorf("ends of labels: got _start+%d and _start+%d, want 2 and 15", uint64(s[0].End)-start,
			uint64(s[1].End)-start)
	}
}

// glibc's own names: each of these addresses has several, and people know one.
func TestKnownNamesOfGlibc(t *testing.T) {
	path := libc(t)
	table := New(load(t, path))
	at := map[string]uint64{}
	for _, s := range readelf(t, path, ".dynsym") {
		at[s.name] = s.value
	}
	for linked, want := range map[string]string{
		"clock_nanosleep@@GLIBC_2.17": "clock_nanosleep",
		"__poll@@GLIBC_2.2.5":         "poll",
		"__read@@GLIBC_2.2.5":         "read",
		"__nanosleep@@GLIBC_2.2.5":    "nanosleep",
		"malloc@@GLIBC_2.2.5":         "malloc",
	} {
		v, ok := at[linked]
		if !ok {
			t.Logf("this glibc has no %s", linked)
			continue
		}
		if got := names(t, table, module.Vaddr(v))[0]; got != want {
			t.Errorf("symbol at %#x (%s): got %q, want %q", v, linked, got, want)
		}
	}
}

// The vDSO has no file: its symbols are read from memory, this process's own.
func TestVDSO(t *testing.T) {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	table, err := maps.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Skipf("own memory: %v", err)
	}
	defer memory.Close()
	for _, m := range table.All() {
		if m.Path != "[vdso]" {
			continue
		}
		image := make([]byte, m.End-m.Start)
		if _, err := memory.ReadAt(image, int64(m.Start)); err != nil {
			t.Skipf("own vDSO: %v", err)
		}
		file := filepath.Join(t.TempDir(), "vdso")
		if err := os.WriteFile(file, image, 0o644); err != nil {
			t.Fatal(err)
		}
		set := module.NewSet(table, module.Image{Memory: mem.NewOverlay(nil, mem.Range{Start: m.Start, Data: image})})
		r := NewResolver(set.Find(m.Start), nil)
		compared := 0
		for _, s := range readelf(t, file, ".dynsym") {
			name, _, _ := strings.Cut(s.name, "@")
			got := resolve(t, r, s.value+1, Options{})[0]
			if "__vdso_"+got.Func != name && got.Func != name || got.Kind != profile.VDSO || got.Offset != 1 {
				t.Errorf("symbol at %#x: got %+v, want %s", s.value+1, got, name)
			}
			compared++
		}
		if compared < 4 {
			t.Errorf("compared %d symbols, too few", compared)
		}
		return
	}
	t.Skip("this process has no vDSO")
}

func TestBounds(t *testing.T) {
	path := libc(t)
	r := NewResolver(load(t, path), nil)
	for _, s := range readelf(t, path, ".dynsym") {
		if !strings.HasPrefix(s.name, "qsort@") {
			continue
		}
		start, end, ok := r.Bounds(module.Vaddr(s.value + s.size - 1))
		if !ok || uint64(start) != s.value || uint64(end) != s.value+s.size {
			t.Errorf("bounds of qsort: got [%#x, %#x) %v, want [%#x, %#x)", start, end, ok, s.value, s.value+s.size)
		}
	}
}
