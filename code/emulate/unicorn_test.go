package emulate

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/code/x86"
)

var unicornRuns = flag.Int("unicorn", 5_000, "instructions of each kind to run in unicorn")

// python is one that has unicorn.
const python = "../../testdata/bin/unicorn/bin/python3"

// Where testdata/one.py has things, behind registers and flags: bytes.
const (
	baseOff   = 136
	pcOff     = 144
	lengthOff = 152
	countOff  = 160
	codeOff   = 168
	xmmOff    = 184
	headSize  = 440
)

// unicorn is another emulator: that of QEMU.
type unicorn struct {
	in  io.Writer
	out io.Reader
}

func startUnicorn(t *testing.T) *unicorn {
	t.Helper()
	if _, err := os.Stat(python); err != nil {
		t.Skip("unicorn is not here: python3 -m venv testdata/bin/unicorn; testdata/bin/unicorn/bin/pip install " +
			"unicorn==2.1.4")
	}
	in, out := beside(t, exec.Command(python, "testdata/one.py"))
	return &unicorn{in, out}
}

// run runs the instruction of a case, and is what has become of it.
func (u *unicorn) run(t *testing.T, head, memory []byte) (after, written []byte, failed bool) {
	t.Helper()
	out := make([]byte, len(head)+len(memory))
	_, err := u.in.Write(slices.Concat(head, memory))
	if err == nil {
		_, err = io.ReadFull(u.out, out)
	}
	if err != nil {
		t.Fatalf("unicorn ends at % x: %v", head[codeOff:xmmOff], err)
	}
	return out[:len(head)], out[len(head):], binary.LittleEndian.Uint64(out[countOff:]) != 0
}

// textOf gives yield the code of each program below testdata/bin that matches one of patterns.
func textOf(t *testing.T, yield func(text []byte), patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		files, _ := filepath.Glob("../../testdata/bin/" + pattern)
		for _, path := range files {
			f, err := elf.Open(path)
			if err != nil { // a folder
				continue
			}
			text, err := f.Section(".text").Data()
			f.Close()
			if err != nil {
				t.Fatal(err)
			}
			yield(text)
		}
	}
}

// codeOf are different instructions of the programs that dry runs are tested with.
func codeOf(t *testing.T) (out [][]byte) {
	t.Helper()
	seen := map[string]bool{}
	textOf(t, func(text []byte) {
		for len(text) > 0 {
			in, ok := x86.Decode(text)
			if !ok {
				text = text[1:]
				continue
			}
			if b := text[:in.Len]; !seen[string(b)] {
				seen[string(b)] = true
				out = append(out, b)
			}
			text = text[in.Len:]
		}
	}, "rust/*", "cxx/*")
	return out
}

// mutated is code with some of its bits changed.
func mutated(r *rand.Rand, code []byte) []byte {
	b := append(bytes.Clone(code), make([]byte, longest-len(code))...)
	for range 1 + r.IntN(3) {
		b[r.IntN(len(code)+1)%longest] ^= 1 << r.IntN(8)
	}
	return b
}

// prefixed is an instruction of the tables of [random] with any prefixes and registers.
func prefixed(r *rand.Rand) []byte {
	b := []byte{}
	for range r.IntN(3) {
		b = append(b, []byte{0x66, 0xf2, 0xf3, 0xf0, 0x64, 0x67, 0x65}[r.IntN(7)])
	}
	if r.IntN(2) == 0 {
		b = append(b, 0x40|byte(r.IntN(16)))
	}
	if r.IntN(2) == 0 {
		b = append(b, 0x0f)
	}
	for len(b) < longest {
		b = append(b, byte(r.Uint32()))
	}
	return b
}

