package check

import (
	"encoding/binary"
	"fmt"
	"github.com/fpstack/fpstack/code/arm64"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/tests/harness"
)

// TestInspect: what was done to each program is known from its build (scripts/build-live), so is what
// can be had of it.
func TestInspect(t *testing.T) {
	const meets, fails = true, false
	for _, tt := range []struct {
		name              string
		fp, tables, names bool
		kinds, symbols    string
		lines, compiler   string
		arch              string
		noIndex           bool
	}{
		{name: "threads", fp: fails, tables: meets, names: meets, kinds: ".eh_frame", symbols: ".symtab",
			lines: "dwarf", compiler: "gcc", arch: "amd64"},
		{name: "threads-fp", fp: meets, tables: meets, names: meets, kinds: ".eh_frame", symbols: ".symtab",
			lines: "dwarf", compiler: "gcc", arch: "amd64"},
		{name: "threads-O0", fp: meets, tables: meets, names: meets, kinds: ".eh_frame", symbols: ".symtab",
			lines: "dwarf", compiler: "gcc", arch: "amd64"},
		{name: "threads-clang-fp", fp: meets, tables: meets, names: meets, kinds: ".eh_frame", symbols: ".symtab",
			lines: "dwarf", compiler: "clang", arch: "amd64"},
		{name: "threads-notables", fp: fails, tables: meets, names: meets, kinds: ".debug_frame", symbols: ".symtab",
			lines: "dwarf", compiler: "gcc", arch: "amd64"},
		{name: "threads-notables-fp", fp: meets, tables: meets, names: meets, kinds: ".debug_frame", symbols: ".symtab",
			lines: "dwarf", compiler: "gcc", arch: "amd64"},
		{name: "threads-stripped", fp: fails, tables: meets, names: fails, kinds: ".eh_frame", symbols: "", lines: "",
			compiler: "gcc", arch: "amd64"},
		{name: "threads-static", fp: fails, tables: meets, names: meets, kinds: ".eh_frame", symbols: ".symtab",
			lines: "dwarf", compiler: "gcc", arch: "amd64", noIndex: true},
		{name: "threads-m32", fp: fails, tables: meets, names: meets, kinds: ".eh_frame", symbols: ".symtab",
			lines: "dwarf", compiler: "gcc", arch: "386"},
		{name: "threads-m32-fp", fp: meets, tables: meets, names: meets, kinds: ".eh_frame", symbols: ".symtab",
			lines: "dwarf", compiler: "gcc", arch: "386"},
		{name: "threads-musl-static", fp: fails, tables: fails, names: meets, kinds: ".eh_frame", symbols: ".symtab",
			lines: "dwarf", compiler: "gcc", arch: "amd64", noIndex: true},
		{name: "threads-rust", fp: fails, tables: meets, names: meets, kinds: ".eh_frame", symbols: ".symtab",
			lines: "dwarf", compiler: "rustc", arch: "amd64"},
		{name: "threads-rust-fp", fp: meets, tables: meets, names: meets, kinds: ".eh_frame", symbols: ".symtab",
			lines: "dwarf", compiler: "rustc", arch: "amd64"},
		{name: "threads-go", fp: meets, tables: meets, names: meets, kinds: "pclntab .debug_frame", symbols: ".symtab",
			lines: "dwarf", compiler: "go", arch: "amd64"},
		{name: "threads-go-stripped", fp: meets, tables: meets, names: meets, kinds: "pclntab", symbols: "pclntab",
			lines: "go", compiler: "go", arch: "amd64"},
		{name: "threads-go-386", fp: fails, tables: meets, names: meets, kinds: "pclntab .debug_frame",
			symbols: ".symtab", lines: "dwarf", compiler: "go", arch: "386"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := Inspect(open(t, built(t, tt.name)), Options{})
			if m.Err != nil {
				t.Fatal(m.Err)
			}
			got := fmt.Sprint(has(m, FP), has(m, Unwind), has(m, Names), kinds(m), best(m), m.Lines.Kind, m.Arch,
				m.Tables.NoIndex)
			want := fmt.Sprint(tt.fp, tt.tables, tt.names, tt.kinds, tt.symbols, tt.lines, tt.arch, tt.noIndex)
			if got != want {
				t.Errorf("fp, tables, symbols, …:\ngot  %s\nwant %s\n%+v", got, want, m)
			}
			compiler := false
			for _, c := range m.Compilers {
				compiler = compiler || c.Kind == tt.compiler && c.Version != ""
			}
			if !compiler {
				t.Errorf("compilers %q, want %s among them", m.Compilers, tt.compiler)
			}
			if f := m.Frames; f.Looked != f.All || f.Looked != f.Kept+f.Missing+f.NotNeeded+f.Unclear ||
				f.Unclear != 0 {
				t.Errorf("counts do not add up: %+v", f)
			}
			for _, a := range []Aspect{FP, Unwind, Names} {
				if fix := m.Fix(a); has(m, a) != (fix == "") {
					t.Errorf("%s is there: %v, and what fixes it is %q", a, has(m, a), fix)
				}
			}
		})
	}
}

