package emulate

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/code/x86"
)

// Where testdata/run.c has things, and where the parts of a state are.
const (
	stateAt  = 0x30000000
	memoryAt = 0x10000000
	codeAt   = 0x20000000

	regsOff   = 0
	flagsOff  = 128
	savedOff  = 136
	vectorOff = 256
)

// absolute is an instruction with register r and the word at an offset of the state.
func absolute(op byte, r int, offset uint32) []byte {
	rex := byte(0x48 | r>>3<<2)
	return binary.LittleEndian.AppendUint32([]byte{rex, op, byte(r&7<<3 | 4), 0x25}, stateAt+offset)
}

// vectors loads or stores all XMM registers.
func vectors(op byte) (out []byte) {
	for i := range 16 {
		b := []byte{0xf3, byte(0x40 | i>>3<<2), 0x0f, op, byte(i&7<<3 | 4), 0x25}
		out = append(out, binary.LittleEndian.AppendUint32(b, stateAt+vectorOff+uint32(16*i))...)
	}
	return out
}

// around is code that loads a state, runs in, stores it and returns; and where in is in it.
func around(in []byte) (code []byte, at int) {
	callee := []int{RBX, RBP, 12, 13, 14, 15}
	for _, r := range callee {
		code = append(code, byte(0x40|r>>3), byte(0x50|r&7))
	}
	code = append(code, absolute(0x89, RSP, savedOff)...)
	code = append(code, vectors(0x6f)...)
	code = append(code, 0xff, 0x34, 0x25)
	code = binary.LittleEndian.AppendUint32(code, stateAt+flagsOff)
	code = append(code, 0x9d) // popfq
	for r := range 16 {
		code = append(code, absolute(0x8b, r, regsOff+uint32(8*r))...)
	}
	at = len(code)
	code = append(code, in...)
	for r := range 16 {
		code = append(code, absolute(0x89, r, regsOff+uint32(8*r))...)
	}
	code = append(code, absolute(0x8b, RSP, savedOff)...)
	code = append(code, 0x9c, 0x8f, 0x04, 0x25) // pushfq, pop
	code = binary.LittleEndian.AppendUint32(code, stateAt+flagsOff)
	code = append(code, vectors(0x7f)...)
	for _, r := range slices.Backward(callee) {
		code = append(code, byte(0x40|r>>3), byte(0x58|r&7))
	}
	return append(code, 0xc3), at
}

// processor is the real one.
type processor struct {
	in  io.Writer
	out io.Reader
}

func startProcessor(t *testing.T) *processor {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the processor is another, or the system")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed")
	}
	program := filepath.Join(t.TempDir(), "run")
	if out, err := exec.Command("gcc", "-O1", "-o", program, "testdata/run.c").CombinedOutput(); err != nil {
		t.Fatalf("build testdata/run.c: %v\n%s", err, out)
	}
	in, out := beside(t, exec.Command(program))
	return &processor{in, out}
}

// beside starts a program that ends with the test, which writes to it and reads from it.
func beside(t *testing.T, cmd *exec.Cmd) (in io.Writer, out io.Reader) {
	t.Helper()
	cmd.Stderr = os.Stderr
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err = cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = to.Close(); _ = cmd.Wait() })
	return to, out
}

// run runs code over state and memory, which it changes.
func (p *processor) run(t *testing.T, in, code, state, memory []byte) {
	t.Helper()
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(code)))
	for _, part := range [][]byte{code, state, memory} {
		b = append(b, part...)
	}
	if _, err := p.in.Write(b); err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]byte{state, memory} {
		if _, err := io.ReadFull(p.out, part); err != nil {
			t.Fatalf("the processor does not run % x: %v", in, err)
		}
	}
}

const (
	carryBit, parityBit, zeroBit, signBit, overflowBit = 1 << 0, 1 << 2, 1 << 6, 1 << 7, 1 << 11
	allBits                                            = carryBit | parityBit | zeroBit | signBit | overflowBit
)

func (f Flags) word() (w uint64) {
	for i, b := range []uint64{carryBit, parityBit, zeroBit, signBit, overflowBit} {
		w |= b * bit([]bool{f.Carry, f.Parity, f.Zero, f.Sign, f.Overflow}[i])
	}
	return w
}

// undefined are the flags that an instruction leaves as it likes: Intel SDM volume 2.
func undefined(in *x86.Instruction) uint64 {
	const shifts = carryBit | overflowBit
	switch {
	case in.Space == 0 && slices.Contains([]byte{0xc0, 0xc1, 0xd2, 0xd3}, in.Op):
		return shifts
	case in.Space == 0 && (in.Op == 0x69 || in.Op == 0x6b), in.Space == 1 && in.Op == 0xaf:
		return parityBit | zeroBit | signBit
	case in.Space == 0 && in.Op&^1 == 0xf6 && in.Reg&7 >= 6:
		return allBits
	case in.Space == 0 && in.Op&^1 == 0xf6 && in.Reg&7 >= 4:
		return parityBit | zeroBit | signBit
	case in.Space != 1:
		return 0
	case slices.Contains([]byte{0xa4, 0xa5, 0xac, 0xad}, in.Op):
		return overflowBit
	case slices.Contains([]byte{0xa3, 0xab, 0xb3, 0xbb, 0xba}, in.Op):
		return parityBit | signBit | overflowBit
	case in.Op == 0xbc || in.Op == 0xbd:
		return parityBit | signBit | overflowBit | carryBit
	}
	return 0
}