// aim makes a register of in lead its operand into the memory, and gives the place of its code where that counts from
// it.
func aim(r *rand.Rand, in *x86.Instruction, head []byte) {
	word := func(at int) []byte { return head[at:] }
	to := uint64(memoryAt + r.IntN(4096/16)*16)
	if r.IntN(4) == 0 {
		to += uint64(r.IntN(16))
	}
	to -= uint64(in.Disp)
	if in.FS {
		binary.LittleEndian.PutUint64(word(baseOff), uint64(r.IntN(64)))
		to -= binary.LittleEndian.Uint64(word(baseOff))
	}
	if in.Index >= 0 && in.Index != in.Base {
		to -= binary.LittleEndian.Uint64(word(8*int(in.Index))) << in.Scale
	}
	switch {
	case in.Base >= 0:
		if in.Base == in.Index {
			to /= 1 + 1<<in.Scale
		}
		binary.LittleEndian.PutUint64(word(8*int(in.Base)), to)
	case in.Base == x86.RelativeBase:
		if pc := to - uint64(in.Len); pc < 1<<46 && (pc < memoryAt-3*pageSize || pc >= memoryAt+pageSize) {
			binary.LittleEndian.PutUint64(word(pcOff), pc)
		}
	case in.FS:
		binary.LittleEndian.PutUint64(word(baseOff), memoryAt+0x100-uint64(in.Disp))
	}
}

// drawCase makes a state for an instruction.
func drawCase(r *rand.Rand, in *x86.Instruction, code []byte) (head, memory []byte) {
	state, memory := draw(r)
	head = make([]byte, headSize)
	copy(head, state[:baseOff])
	copy(head[xmmOff:], state[vectorOff:vectorOff+256])
	binary.LittleEndian.PutUint64(head[pcOff:], codeAt)
	binary.LittleEndian.PutUint64(head[lengthOff:], uint64(in.Len))
	binary.LittleEndian.PutUint64(head[countOff:], 1)
	if in.Repeat != 0 && in.Space == 0 && in.Op >= 0xa4 && in.Op <= 0xaf {
		binary.LittleEndian.PutUint64(head[countOff:], 0)
	}
	copy(head[codeOff:xmmOff], code[:in.Len])
	if in.IsMem && r.IntN(16) > 0 {
		aim(r, in, head)
	}
	return head, memory
}

// machineFor is the machine of a case.
func machineFor(head, memory []byte, in *x86.Instruction) *Machine {
	state := make([]byte, 4096)
	copy(state, head[:baseOff])
	copy(state[vectorOff:], head[xmmOff:])
	m := machineOf(state, memory, nil)
	m.PC = binary.LittleEndian.Uint64(head[pcOff:])
	m.TP = binary.LittleEndian.Uint64(head[baseOff:])
	begin := m.PC
	m.Code = func(pc uint64) []byte {
		if pc != begin {
			return nil
		}
		return head[codeOff : codeOff+in.Len]
	}
	return m
}

// kind is what sort of instruction one is.
func kind(in *x86.Instruction) string {
	group := -1
	if in.Space == 0 && slices.Contains([]byte{0x80, 0x81, 0x83, 0xc0, 0xc1, 0xd0, 0xd1, 0xd2, 0xd3, 0xf6, 0xf7, 0xfe,
		0xff}, in.Op) || in.Space == 1 && slices.Contains([]byte{0x71, 0x72, 0x73, 0xae, 0xba, 0xc7}, in.Op) {
		group = int(in.Reg & 7)
	}
	return fmt.Sprintf("%d %02x %02x/%d %d memory %t", in.Space, prefix(in), in.Op, group, size(in), in.IsMem)
}