func has(m *Module, a Aspect) bool {
	_, ok := m.Meets(a)
	return ok
}

func kinds(m *Module) string {
	text := ""
	for i, k := range m.Tables.Kinds {
		if i > 0 {
			text += " "
		}
		text += k.Name
	}
	return text
}

func best(m *Module) string {
	if len(m.Symbols) == 0 {
		return ""
	}
	return m.Symbols[0].Name
}

// A sample is even, reported, and near the whole.
func TestSample(t *testing.T) {
	path := built(t, "threads-static")
	all, some := Inspect(open(t, path), Options{}).Frames, Inspect(open(t, path), Options{Sample: 200}).Frames
	if some.Looked != 200 || some.All != all.All || all.Looked != all.All {
		t.Fatalf("sampled %+v, all %+v", some, all)
	}
	a, _ := all.Share()
	s, _ := some.Share()
	if s < a-0.1 || s > a+0.1 {
		t.Errorf("share of the sample is %.3f, that of all %.3f", s, a)
	}
}

// debugFiles gives one debug file for every object.
type debugFiles struct{ m *module.Module }

func (d debugFiles) Debug(*module.Module) (*module.Module, error) { return d.m, nil }

// The separate debug file of a stripped program brings back symbols and lines, and the functions are
// the same as those of the program before.
func TestSeparateDebugFile(t *testing.T) {
	harness.Need(t, "objcopy", "strip")
	whole, dir := built(t, "threads-fp"), t.TempDir()
	harness.Output(t, "objcopy", "--only-keep-debug", whole, dir+"/d")
	harness.Output(t, "strip", "-o", dir+"/s", whole)
	debug := open(t, dir+"/d")
	want := Inspect(open(t, whole), Options{})
	bare := Inspect(open(t, dir+"/s"), Options{})
	got := Inspect(open(t, dir+"/s"), Options{Debug: debugFiles{debug}})
	if bare.Named() || bare.Lines.Kind != "" {
		t.Errorf("stripped: symbols %v, lines %v", bare.Symbols, bare.Lines)
	}
	if !got.Named() || got.Symbols[0].Path != debug.Path || got.Lines != (Lines{"dwarf", debug.Path}) {
		t.Errorf("symbols %v, lines %v", got.Symbols, got.Lines)
	}
	if got.Frames != want.Frames || got.Code != want.Code {
		t.Errorf("functions %+v in %d bytes, want %+v in %d", got.Frames, got.Code, want.Frames, want.Code)
	}
	if f := bare.Frames; f.From != "unwind tables" || f.Missing != 0 || f.Kept != want.Frames.Kept {
		t.Errorf("stripped, by its unwind tables: %+v, want %d kept", f, want.Frames.Kept)
	}
}

// A debug file given by itself has no code, and nothing is required of it.
func TestDebugFileAlone(t *testing.T) {
	harness.Need(t, "objcopy")
	path := t.TempDir() + "/d"
	harness.Output(t, "objcopy", "--only-keep-debug", built(t, "threads"), path)
	m := Inspect(open(t, path), Options{})
	if m.Err != nil || m.Code != 0 || m.Frames.Looked != 0 || !has(m, FP) || !has(m, Unwind) {
		t.Errorf("got %+v", m)
	}
}

func TestCoverage(t *testing.T) {
	for _, tt := range []struct {
		name          string
		code, covered spans
		all, in       uint64
	}{
		{"whole", pairs(100, 200), pairs(100, 200), 100, 100},
		{"nothing", pairs(100, 200), nil, 100, 0},
		{"alignment between functions", pairs(100, 200), pairs(100, 140, 155, 200), 85, 85},
		{"a gap that is a function", pairs(100, 200), pairs(100, 140, 156, 200), 100, 84},
		{"beyond both ends", pairs(100, 200), pairs(50, 300), 100, 100},
		{"one table over two sections", pairs(100, 200, 300, 400), pairs(150, 350), 200, 100},
		{"two tables in the second section", pairs(100, 120, 300, 400), pairs(10, 20, 300, 340, 380, 400),
			120, 60},
	} {
		if all, in := coverage(tt.code, tt.covered); all != tt.all || in != tt.in {
			t.Errorf("%s: got %d of %d, want %d of %d", tt.name, in, all, tt.in, tt.all)
		}
	}
}

// pairs are spans by their starts and ends.
func pairs(ends ...uint64) spans {
	var out spans
	for i := 0; i < len(ends); i += 2 {
		out = append(out, span{Start: ends[i], End: ends[i+1]})
	}
	return out
}