// opcodes that work on data: of one byte, and behind 0F.
var (
	oneByteOps = []byte{
		0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x08, 0x0b, 0x10, 0x11, 0x13, 0x18, 0x19, 0x1b, 0x20, 0x21, 0x25,
		0x28, 0x29, 0x2b, 0x2c, 0x30, 0x31, 0x33, 0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x50, 0x53, 0x58, 0x5b,
		0x63, 0x68, 0x6a, 0x69, 0x6b, 0x80, 0x81, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8b, 0x8d,
		0x90, 0x91, 0x93, 0x98, 0x99, 0xa4, 0xa5, 0xa8, 0xa9, 0xaa, 0xab, 0xb0, 0xb4, 0xb8, 0xbb, 0xc0, 0xc1,
		0xc6, 0xc7, 0xd0, 0xd1, 0xd2, 0xd3, 0xf6, 0xf7, 0xfe, 0xff,
	}
	twoByteOps = []byte{
		0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x1f, 0x28, 0x29, 0x40, 0x42, 0x44, 0x46, 0x48, 0x4a,
		0x4c, 0x4e, 0x4f, 0x50, 0x54, 0x55, 0x56, 0x57, 0x60, 0x61, 0x62, 0x64, 0x65, 0x66, 0x68, 0x69, 0x6a,
		0x6c, 0x6d, 0x6e, 0x6f, 0x70, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x7e, 0x7f, 0x90, 0x92, 0x94, 0x96,
		0x98, 0x9a, 0x9c, 0x9f, 0xa3, 0xa4, 0xa5, 0xab, 0xac, 0xad, 0xaf, 0xb0, 0xb1, 0xb3, 0xb6, 0xb7, 0xb8,
		0xba, 0xbb, 0xbc, 0xbd, 0xbe, 0xbf, 0xc0, 0xc1, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xcb, 0xd4, 0xd6,
		0xd7, 0xda, 0xdb, 0xde, 0xdf, 0xe7, 0xeb, 0xef, 0xf4, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe,
	}
)

// random makes an instruction of the tables, with operands in registers or in the memory that rbx leads to.
func random(r *rand.Rand) []byte {
	pick := func(b ...byte) byte { return b[r.IntN(len(b))] }
	var b []byte
	two := r.IntN(2) == 0
	if r.IntN(3) == 0 {
		b = append(b, 0x66)
	}
	if r.IntN(8) == 0 {
		b = append(b, 0xf0)
	}
	for two && r.IntN(3) == 0 {
		b = append(b, pick(0xf2, 0xf3, 0x2e))
	}
	if r.IntN(2) == 0 {
		b = append(b, 0x40|byte(r.IntN(2)<<3|r.IntN(2)<<2)) // W, R
	}
	if two {
		b = append(b, 0x0f, twoByteOps[r.IntN(len(twoByteOps))])
	} else {
		b = append(b, oneByteOps[r.IntN(len(oneByteOps))])
	}
	reg := byte(r.IntN(8)) << 3
	switch r.IntN(3) {
	case 0:
		b = append(b, 0x40|reg|RBX, pick(0, 16, 32, 0xf0))
	case 1:
		b = append(b, 0x44|reg, pick(0x0b, 0x4b, 0x8b, 0xcb), pick(0, 16)) // rbx + rcx * scale
	default:
		b = append(b, 0xc0|reg|byte(r.IntN(8)))
	}
	for range 8 {
		b = append(b, byte(r.Uint32()))
	}
	return b
}

// interesting are words at whose bounds instructions do other things.
func interesting(r *rand.Rand) uint64 {
	switch r.IntN(4) {
	case 0:
		return r.Uint64() >> r.IntN(64)
	case 1:
		return 1<<r.IntN(64) - uint64(r.IntN(3))
	case 2:
		return uint64(int64(-1) << r.IntN(64))
	}
	return r.Uint64()
}

