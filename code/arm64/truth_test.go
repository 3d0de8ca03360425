package arm64

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fpstack/fpstack/unwind/cfi"
)

// object opens the code and the unwind tables of an ELF file, and skips the test where it is not installed.
func object(t testing.TB, path string) (*Code, *cfi.Table) {
	t.Helper()
	f, err := elf.Open(path)
	if os.IsNotExist(err) {
		t.Skipf("%s is not installed", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	get := func(name string) cfi.Section {
		s := f.Section(name)
		if s == nil {
			return cfi.Section{}
		}
		data, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		return cfi.Section{Addr: s.Addr, Data: data}
	}
	text := get(".text")
	return &Code{Start: text.Addr, Data: text.Data}, cfi.New(cfi.Config{EHFrame: get(".eh_frame"),
		EHFrameHdr: get(".eh_frame_hdr"), WordSize: 8, Order: binary.LittleEndian, AArch64: true})
}

// agreement counts how rows made from code compare with those of the tables.
type agreement struct {
	functions, total, landing int
	noRow, wrongCFA, wrongRA  int
	registers, wrong, lost    int
	forward, forwardWrong     int
	forwardNone               int
	shown                     map[string]uint64
}

func (a *agreement) String() string {
	return fmt.Sprintf("%d functions, %d pcs (%d more in landing pads): %d without row, %d CFA wrong, %d RA wrong; "+
		"%d register rules: %d wrong, %d said to be lost; forward: %d right, %d wrong, %d without row", a.functions,
		a.total, a.landing, a.noRow, a.wrongCFA, a.wrongRA, a.registers, a.wrong, a.lost, a.forward, a.forwardWrong,
		a.forwardNone)
}

// right is the share of places whose CFA and return address are those of the table.
func (a *agreement) right() float64 {
	return 1 - float64(a.noRow+a.wrongCFA+a.wrongRA)/float64(max(a.total, 1))
}

// note prints the first difference of each kind in a function, where tests are verbose.
func (a *agreement) note(t testing.TB, kind string, entry, pc uint64, format string, args ...any) {
	if a.shown == nil {
		a.shown = map[string]uint64{}
	}
	if a.shown[kind] != entry && testing.Verbose() {
		a.shown[kind] = entry
		t.Logf("%s: %#x of %#x: %s", kind, pc, entry, fmt.Sprintf(format, args...))
	}
}

// compare compares rows of the code c with the table of the same code at every step-th instruction; as return
// addresses where calls are, too.
func compare(t *testing.T, c *Code, tab *cfi.Table, step uint64) *agreement {
	a := &agreement{}
	for pc := c.Start; pc < c.End(); {
		fde, err := tab.FDE(pc)
		if err != nil || fde.End <= pc {
			pc += size
			continue
		}
		row, err := tab.Row(fde.Start)
		if pc = fde.End; err != nil || row.CFA.Kind != cfi.Register || row.CFA.Reg != uint64(sp) || row.CFA.N != 0 {
			continue // a cold part
		}
		a.functions++
		for at := fde.Start; at < min(fde.End, c.End()); at += size * step {
			a.point(t, c, tab, &fde, at)
		}
	}
	return a
}

func (a *agreement) point(t *testing.T, c *Code, tab *cfi.Table, fde *cfi.FDE, pc uint64) {
	i, _ := c.at(pc)
	want, err := tab.Row(pc)
	if err != nil || i.isMark() || i.flow() == flowEnd {
		return
	}
	s, ok := c.stateAt(fde.Start, fde.End, pc)
	if !ok && fde.HasLSDA {
		a.landing++
		return
	}
	a.total++
	var got cfi.Row
	if ok {
		got, ok = s.entryRow(pc)
	}
	if !ok {
		a.noRow++
		a.note(t, "no row", fde.Start, pc, "%#08x", i)
		return
	}
	if v := s.regs[want.CFA.Reg&31]; want.CFA.Kind != cfi.Register || v.kind != relative || v.base != sp ||
		-v.off != want.CFA.N {
		a.wrongCFA++
		a.note(t, "CFA", fde.Start, pc, "got %+v, want %+v", got.CFA, want.CFA)
		return
	}
	if !s.same(lr, got.RA, want.RA) {
		a.wrongRA++
		a.note(t, "RA", fde.Start, pc, "got %+v, want %+v", got.RA, want.RA)
	}
	for r := x19; r <= fp; r++ {
		a.registers++
		g, w := got.Rule(uint64(r)), want.Rule(uint64(r))
		switch {
		case s.same(r, g, w):
		case g.Kind == cfi.Undefined && w.Kind == cfi.Unspecified:
			a.lost++
			a.note(t, "lost", fde.Start, pc, "x%d", r)
		default:
			a.wrong++
			a.note(t, "register", fde.Start, pc, "x%d: got %+v, want %+v", r, g, w)
		}
	}
	a.ahead(t, c, fde, s, pc)
}

// ahead compares what Forward says with the state that leads to pc.
func (a *agreement) ahead(t *testing.T, c *Code, fde *cfi.FDE, s *state, pc uint64) {
	row, ok := c.Forward(pc, false)
	if !ok {
		a.forwardNone++
		return
	}
	v := s.regs[row.CFA.Reg]
	if v.kind != relative || v.base != sp || v.off+row.CFA.N != 0 || !s.same(lr, row.RA, row.RA) {
		a.forwardWrong++
		a.note(t, "forward", fde.Start, pc, "got %+v, RA %+v", row.CFA, row.RA)
		return
	}
	a.forward++
}

// same reports whether both rules give the value that r had at the entry: the table may name a slot while the
// register still holds it, or no rule before the save is noted.
func (s *state) same(r register, got, want cfi.Rule) bool {
	holds := s.regs[r] == initial(r)
	switch want.Kind {
	case cfi.Offset:
		return got.Kind == cfi.Offset && got.N == want.N && s.load(value{relative, sp, got.N}) == initial(r) ||
			holds && want.N < s.regs[sp].off || s.load(value{relative, sp, want.N}) == initial(r)
	case cfi.Unspecified, cfi.SameValue:
		return holds
	}
	return got.Kind == want.Kind && got.Reg == want.Reg
}

// TestAgainstTables compares rows made from code with the tables of libraries of Debian 12 and of what cross compilers
// have. They differ where tables describe the target on purpose (longjmp, setcontext).
func TestAgainstTables(t *testing.T) {
	const libs = "/usr/aarch64-linux-gnu/lib/"
	for _, test := range []struct {
		path string
		step uint64
		want float64
	}{
		{libs + "libc.so.6", 37, 0.997},
		{libs + "libm.so.6", 17, 0.998},
		{libs + "libstdc++.so.6", 31, 0.999},
		{libs + "ld-linux-aarch64.so.1", 11, 0.99},
		{os.Getenv("ARM64_OBJECT"), 7, 0.999},
	} {
		t.Run(filepath.Base(test.path), func(t *testing.T) {
			if test.path == "" {
				t.Skip("ARM64_OBJECT names no further object")
			}
			c, tab := object(t, test.path)
			a := compare(t, c, tab, test.step)
			t.Log(a)
			if a.total == 0 || a.right() < test.want {
				t.Errorf("right at %.5f of %d places, want %.4f", a.right(), a.total, test.want)
			}
		})
	}
}

// build compiles the shapes that code/x86 is tested with into a shared object.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	const compiler = "aarch64-linux-gnu-gcc"
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("%s is not installed", compiler)
	}
	out := filepath.Join(t.TempDir(), "shapes.so")
	args := append([]string{"-shared", "-nostdlib", "-fPIC", "-w", "-o", out, "../x86/testdata/shapes.c"}, flags...)
	if text, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", compiler, flags, err, text)
	}
	return out
}

