package dwarf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sectionsOf returns the sections of debug information of a program, split files among them.
func sectionsOf(t testing.TB, path string) map[string][]byte {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string][]byte{}
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".debug_") {
			if out[s.Name], err = s.Data(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

// specimen is one small program whose sections a fuzz test changes.
type specimen struct {
	sections, split map[string][]byte
	low, high       uint64
}

// scoped is C++ whose names need what is around them: in namespaces and classes, and in type units.
const scoped = `
namespace outer {
struct Box {
	int n;
	__attribute__((always_inline)) int put(int k) { struct Inner {
	static __attribute__((noinline)) int twice(int x) { return 2 * x + 1; } }; return Inner::twice(n += k); }
};
namespace { __attribute__((noinline)) int hidden(Box &b, int k) { return b.put(k) + b.put(k + 1); } }
}
extern "C" void _start() { outer::Box b{1}; volatile int v = outer::hidden(b, 2); (void)v; for (;;) {} }
`

// specimens are built once for a fuzz test. The order is steady, since seeds name them by number.
func specimens(f *testing.F) []specimen {
	var out []specimen
	for _, build := range []string{
		"gcc -gdwarf-2 -gstrict-dwarf", "gcc -gdwarf-3", "gcc -gdwarf-4", "gcc -gdwarf-5",
		"gcc -gdwarf-5 -ffunction-sections",
		"gcc -gdwarf-4 -gsplit-dwarf", "gcc -gdwarf-5 -gsplit-dwarf", "gcc -gdwarf64 -gdwarf-5",
		"g++ -gdwarf-4 -fdebug-types-section", "g++ -gdwarf-5 -fdebug-types-section",
		"clang++ -gdwarf-5", "clang++ -gdwarf-5 -gsplit-dwarf",
	} {
		args := strings.Fields(build)
		if _, err := exec.LookPath(args[0]); err != nil && strings.HasPrefix(build, "clang") {
			break // the last ones
		}
		dir := f.TempDir()
		source(f, dir, "plain.c")
		file := "plain.c"
		if strings.HasSuffix(args[0], "++") {
			file = "scoped.cc"
			if err := os.WriteFile(filepath.Join(dir, file), []byte(scoped), 0o644); err != nil {
				f.Fatal(err)
			}
		}
		command(f, dir, args[0], append(args[1:], "-O2", "-nostdlib", "-o", "program", file)...)
		p := filepath.Join(dir, "program")
		o := object(f, p, nil)
		s := specimen{sections: sectionsOf(f, p), low: o.Low, high: o.High}
		if strings.Contains(build, "split") {
			found, _ := filepath.Glob(filepath.Join(dir, "*.dwo"))
			if len(found) != 1 {
				f.Fatalf("%s wrote %q, want one .dwo", build, found)
			}
			s.split = sectionsOf(f, found[0])
		}
		out = append(out, s)
	}
	return out
}

func (s *specimen) open(sections, split map[string][]byte) *Data {
	o := Object{Low: s.low, High: s.high, Section: func(name string) ([]byte, error) { return sections[name], nil }}
	if split != nil {
		part := o
		part.Section = func(name string) ([]byte, error) { return split[name], nil }
		o.Split = func(Skeleton) (*Data, error) { return NewSplit(part), nil }
	}
	return New(o)
}

// edited returns a copy of sections with the bytes of one changed: each 6 bytes of edits are an
// offset and what is written there; an offset above 0x80000000 cuts the section.
func edited(sections map[string][]byte, name string, edits []byte) map[string][]byte {
	out := map[string][]byte{}
	for k, b := range sections {
		out[k] = b
	}
	b := bytes.Clone(out[name])
	for ; len(edits) >= 6; edits = edits[6:] {
		at := binary.LittleEndian.Uint32(edits)
		if at >= 0x80000000 {
			b = b[:min(len(b), int(at-0x80000000))]
		} else if len(b) > 1 {
			copy(b[int(at)%len(b):], edits[4:6])
		}
	}
	out[name] = b
	return out
}

// fuzz changes the sections with the given names, and asks for every few addresses of the code.
func fuzz(f *testing.F, names ...string) {
	all := specimens(f)
	edit := func(at uint32, v uint16) []byte {
		return binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint32(nil, at), v)
	}
	for i := range all {
		for j := range names {
			f.Add(uint8(i), uint8(j), []byte(nil))
			for _, at := range []uint32{0, 4, 8, 12, 20, 30, 41, 60, 90} {
				f.Add(uint8(i), uint8(j), edit(at, 0xffff))
				f.Add(uint8(i), uint8(j), edit(at, 0x0001))
				f.Add(uint8(i), uint8(j), append(edit(at, 0x0001), 0)) // of the split file
			}
			f.Add(uint8(i), uint8(j), edit(0x80000000+25, 0))
		}
	}
	f.Fuzz(func(t *testing.T, which, section uint8, edits []byte) {
		s := &all[int(which)%len(all)]
		name := names[int(section)%len(names)]
		split := s.split
		if split != nil && split[name+".dwo"] != nil && len(edits)%2 == 1 {
			split = edited(split, name+".dwo", edits)
		}
		d := s.open(edited(s.sections, name, edits), split)
		var addrs []uint64
		for v := s.low; v < s.high && len(addrs) < 200; v += 3 {
			addrs = append(addrs, v)
		}
		begin := time.Now()
		for range 4 { // the last with claims that were kept
			out, _ := d.Calls(addrs)
			for i, calls := range out {
				if calls != nil && len(calls) == 0 || len(calls) > maxInline+2 {
					t.Fatalf("%d calls at %#x", len(calls), addrs[i])
				}
			}
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Fatalf("took %v", took)
		}
	})
}

func FuzzInfo(f *testing.F) {
	fuzz(f, ".debug_info", ".debug_str", ".debug_str_offsets", ".debug_addr", ".debug_types")
}

func FuzzAbbrev(f *testing.F) { fuzz(f, ".debug_abbrev") }

func FuzzLine(f *testing.F) { fuzz(f, ".debug_line", ".debug_line_str") }

func FuzzRanges(f *testing.F) { fuzz(f, ".debug_ranges", ".debug_rnglists", ".debug_aranges") }

// FuzzPackage reads any bytes as the index of a .dwp.
func FuzzPackage(f *testing.F) {
	all := specimens(f)
	f.Add([]byte(nil)) // no package: units are found one by one
	for _, version := range []byte{2, 5} {
		b := []byte{version, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}
		b = append(b, make([]byte, 16)...) // two signatures of 0
		for _, row := range []byte{0, 1} {
			b := append(bytes.Clone(b), row, 0, 0, 0, 0, 0, 0, 0)
			f.Add(append(b, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0))
		}
	}
	f.Fuzz(func(t *testing.T, index []byte) {
		for i := range all {
			if all[i].split == nil {
				continue
			}
			split := edited(all[i].split, ".debug_cu_index", nil)
			split[".debug_cu_index"] = index
			split[".debug_tu_index"] = index
			d := all[i].open(all[i].sections, split)
			d.Calls([]uint64{all[i].low + 5})
			d = NewSplit(Object{Section: func(name string) ([]byte, error) { return split[name], nil }})
			d.begin()
			d.splitWith(0)
			d.typeUnit(0)
		}
	})
}
