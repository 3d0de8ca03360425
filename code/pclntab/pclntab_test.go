package pclntab

import (
	"bufio"
	"bytes"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// printed gives a name the form in which the runtime prints it.
func printed(name string) string {
	i, j := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if i < 0 || j <= i {
		return name
	}
	return name[:i] + "[...]" + name[j+1:]
}

// The program is asked about itself: what its own runtime says is the expectation.
func TestFramesAreThoseOfTheRuntime(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the program built is run, and is an ELF file on Linux only")
	}
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			path := build(t, b.cgo, hostArch(t), b.args...)
			table, _ := open(t, path)
			if err := table.InlineErr(); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(path).Output()
			if err != nil {
				t.Fatal(err)
			}
			compare(t, table, out)
		})
	}
}

func compare(t *testing.T, table *Table, out []byte) {
	var bias uint64
	var stack []string   // as the runtime says
	var physical []Frame // by the table, at the calls of the same stack
	points, innerMost := 0, uint64(0)
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		word, rest, _ := strings.Cut(sc.Text(), " ")
		var name, file string
		var line int
		var pc, entry uint64
		switch word {
		case "base":
			fmt.Sscanf(rest, "%v", &pc)
			bias = pc - entryOf(t, table, "main.main")
		case "stack":
			fmt.Sscanf(rest, "%q %q %d %v %v", &name, &file, &line, &pc, &entry)
			stack = append(stack, fmt.Sprintf("%s %s:%d", name, file, line))
			if entry == innerMost { // an inlined frame's caller in the same function
				continue
			}
			innerMost = entry
			f, ok := table.Func(pc - bias)
			if !ok || f.Entry != entry-bias {
				t.Fatalf("function at %#x: got entry %#x, %v, want %#x", pc-bias, f.Entry, ok, entry-bias)
			}
			physical = append(physical, f.Frames(pc-bias)...)
		case "at":
			fmt.Sscanf(rest, "%v %q %q %d", &pc, &name, &file, &line)
			f, _ := table.Func(pc - bias)
			got := f.Frames(pc - bias)
			if len(got) == 0 {
				t.Fatalf("at %#x: no frame, want %s", pc-bias, name)
			}
			if file == "?" {
				file = ""
			}
			// The runtime of Go 1.26.0 gives inlined functions of internal/abi no name.
			if g := got[0]; printed(g.Func) != name && name != "" || g.File != file || g.Line != line {
				t.Errorf("at %#x: got %s %s:%d, want %s %s:%d", pc-bias, g.Func, g.File, g.Line, name, file, line)
			}
			points++
		}
	}
	var got []string
	for _, f := range physical {
		got = append(got, fmt.Sprintf("%s %s:%d", printed(f.Func), f.File, f.Line))
	}
	if g, w := strings.Join(got, "\n"), strings.Join(stack, "\n"); g != w {
		t.Errorf("stack:\n%s\nwant:\n%s", g, w)
	}
	if points < 5000 || len(stack) < 8 {
		t.Errorf("compared %d points and %d frames, too few to mean something", points, len(stack))
	}
}

func entryOf(t *testing.T, table *Table, name string) uint64 {
	for i := range table.nfunc {
		if f, ok := table.Func(table.entry(i)); ok && f.Name() == name {
			return f.Entry
		}
	}
	t.Fatalf("no function %q", name)
	return 0
}

// debug/gosym reads the same table by other code; it knows no inlined calls, but other
// word sizes and byte orders.
func TestLinesAreThoseOfGosym(t *testing.T) {
	for _, arch := range []string{"amd64", "386", "arm64", "s390x", "mips"} {
		t.Run(arch, func(t *testing.T) {
			if testing.Short() && arch != "amd64" {
				t.Skip("-short: the standard library is compiled for it")
			}
			table, f := open(t, build(t, false, []string{"GOOS=linux", "GOARCH=" + arch}))
			if err := table.InlineErr(); err != nil {
				t.Error(err)
			}
			data, _ := f.Section(".gopclntab").Data()
			want, err := gosym.NewTable(nil, gosym.NewLineTable(data, table.Text()))
			if err != nil {
				t.Fatal(err)
			}
			lo, hi := table.Bounds()
			points := 0
			for pc := lo; pc < hi; pc += 52 {
				file, line, fn := want.PCToLine(pc)
				got, ok := table.Func(pc)
				if !ok || fn == nil || got.Name() != fn.Name || got.Entry != fn.Entry || got.End != fn.End {
					t.Fatalf("function at %#x: got %q [%#x, %#x), want %+v", pc, got.Name(), got.Entry, got.End, fn)
				}
				if strings.HasPrefix(fn.Name, "go:text") {
					continue // marks without a table, for which gosym reads the one before
				}
				if gf, gl, ok := got.Line(pc); ok && (gf != file || gl != line) || !ok && line > 0 {
					t.Fatalf("line at %#x: got %s:%d %v, want %s:%d", pc, gf, gl, ok, file, line)
				}
				points++
			}
			if points < 5000 {
				t.Errorf("compared %d points, too few", points)
			}
		})
	}
}