// draw makes a state and a memory.
func draw(r *rand.Rand) (state, memory []byte) {
	state, memory = make([]byte, 4096), make([]byte, 4096)
	for i := range 16 {
		binary.LittleEndian.PutUint64(state[regsOff+8*i:], interesting(r))
		binary.LittleEndian.PutUint64(state[vectorOff+16*i:], interesting(r))
		binary.LittleEndian.PutUint64(state[vectorOff+16*i+8:], interesting(r))
	}
	set := func(n int, v uint64) { binary.LittleEndian.PutUint64(state[regsOff+8*n:], v) }
	set(RBX, memoryAt+0x800)
	set(RSP, memoryAt+0x400)
	set(RSI, memoryAt+0x200)
	set(RDI, memoryAt+0xa00)
	set(RCX, uint64(r.IntN(32)))
	binary.LittleEndian.PutUint64(state[flagsOff:], r.Uint64()&allBits|2)
	for i := 0; i < len(memory); i += 8 {
		binary.LittleEndian.PutUint64(memory[i:], interesting(r))
	}
	return state, memory
}

// machine is one over that state, and with that code.
func machineOf(state, memory, code []byte) *Machine {
	m := &Machine{ISA: AMD64, PC: codeAt}
	for i := range 16 {
		m.R[i] = binary.LittleEndian.Uint64(state[regsOff+8*i:])
		m.X[i] = Vector{binary.LittleEndian.Uint64(state[vectorOff+16*i:]),
			binary.LittleEndian.Uint64(state[vectorOff+16*i+8:])}
	}
	w := binary.LittleEndian.Uint64(state[flagsOff:])
	m.Flags = Flags{w&carryBit != 0, w&parityBit != 0, w&zeroBit != 0, w&signBit != 0, w&overflowBit != 0}
	m.Code = func(pc uint64) []byte {
		if pc-codeAt >= uint64(len(code)) {
			return nil
		}
		return code[pc-codeAt:]
	}
	m.Read = func(b []byte, a uint64) bool {
		if a < memoryAt || a+uint64(len(b)) > memoryAt+uint64(len(memory)) {
			return false
		}
		copy(b, memory[a-memoryAt:])
		return true
	}
	return m
}

// TestTruth: each instruction that is known does what the processor does, to registers, flags and memory.
func TestTruth(t *testing.T) {
	const runs = 20_000
	p := startProcessor(t)
	r := rand.New(rand.NewPCG(1, 2))
	known := map[[2]int]int{}
	for range runs {
		in := random(r)
		decoded, ok := x86.Decode(in)
		if !ok {
			continue
		}
		in = in[:decoded.Len]
		state, memory := draw(r)
		before := bytes.Clone(memory)
		m := machineOf(state, memory, in)
		if err := m.Step(); err != nil || m.PC != codeAt+uint64(len(in)) || mayFault(&decoded, m) {
			continue
		}
		if !bytes.Equal(memory, before) {
			t.Fatalf("% x writes outside of the overlay", in)
		}
		code, _ := around(in)
		p.run(t, in, code, state, memory)
		known[[2]int{decoded.Space, int(decoded.Op)}]++
		compare(t, &decoded, in, m, state, memory)
		if t.Failed() {
			return
		}
	}
	if least := 150; len(known) < least {
		t.Errorf("%d opcodes were compared, want %d", len(known), least)
	}
	t.Logf("%d opcodes", len(known))
}

// mayFault reports whether the processor wants an address to be aligned, which the emulator does not check.
func mayFault(in *x86.Instruction, _ *Machine) bool {
	loose := []byte{0x10, 0x11, 0x12, 0x13, 0x16, 0x17, 0x6e, 0x7e, 0xd6}
	return in.Space == 1 && in.IsMem && !slices.Contains(loose, in.Op) &&
		(in.Op < 0x80 || in.Op >= 0xc4) && in.Index >= 0 || in.Space == 1 && in.Op == 0xc7 && in.IsMem
}

// compare compares what m has become with what the processor has made of state and memory.
func compare(t *testing.T, in *x86.Instruction, code []byte, m *Machine, state, memory []byte) {
	t.Helper()
	for i := range 16 {
		if want := binary.LittleEndian.Uint64(state[regsOff+8*i:]); m.R[i] != want {
			t.Errorf("% x: register %d is %#x, want %#x", code, i, m.R[i], want)
		}
		want := Vector{binary.LittleEndian.Uint64(state[vectorOff+16*i:]),
			binary.LittleEndian.Uint64(state[vectorOff+16*i+8:])}
		if m.X[i] != want {
			t.Errorf("% x: vector %d is %#x, want %#x", code, i, m.X[i], want)
		}
	}
	mask := allBits &^ undefined(in)
	if got, want := m.Flags.word()&mask, binary.LittleEndian.Uint64(state[flagsOff:])&mask; got != want {
		t.Errorf("% x: flags %#x, want %#x", code, got, want)
	}
	for i := 0; i < len(memory); i += 8 {
		if got, _ := m.Word(memoryAt + uint64(i)); got != binary.LittleEndian.Uint64(memory[i:]) {
			t.Errorf("% x: word %#x is %#x, want %#x", code, i, got, binary.LittleEndian.Uint64(memory[i:]))
		}
	}
}