// TestUnicorn: an instruction that is known does what another emulator does, to registers, flags, memory and where it
// goes on: instructions of programs, the same with bits changed, and any bytes. What faults there is refused here.
func TestUnicorn(t *testing.T) {
	u := startUnicorn(t)
	r := rand.New(rand.NewPCG(3, 4))
	code := codeOf(t)
	if len(code) == 0 {
		t.Fatal("testdata/bin has no programs: scripts/build-rust and scripts/build-cxx build them")
	}
	known := func() []byte { return code[r.IntN(len(code))] }
	for _, source := range []struct {
		name string
		make func() []byte
	}{
		{"of programs", known},
		{"changed", func() []byte { return mutated(r, known()) }},
		{"any", func() []byte { return prefixed(r) }},
	} {
		kinds, refused, compared, faults, other := map[string]int{}, map[string]int{}, 0, 0, 0
		for range *unicornRuns {
			b := source.make()
			in, ok := x86.Decode(b)
			if !ok {
				continue
			}
			head, memory := drawCase(r, &in, b)
			m := machineFor(head, memory, &in)
			err := m.Step()
			if isUnknown(err) {
				refused[kind(&in)]++
				continue
			}
			after, written, failed := u.run(t, head, memory)
			begin, end := binary.LittleEndian.Uint64(head[pcOff:]), binary.LittleEndian.Uint64(after[pcOff:])
			failed = failed || end == begin && (err != nil || m.PC != begin) // it does not say so of exceptions
			switch {
			case err != nil && !failed && errors.Is(err, ErrDivide):
				t.Errorf("% x: %v, which is none in unicorn", b[:in.Len], err)
			case err != nil:
				faults++
			case differs(&in, b, m) || failed && isLoose(&in):
				other++
			case failed:
				t.Errorf("% x: unicorn faults", b[:in.Len])
			default:
				compared++
				kinds[kind(&in)]++
				compareUnicorn(t, &in, b[:in.Len], m, after, written)
			}
		}
		all := 0
		for _, n := range refused {
			all += n
		}
		t.Logf("%s: %d compared, of %d kinds; %d refused, of %d kinds; %d fault; unicorn is not to be believed in %d",
			source.name, compared, len(kinds), all, len(refused), faults, other)
		if compared < *unicornRuns/10 {
			t.Errorf("%s: only %d were compared", source.name, compared)
		}
	}
}

// isLoose reports whether a processor runs what unicorn refuses, as [TestTruth] finds: REX.R of a group, and test, that
// has two numbers in its group.
func isLoose(in *x86.Instruction) bool {
	return in.Space == 0 && (in.Op&^1 == 0xc6 && in.Reg == 8 || in.Op&^1 == 0xf6 && in.Reg&7 == 1)
}

// differs reports whether unicorn does something else than the manual says, or than a processor does ([TestTruth]), or
// another one of what is undefined.
func differs(in *x86.Instruction, code []byte, m *Machine) bool {
	prefixes := code[:min(4, len(code))]
	switch {
	case in.FS && bytes.ContainsAny(prefixes, "\x26\x2e\x36\x3e"), // other segments do not count
		bytes.IndexByte(prefixes, 0xf2) >= 0 && bytes.IndexByte(prefixes, 0xf3) >= 0: // the last one counts
		return true
	case in.Space == 0:
		return in.Op == 0xc2 && int16(in.Imm) < 0 || // the number is not signed
			in.Lock && in.Op&^1 == 0xf6 && in.Reg&7 == 3 // neg: the flags are those of something else
	case in.Op == 0xa4 || in.Op == 0xac: // the next instruction is behind the number
		return in.Base == x86.RelativeBase
	case in.Op == 0xb1: // the upper half of a register that stays as it was
		return size(in) == 4 && (m.Flags.Zero || !in.IsMem)
	case in.Op == 0xbc || in.Op == 0xbd: // of 0; and F2 does not count
		return m.Flags.Zero && in.Repeat == 0 || in.Repeat == 0xf2
	}
	return in.Small && in.Repeat != 0 // the latter has the upper hand
}

func compareUnicorn(t *testing.T, in *x86.Instruction, code []byte, m *Machine, after, written []byte) {
	t.Helper()
	state := make([]byte, 4096)
	copy(state, after[:baseOff])
	copy(state[vectorOff:], after[xmmOff:])
	compare(t, in, code, m, state, written)
	if pc := binary.LittleEndian.Uint64(after[pcOff:]); m.PC != pc {
		t.Errorf("% x: goes on at %#x, want %#x", code, m.PC, pc)
	}
}
