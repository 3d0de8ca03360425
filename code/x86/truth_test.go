package x86

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"testing"

	"github.com/fpstack/fpstack/unwind/cfi"
)

// table opens the unwind tables of an ELF file; the test is skipped where it is not installed.
func table(t testing.TB, path string) *cfi.Table {
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
	size := 8
	if f.Class == elf.ELFCLASS32 {
		size = 4
	}
	return cfi.New(cfi.Config{EHFrame: get(".eh_frame"), EHFrameHdr: get(".eh_frame_hdr"), WordSize: size,
		Order: binary.LittleEndian})
}

// agreement counts how rows made from code compare with those of the tables.
type agreement struct {
	entries, coldEntries                int
	total, noRow, wrongCFA, wrongRA     int
	landing                             int // reached by the unwinder alone
	registers, wrongRegister, lostValue int
	shown                               map[string]int
	last                                map[string]uint64
}

// maxShown bounds how many functions are printed for each kind of difference.
const maxShown = 20

// note prints the first difference of each kind in a function, where tests are verbose.
func (a *agreement) note(t testing.TB, kind string, entry, pc uint64, format string, args ...any) {
	if a.last == nil {
		a.last, a.shown = map[string]uint64{}, map[string]int{}
	}
	if a.last[kind] == entry {
		return
	}
	a.last[kind] = entry
	a.shown[kind]++
	if testing.Verbose() && a.shown[kind] <= maxShown {
		t.Logf("%s: %#x of %#x: %s", kind, pc, entry, fmt.Sprintf(format, args...))
	}
}

func (a *agreement) shareCFA() float64 {
	return 1 - float64(a.noRow+a.wrongCFA)/float64(a.total)
}

func (a *agreement) shareRegisters() float64 {
	return 1 - float64(a.wrongRegister)/float64(a.registers)
}

func (a *agreement) String() string {
	return fmt.Sprintf(
		"%d functions (%d more are cold parts), %d pcs (%d more in landing pads): %d without row, %d CFA wrong, %d "+
			"RA wrong: %.4f%%; %d register rules: %d wrong, %d said to be lost: %.4f%%",
		a.entries, a.coldEntries, a.total, a.landing, a.noRow, a.wrongCFA, a.wrongRA, 100*a.shareCFA(), a.registers,
		a.wrongRegister, a.lostValue, 100*a.shareRegisters())
}

// compareAll compares FromEntry with the table at every step-th instruction of c.
func compareAll(t *testing.T, c *Code, tab *cfi.Table, step int) *agreement {
	a := &agreement{}
	for pc := c.Start; pc < c.End(); {
		fde, err := tab.FDE(pc)
		if err != nil || fde.End <= pc {
			pc++
			continue
		}
		a.function(t, c, tab, fde.Start, min(fde.End, c.End()), step)
		pc = fde.End
	}
	return a
}

func (a *agreement) function(t *testing.T, c *Code, tab *cfi.Table, entry, end uint64, step int) {
	row, err := tab.Row(entry)
	if err != nil || row.CFA.Kind != cfi.Register || row.CFA.Reg != c.dwarf(rsp) || row.CFA.N != c.word() ||
		len(row.Regs) > 1 {
		a.coldEntries++
		return
	}
	a.entries++
	n := 0
	for pc := entry; pc < end; {
		in, ok := c.decode(pc)
		if !ok {
			return
		}
		if n++; n%step == 0 {
			if want, err := tab.Row(pc); err == nil {
				a.point(t, c, tab, entry, end, pc, want)
			}
		}
		pc += uint64(in.n)
	}
}

func (a *agreement) point(t *testing.T, c *Code, tab *cfi.Table, entry, end, pc uint64, want *cfi.Row) {
	in, _ := c.decode(pc)
	if in.op == 0x90 || in.space == map0F && in.op == 0x1f || in.op == 0x8d && in.isMem && in.disp == 0 &&
		in.base == in.reg || in.op == 0x87 && in.rm == in.reg {
		return // padding
	}
	if fde, err := tab.FDE(pc); err == nil && fde.HasLSDA && !c.reached(entry, end, pc) {
		a.landing++
		return
	}
	a.total++
	s, at, length, ok := c.stateAt(entry, end, pc)
	var got cfi.Row
	if ok {
		got, ok = c.entryRow(s, at, length)
	}
	if !ok {
		a.noRow++
		a.note(t, "no row", entry, pc, "% x", c.at(pc)[:in.n])
		return
	}
	if !c.sameCFA(s, &got, want) {
		a.wrongCFA++
		a.note(t, "CFA", entry, pc, "got %+v, want %+v", got.CFA, want.CFA)
		return
	}
	if got.RA.Kind != want.RA.Kind || got.RA.N != want.RA.N || got.RA.Reg != want.RA.Reg {
		a.wrongRA++
		a.note(t, "RA", entry, pc, "got %+v, want %+v", got.RA, want.RA)
	}
	for _, r := range c.kept() {
		a.registers++
		g, w := got.Rule(c.dwarf(r)), want.Rule(c.dwarf(r))
		switch {
		case c.sameRule(s, r, g, w):
		case g.Kind == cfi.Undefined && w.Kind == cfi.Unspecified:
			a.lostValue++
			a.note(t, "lost", entry, pc, "register %d", r)
		default:
			a.wrongRegister++
			a.note(t, "register", entry, pc, "%d: got %+v, want %+v", r, g, w)
		}
	}
}

// reached reports whether calls and jumps alone lead to pc.
func (c *Code) reached(entry, end, pc uint64) bool {
	w, _ := c.window(entry, end, pc)
	w.Add(path{PC: entry, State: newState(false)})
	return w.run(func(addr uint64, in *inst, _ *state) bool { return pc-addr < uint64(in.n) })
}