// TestShapes compiles code of many shapes, and reads it without its tables.
func TestShapes(t *testing.T) {
	for _, test := range []struct {
		name    string
		flags   []string
		forward float64
	}{
		{"usual", []string{"-O2"}, 0.85},
		{"unoptimised", []string{"-O0"}, 0.9},
		{"without frame records", []string{"-O2", "-fomit-frame-pointer"}, 0.85},
		{"stack probes", []string{"-O2", "-fstack-clash-protection"}, 0.85},
		{"stack probes without frame records", []string{"-O2", "-fstack-clash-protection", "-fomit-frame-pointer"},
			0.85},
		{"signed", []string{"-O2", "-mbranch-protection=standard"}, 0.85},
		{"signed in one instruction", []string{"-O2", "-mbranch-protection=standard", "-march=armv8.3-a"}, 0.85},
		{"for size", []string{"-Os"}, 0.85},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, tab := object(t, build(t, append(test.flags, "-fasynchronous-unwind-tables")...))
			a := compare(t, c, tab, 1)
			t.Log(a)
			if a.total == 0 || a.right() < 1 || a.wrong > 0 {
				t.Errorf("right at %.5f of %d places, %d registers wrong", a.right(), a.total, a.wrong)
			}
			if got := float64(a.forward) / float64(a.total); got < test.forward {
				t.Errorf("forward right at %.4f, want %.4f", got, test.forward)
			}
		})
	}
}
