package emulate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/fpstack/fpstack/code/arm64"
)

// Where the parts of a state of arm64 are, and of what code keeps of its caller.
const (
	armRegs    = 0   // x0 to x30, then the stack pointer
	armFlags   = 256 // NZCV
	armSaved   = 264 // the stack pointer and x29, x30 of who runs the code
	armVectors = 512
	armKept    = 1040 // x19 to x28, d8 to d15
)

// armAround is code that loads a state, runs in, stores it and returns. The address of the state is in the register
// that in does not use: its own value is not compared.
func armAround(in uint32, free int) []byte {
	var code []byte
	put := func(w uint32) { code = binary.LittleEndian.AppendUint32(code, w) }
	base := uint32(free)
	ldr := func(t, offset uint32) { put(0xf9400000 | offset/8<<10 | base<<5 | t) }
	str := func(t, offset uint32) { put(0xf9000000 | offset/8<<10 | base<<5 | t) }
	vector := func(op, t, offset uint32) { put(op | offset/16<<10 | base<<5 | t) }
	setBase := func() {
		put(0xd2800000 | base)                             // movz base, 0
		put(0xf2a00000 | uint32(stateAt>>16)<<5 | base)    // movk base, lsl 16
		put(0xf2800000 | uint32(stateAt&0xffff)<<5 | base) // movk base
	}
	kept := func(store bool) {
		for i := range uint32(11) { // x19 to x29
			if 19+i == base {
				continue
			}
			if store {
				str(19+i, armKept+8*i)
			} else {
				ldr(19+i, armKept+8*i)
			}
		}
		for i := range uint32(8) {
			op := uint32(0xfd400000)
			if store {
				op = 0xfd000000
			}
			put(op | (armKept+96+8*i)/8<<10 | base<<5 | (8 + i))
		}
	}
	scratch := uint32(9)
	if base == scratch {
		scratch = 10
	}
	setBase()
	kept(true)
	put(0x910003e0 | scratch) // mov scratch, sp
	str(scratch, armSaved)
	str(30, armSaved+8)
	for i := range uint32(32) {
		vector(0x3dc00000, i, armVectors+16*i)
	}
	ldr(scratch, armFlags)
	put(0xd51b4200 | scratch) // msr nzcv
	ldr(scratch, armRegs+8*31)
	put(0x9100001f | scratch<<5) // mov sp, scratch
	for i := range uint32(31) {
		if i != base {
			ldr(i, armRegs+8*i)
		}
	}
	put(in)
	for i := range uint32(31) {
		if i != base {
			str(i, armRegs+8*i)
		}
	}
	put(0x910003e0 | scratch)
	str(scratch, armRegs+8*31)
	put(0xd53b4200 | scratch) // mrs nzcv
	str(scratch, armFlags)
	for i := range uint32(32) {
		vector(0x3d800000, i, armVectors+16*i)
	}
	ldr(scratch, armSaved)
	put(0x9100001f | scratch<<5)
	ldr(30, armSaved+8)
	kept(false)
	put(0xd65f03c0) // ret
	return code
}

// startARM64 is a processor of arm64: this one, or an emulator of it.
func startARM64(t *testing.T) *processor {
	t.Helper()
	compiler, runner := "gcc", []string(nil)
	if runtime.GOARCH != "arm64" {
		compiler, runner = "aarch64-linux-gnu-gcc", []string{"qemu-aarch64-static"}
	}
	for _, tool := range append(runner, compiler) {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed: scripts/setup installs it")
		}
	}
	program := filepath.Join(t.TempDir(), "run")
	build := exec.Command(compiler, "-O1", "-static", "-o", program, "testdata/run.c")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build testdata/run.c: %v\n%s", err, out)
	}
	command := append(runner, program)
	in, out := beside(t, exec.Command(command[0], command[1:]...))
	return &processor{in, out}
}