// sameCFA reports whether two rules give the same address, according to the state.
func (c *Code) sameCFA(s *state, got, want *cfi.Row) bool {
	if want.CFA.Kind == cfi.ValExpression {
		return c.derefSame(s, want.CFA.Expr)
	}
	for r := rax; r <= r15; r++ {
		if c.dwarf(r) == want.CFA.Reg {
			v := s.regs[r]
			return v.kind == relative && v.base == base(rsp) && c.word()-int64(v.off) == want.CFA.N
		}
	}
	return false
}

// derefSame reports whether a table's "*(reg+n)" reads a slot that holds the CFA.
func (c *Code) derefSame(s *state, expr []byte) bool {
	for r := rax; r <= r15; r++ {
		for _, slot := range s.slots {
			v := s.regs[r]
			if slot.v.base != base(rsp) || slot.v.kind != relative || v.kind != relative || v.base != slot.base {
				continue
			}
			own := append(breg(c.dwarf(r), int64(slot.off-v.off)), opDeref)
			if bytes.Equal(addConstant(own, c.word()-int64(slot.v.off)), expr) {
				return true
			}
		}
	}
	return false
}

// sameRule reports whether both rules give the value that r had at the entry: the table may
// name a slot while the register still holds it (after pop), or no rule (before the save is
// noted, or where it is never changed).
func (c *Code) sameRule(s *state, r register, got, want cfi.Rule) bool {
	switch want.Kind {
	case cfi.Offset:
		if got.Kind == cfi.Offset && got.N == want.N {
			return true
		}
		for _, slot := range s.slots {
			if slot.base == base(rsp) && int64(slot.off) == want.N+c.word() && slot.v.isInitial(r) {
				return true
			}
		}
		sp := s.regs[rsp]
		return s.regs[r].isInitial(r) && sp.kind == relative && sp.base == base(rsp) && want.N+c.word() < int64(sp.off)
	case cfi.Unspecified, cfi.SameValue:
		return s.regs[r].isInitial(r)
	case cfi.Expression:
		return got.Kind == cfi.Expression && bytes.Equal(got.Expr, want.Expr) || s.regs[r].isInitial(r)
	}
	return got.Kind == want.Kind
}

// TestAgainstTables compares rows made from code with the tables of the same code.
// Where they differ:
//   - setcontext, swapcontext, longjmp: the tables describe the target on purpose, and no
//     instruction says where it is;
//   - vfork, __longjmp_chk and 386 system calls: both are right, in a register and a slot;
//   - code behind maxSteps instructions (large memcpy variants, unrolled loops);
//   - bn_mul_mont and its kin keep the CFA in a slot with an index;
//   - OpenSSL's helpers change registers that the ABI keeps: "lost" is what they are;
//   - 386: callees in other modules that remove arguments, and switch cases next to a
//     call that never returns.
//
// How often each of these is met is decided by the build of the library: the shares wanted leave room for twice as
// many as in those of Debian 12. TestCodeWithoutTables holds code of our own to all of them.
func TestAgainstTables(t *testing.T) {
	const libs = "/usr/lib/x86_64-linux-gnu/"
	for _, test := range []struct {
		name, path string
		step       int
		cfa, regs  float64 // shares that must be reached
		long       bool
	}{
		{"libc", libs + "libc.so.6", 13, 0.997, 0.9999, false},
		{"libstdc++", libs + "libstdc++.so.6", 13, 0.999, 0.9999, true},
		{"libcrypto", libs + "libcrypto.so.3", 7, 0.99, 0.997, false},
		{"libc 386", "/lib32/libc.so.6", 41, 0.95, 0.99, true},
		{"libstdc++ 386", "/lib32/libstdc++.so.6", 13, 0.945, 0.9999, true},
		{"libdav1d", libs + "libdav1d.so.6", 41, 0.999, 0.9999, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.long && testing.Short() {
				t.Skip("long: hundreds of thousands of rows")
			}
			a := compareAll(t, section(t, test.path, ".text"), table(t, test.path), test.step)
			t.Log(a)
			if a.total == 0 {
				t.Fatal("no function was compared")
			}
			if a.shareCFA() < test.cfa {
				t.Errorf("CFA right at %.4f of the pcs, want %.4f", a.shareCFA(), test.cfa)
			}
			if a.shareRegisters() < test.regs {
				t.Errorf("register rules right: %.4f, want %.4f", a.shareRegisters(), test.regs)
			}
		})
	}
}

// BenchmarkFromEntry looks up the middle of each function of libc in turn.
func BenchmarkFromEntry(b *testing.B) {
	const path = "/usr/lib/x86_64-linux-gnu/libc.so.6"
	c, tab := section(b, path, ".text"), table(b, path)
	var entries, ends []uint64
	for pc := c.Start; pc < c.End(); pc++ {
		if fde, err := tab.FDE(pc); err == nil && fde.Start >= pc {
			entries, ends = append(entries, fde.Start), append(ends, fde.End)
			pc = fde.End - 1
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		k := i % len(entries)
		c.FromEntry(entries[k], ends[k], (entries[k]+ends[k])/2)
	}
}

// BenchmarkDecode decodes one instruction after the other.
func BenchmarkDecode(b *testing.B) {
	c := section(b, "/usr/lib/x86_64-linux-gnu/libc.so.6", ".text")
	pc := c.Start
	for range b.N {
		in, ok := c.decode(pc)
		if pc += uint64(max(in.n, 1)); !ok || pc >= c.End() {
			pc = c.Start
		}
	}
}
