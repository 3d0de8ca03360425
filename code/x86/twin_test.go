package x86

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fpstack/fpstack/unwind/cfi"
)

// build compiles testdata/shapes.c into a shared object without linking anything in.
func build(t *testing.T, compiler string, flags ...string) string {
	t.Helper()
	tool, err := exec.LookPath(compiler)
	if err != nil {
		t.Skipf("%s is not installed", compiler)
	}
	out := filepath.Join(t.TempDir(), "shapes.so")
	args := append([]string{"-shared", "-nostdlib", "-fPIC", "-w", "-o", out, filepath.Join("testdata", "shapes.c")},
		flags...)
	if text, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
		t.Skipf("%s %v: %v\n%s", compiler, flags, err, text)
	}
	return out
}

// TestCodeWithoutTables compiles the same code with and without tables and reads the latter.
// Forward has no row, or one of the code behind, where all that follows is a call that never
// returns (stop), and inside switches.
func TestCodeWithoutTables(t *testing.T) {
	for _, test := range []struct {
		name, compiler string
		flags          []string
		cfa, forward   float64
	}{
		{"musl", "musl-gcc", []string{"-O2"}, 1, 0.89},
		{"gcc unoptimised", "gcc", []string{"-O0"}, 1, 0.95},
		{"gcc with stack probes", "gcc", []string{"-O2", "-fstack-clash-protection"}, 1, 0.89},
		{"gcc with frame pointers", "gcc", []string{"-O2", "-fno-omit-frame-pointer"}, 1, 0.88},
		{"gcc 386", "gcc", []string{"-m32", "-O2"}, 0.99, 0.81},
		{"clang", "clang-14", []string{"-O2"}, 1, 0.92},
	} {
		t.Run(test.name, func(t *testing.T) {
			with := build(t, test.compiler, append(test.flags, "-fasynchronous-unwind-tables")...)
			without := build(t, test.compiler, append(test.flags, "-fno-asynchronous-unwind-tables",
				"-fno-unwind-tables")...)
			truth, c := section(t, with, ".text"), section(t, without, ".text")
			if len(truth.Data) != len(c.Data) { // bytes differ: addresses moved with the tables
				t.Skip("the compiler makes other code without tables")
			}
			tab := table(t, with)
			a := compareAll(t, truth, tab, 1)
			t.Log(a)
			if a.total == 0 || a.shareCFA() < test.cfa || a.shareRegisters() < 0.999 {
				t.Errorf("CFA right at %.4f of %d pcs, registers %.4f, want %.4f and 0.999", a.shareCFA(), a.total,
					a.shareRegisters(), test.cfa)
			}
			if got := forwardShare(t, truth, tab); got < test.forward {
				t.Errorf("Forward: CFA right at %.4f of the pcs, want %.4f", got, test.forward)
			}
		})
	}
}

// forwardShare is the share of pcs where Forward gives the CFA of the table, or one on
// another register for which FromEntry's state says the same.
func forwardShare(t *testing.T, c *Code, tab *cfi.Table) float64 {
	right, total, none := 0, 0, 0
	for pc := c.Start; pc < c.End(); {
		in, ok := c.decode(pc)
		fde, err := tab.FDE(pc)
		if !ok || err != nil {
			pc++
			continue
		}
		at := pc
		pc += uint64(in.n)
		s, _, _, reached := c.stateAt(fde.Start, fde.End, at)
		if !reached {
			continue // padding
		}
		total++
		got, ok := c.Forward(at)
		switch {
		case !ok:
			none++
		case c.sameCFA(s, &got, &cfi.Row{CFA: got.CFA}):
			right++
		}
	}
	t.Logf("Forward: %d pcs, %d right, %d without row", total, right, none)
	return float64(right) / float64(max(total, 1))
}