func TestWithout(t *testing.T) {
	got := without(pairs(100, 200, 300, 400), pairs(90, 110, 150, 160, 190, 310, 400, 500))
	if want := pairs(110, 150, 160, 190, 310, 400); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{0: "0.0%", 0.9999: "99.9%", 1: "100%", 0.951: "95.1%", 0.5: "50.0%"} {
		if got := Percent(share); got != want {
			t.Errorf("Percent(%v): got %s, want %s", share, got, want)
		}
	}
}

func TestCompilerOf(t *testing.T) {
	for version, want := range map[string]string{
		"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0":       "gcc",
		"Debian clang version 14.0.6":                  "clang",
		"rustc version 1.95.0 (59807616e 2026-04-14)":  "rustc",
		"Linker: LLD 14.0.6":                           "linker",
		"Ubuntu clang version 18.1.3, gcc-13 includes": "clang",
		"tcc 0.9": "",
	} {
		if got := compilerOf(version); got.Kind != want || got.Version != version {
			t.Errorf("compilerOf(%q): got %+v, want kind %q", version, got, want)
		}
	}
}

func TestMeets(t *testing.T) {
	code := func(f func(*Module)) *Module {
		m := &Module{Code: 1000, Tables: Tables{Covered: 1000}, Symbols: []SymbolTable{{Name: ".symtab"}},
			Frames: FramePointers{All: 100, Looked: 100, Kept: 100}}
		f(m)
		return m
	}
	for _, tt := range []struct {
		name   string
		m      *Module
		aspect Aspect
		want   bool
	}{
		{"all there", code(func(*Module) {}), FP, true},
		{"19 of 20 keep it", code(func(m *Module) { m.Frames.Kept, m.Frames.Missing = 95, 5 }), FP, true},
		{"fewer", code(func(m *Module) { m.Frames.Kept, m.Frames.Missing = 94, 6 }), FP, false},
		{"none needs it", code(func(m *Module) { m.Frames.Kept, m.Frames.NotNeeded = 0, 100 }), FP, true},
		{"functions not known", code(func(m *Module) { m.Frames = FramePointers{} }), FP, false},
		{"code not understood", code(func(m *Module) { m.Frames.Kept, m.Frames.Unclear = 0, 100 }), FP, false},
		{"nine tenths covered", code(func(m *Module) { m.Tables.Covered = 900 }), Unwind, true},
		{"less", code(func(m *Module) { m.Tables.Covered = 899 }), Unwind, false},
		{"exports alone", code(func(m *Module) { m.Symbols = []SymbolTable{{Name: ".dynsym"}} }), Names, false},
		{"packed symbols", code(func(m *Module) { m.Symbols = []SymbolTable{{Name: ".gnu_debugdata"}} }), Names, true},
		{"no code", &Module{}, FP, true},
		{"vDSO", &Module{VDSO: true, Code: 10}, FP, true},
		{"not readable", &Module{Err: module.ErrNotELF}, Names, false},
	} {
		why, ok := tt.m.Meets(tt.aspect)
		if ok != tt.want || ok != (why == "") {
			t.Errorf("%s: got %v, %q, want %v", tt.name, ok, why, tt.want)
		}
	}
}

func FuzzInspect(f *testing.F) {
	for _, name := range []string{"threads-stripped", "threads-m32", "threads-fp"} {
		if data, err := readBuilt(name); err == nil {
			f.Add(data)
		}
	}
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := module.NewFile(&module.File{Data: data, Path: "fuzz"})
		if err != nil {
			return
		}
		r := Inspect(m, Options{Sample: 50})
		if f := r.Frames; f.Looked > 50 || f.Looked != f.Kept+f.Missing+f.NotNeeded+f.Unclear ||
			r.Tables.Covered > r.Code {
			t.Errorf("got %+v", r)
		}
		for _, a := range []Aspect{FP, Unwind, Names, Source} {
			if why, ok := r.Meets(a); ok && why != "" {
				t.Errorf("%s is met and not: %s", a, why)
			}
			r.Fix(a)
		}
	})
}

func FuzzARM64(f *testing.F) {
	f.Add(words(0xa9bf7bfd, 0x910003fd, 0x94000000, 0xa8c17bfd, 0xd65f03c0), false)
	f.Fuzz(func(t *testing.T, code []byte, grows bool) {
		c := arm64.Code{Start: 0x1000, Data: code}
		if r := c.Records(c.Start, c.End(), grows); r.Bare > r.Calls || r.Calls > len(code)/4 {
			t.Errorf("got %+v of %d bytes", r, len(code))
		}
	})
}

// words lays out instructions.
func words(list ...uint32) []byte {
	var b []byte
	for _, w := range list {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}