// armState is a state: mostly with registers that lead into memory.
func armState(r *rand.Rand) (state, memory []byte) {
	state, memory = make([]byte, 4096), make([]byte, 4096)
	for i := range 32 {
		v := interesting(r)
		if i == stackPointer || r.IntN(2) == 0 {
			v = memoryAt + 0x400 + uint64(r.IntN(128))*16
		}
		binary.LittleEndian.PutUint64(state[armRegs+8*i:], v)
		for k := range 2 {
			binary.LittleEndian.PutUint64(state[armVectors+16*i+8*k:], interesting(r))
		}
	}
	binary.LittleEndian.PutUint64(state[armFlags:], r.Uint64()&0xf0000000)
	for i := 0; i < len(memory); i += 8 {
		binary.LittleEndian.PutUint64(memory[i:], interesting(r))
	}
	return state, memory
}

func armFlagsOf(w uint64) Flags {
	return Flags{Sign: w>>31&1 != 0, Zero: w>>30&1 != 0, Carry: w>>29&1 != 0, Overflow: w>>28&1 != 0}
}

// armMachine is one over that state, with that instruction.
func armMachine(state, memory []byte, in uint32) *Machine {
	code := binary.LittleEndian.AppendUint32(nil, in)
	m := machineOf(make([]byte, 4096), memory, code)
	m.ISA, m.Flags = ARM64, armFlagsOf(binary.LittleEndian.Uint64(state[armFlags:]))
	for i := range 32 {
		m.R[i] = binary.LittleEndian.Uint64(state[armRegs+8*i:])
		for k := range 2 {
			m.X[i][k] = binary.LittleEndian.Uint64(state[armVectors+16*i+8*k:])
		}
	}
	return m
}

// compareARM64 compares what has become of a state, but register free.
func compareARM64(t *testing.T, in uint32, free int, m *Machine, state, memory []byte) {
	t.Helper()
	for i := range 32 {
		if want := binary.LittleEndian.Uint64(state[armRegs+8*i:]); m.R[i] != want && i != free {
			t.Errorf("%08x: register %d is %#x, want %#x", in, i, m.R[i], want)
		}
		var want Vector
		for k := range want {
			want[k] = binary.LittleEndian.Uint64(state[armVectors+16*i+8*k:])
		}
		if m.X[i] != want {
			t.Errorf("%08x: vector %d is %#x, want %#x", in, i, m.X[i], want)
		}
	}
	if want := armFlagsOf(binary.LittleEndian.Uint64(state[armFlags:])); m.Flags != want {
		t.Errorf("%08x: flags %+v, want %+v", in, m.Flags, want)
	}
	for i := 0; i < len(memory); i += 8 {
		if got, _ := m.Word(memoryAt + uint64(i)); got != binary.LittleEndian.Uint64(memory[i:]) {
			t.Errorf("%08x: word %#x is %#x, want %#x", in, i, got, binary.LittleEndian.Uint64(memory[i:]))
		}
	}
}

// unused is a register that no field of an instruction names.
func unused(in uint32) int {
	w := word{arm64.Inst(in)}
	for n := 11; ; n++ { // not 9 and 10, which the code around needs
		if n != w.rd() && n != w.rn() && n != w.rm() && n != w.ra() && n != w.rm()+1 && n != w.rd()+1 {
			return n
		}
	}
}

// armCode are different instructions of programs of arm64.
func armCode(t *testing.T) (out []uint32) {
	t.Helper()
	seen := map[uint32]bool{}
	textOf(t, func(text []byte) {
		for ; len(text) >= arm64.Size; text = text[arm64.Size:] {
			if in := binary.LittleEndian.Uint32(text); !seen[in] {
				seen[in] = true
				out = append(out, in)
			}
		}
	}, "arm64/rust/*", "arm64/cxx/*")
	return out
}