// Go writes the same facts as CFA rules into .debug_frame, which readelf interprets.
func TestSPDeltaIsThatOfDebugFrame(t *testing.T) {
	if _, err := exec.LookPath("readelf"); err != nil {
		t.Skipf("readelf is not installed: %v", err)
	}
	path := build(t, false, []string{"GOOS=linux", "GOARCH=amd64"})
	table, _ := open(t, path)
	out, err := exec.Command("readelf", "--debug-dump=frames-interp", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		var pc uint64
		var cfa int64
		if n, _ := fmt.Sscanf(sc.Text(), "%x rsp+%d ", &pc, &cfa); n != 2 || pc == 0 {
			continue
		}
		if f, ok := table.Func(pc); !ok || cfa > 1<<20 || f.End == pc {
			continue // rows of no function, and the bogus ones of assembly without frame
		}
		got, ok := table.SPDelta(pc)
		if !ok || int64(got)+8 != cfa {
			t.Errorf("SP at %#x: got CFA = rsp+%d %v, want rsp+%d", pc, got+8, ok, cfa)
		}
		rows++
	}
	if rows < 5000 {
		t.Errorf("compared %d rows, too few", rows)
	}
}

func TestFlags(t *testing.T) {
	table, _ := open(t, build(t, false, []string{"GOOS=linux", "GOARCH=amd64"}))
	for _, c := range []struct {
		name string
		want Flag
	}{
		// textflag TOPFRAME in runtime/asm_amd64.s; SPWrite where it assigns SP
		{"runtime.goexit", TopFrame | Asm},
		{"runtime.mstart", TopFrame | Asm},
		{"runtime.systemstack", SPWrite | Asm},
		{"runtime.gogo", Asm},
		{"main.main", 0},
	} {
		f, _ := table.Func(entryOf(t, table, c.name))
		if got, ok := f.Flags(); !ok || got&^SPWrite != c.want&^SPWrite || got&c.want != c.want {
			t.Errorf("flags of %s: got %#x %v, want %#x", c.name, got, ok, c.want)
		}
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	header := func(magic uint32, rest ...byte) []byte {
		b := binary.LittleEndian.AppendUint32(nil, magic)
		return append(append(b, rest...), make([]byte, 64)...)
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "0 bytes"},
		{"magic of no release", header(0xfffffff7, 0, 0, 1, 8), "magic 0xfffffff7"},
		{"pointer of three bytes", header(0xfffffff1, 0, 0, 1, 3), "00 00 01 03"},
		{"header cut", header(0xfffffff1, 0, 0, 1, 8)[:40], "40 bytes, expected 72"},
		{"more functions than bytes", header(0xfffffff1, 0, 0, 1, 8, 0xff, 0xff, 0xff), "do not fit"},
		{"Go 1.15 relocated at load", header(0xfffffffb, 0, 0, 1, 8), "filled in at load time"},
	} {
		if _, err := Parse(c.data, 0x1000); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one with %q", c.name, err, c.want)
		}
	}
	if _, err := Open(func(string) (uint64, []byte, bool) { return 0, nil, false }, nil); err != ErrNone {
		t.Errorf("no section: got error %v, want %v", err, ErrNone)
	}
}

// A table whose moduledata is gone still names functions, and says what it lacks.
func TestWithoutModuledata(t *testing.T) {
	path := build(t, false, []string{"GOOS=linux", "GOARCH=amd64"})
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	find := sectionsOf(f)
	table, err := Open(func(name string) (uint64, []byte, bool) {
		if name != ".gopclntab" && name != ".text" {
			return 0, nil, false
		}
		return find(name)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if table.InlineErr() == nil {
		t.Error("inlined calls are said to be found without moduledata")
	}
	whole, _ := open(t, path)
	pc := entryOf(t, whole, "main.main")
	if fn, ok := table.Func(pc); !ok || fn.Name() != "main.main" || len(fn.Frames(pc)) != 1 {
		t.Errorf("function at %#x: got %q %v", pc, fn.Name(), ok)
	}
}