// armKinds are instructions that are known, with which of their bits are to be drawn.
var armKinds = [][2]uint32{
	{0x10000000, 0xe0ffffff}, {0x11000000, 0xe07fffff}, {0x12000000, 0xe07fffff}, {0x12800000, 0xe07fffff},
	{0x13000000, 0xe07fffff}, {0x13800000, 0x805fffff}, {0xd53bd040, 0x0000001f},
	{0x0a000000, 0xe0ffffff}, {0x0b000000, 0xe0dfffff}, {0x0b200000, 0xe01fffff}, {0x1a000000, 0xe01f03ff},
	{0x3a400000, 0xc01ffbef}, {0x1a800000, 0xc01ff7ff}, {0x1ac00000, 0x801f3fff}, {0x5ac00000, 0x80001fff},
	{0x1b000000, 0x80ffffff},
	{0x08000000, 0xc0ffffff}, {0x28000000, 0xc5ffffff}, {0x38000000, 0xc5dfffff}, {0x38200800, 0xc5dff3ff},
	{0x39000000, 0xc5ffffff}, {0x38200000, 0xc0dff3ff}, {0x19000000, 0xc0dff3ff}, {0x0c000000, 0x409fffff},
	{0x0d40c000, 0x409f0fff},
	{0x0f000400, 0x6087fbff}, {0x0f000400, 0x607ffbff}, {0x5f400400, 0x203ffbff}, {0x0e000400, 0x601f7bff},
	{0x2e000400, 0x401f7bff}, {0x5e000400, 0x001f03ff}, {0x0e200400, 0x60dffbff}, {0x5ee00400, 0x201ffbff},
	{0x0e200800, 0x60c1f3ff}, {0x5ee00800, 0x2001f3ff}, {0x0e300800, 0x60c1f3ff}, {0x5ef1b800, 0x3ff},
	{0x2e000000, 0x401f7bff}, {0x0e000800, 0x40df73ff}, {0x0e000000, 0x401f03ff},
	{0x1e260000, 0x3ff}, {0x9e660000, 0x3ff}, {0x9eae0000, 0x3ff}, {0x1e270000, 0x3ff}, {0x9e670000, 0x3ff},
	{0x9eaf0000, 0x3ff}, {0x1e204000, 0x3ff}, {0x1e604000, 0x3ff},
}

// TestTruthARM64: each instruction that is known does what a processor does, to registers, flags and memory: those of
// programs, and any of the kinds that are known.
func TestTruthARM64(t *testing.T) {
	const each = 250
	p := startARM64(t)
	r := rand.New(rand.NewPCG(5, 6))
	var cases []uint32
	for _, kind := range armKinds {
		for range each {
			cases = append(cases, kind[0]&^kind[1]|r.Uint32()&kind[1])
		}
	}
	code := armCode(t)
	r.Shuffle(len(code), func(i, j int) { code[i], code[j] = code[j], code[i] })
	cases = append(cases, code[:min(len(code), 6_000)]...)
	compared, refused := map[uint32]int{}, 0
	for _, in := range cases {
		state, memory := armState(r)
		before := bytes.Clone(memory)
		m := armMachine(state, memory, in)
		free := unused(in)
		m.R[free] = stateAt
		if err := m.Step(); err != nil {
			if isUnknown(err) {
				refused++
			} else if !errors.Is(err, ErrMemory) && !errors.Is(err, ErrSystem) && !errors.Is(err, ErrTrap) {
				t.Errorf("%08x: %v", in, err)
			}
			continue
		}
		i := arm64.Inst(in)
		if m.PC != codeAt+arm64.Size || i.Is(0xffffffe0, 0xd53bd040) || i.Is(0x1f000000, 0x10000000) ||
			i.Is(0xfc000000, 0x94000000) {
			continue // it goes elsewhere, or tells where it or the thread is
		}
		if m.reserved || i.Is(0x3fe00000, 0x08000000) { // one of a pair
			continue
		}
		if !bytes.Equal(memory, before) {
			t.Fatalf("%08x writes outside of the overlay", in)
		}
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], in)
		p.run(t, b[:], armAround(in, free), state, memory)
		compared[in>>21]++
		compareARM64(t, in, free, m, state, memory)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d kinds compared, %d instructions refused of %d", len(compared), refused, len(cases))
	if least := 300; len(compared) < least {
		t.Errorf("%d kinds were compared, want %d", len(compared), least)
	}
}
