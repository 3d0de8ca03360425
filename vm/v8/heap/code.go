package heap

import (
	"fmt"

	"github.com/fpstack/fpstack/mem"
)

// Kind is the compiler that made a Code.
type Kind int

// The kinds that matter to a name. Other is a builtin, a regular expression or code of WebAssembly.
const (
	Other Kind = iota
	Interpreted
	Baseline
	Maglev
	Turbofan
)

func (k Kind) String() string {
	return [...]string{"other", "interpreted", "baseline", "maglev", "turbofan"}[k]
}

// Code is the header of a Code object. It does not change, but the object may move, and be made again for other code at
// the same address: Start, Size and Kind tell.
type Code struct {
	Addr  mem.Addr
	Kind  Kind
	Start mem.Addr // of the instructions
	Size  int      // of the instructions, bytes
	// Deopt is the deoptimisation data, and of baseline code the BytecodeArray.
	Deopt Tagged
	// Positions is the position table, and of baseline code the lengths of instructions of each bytecode.
	Positions Tagged
}

// maxCode bounds the instructions of one function, bytes.
const maxCode = 64 << 20

// CodeOf reads the Code that t refers to, or the InstructionStream, which is what is found in front of instructions.
func (h Heap) CodeOf(t Tagged) (Code, error) {
	a, err := h.object(t, "code", h.Types.Code, h.Types.InstructionStream)
	if err != nil {
		return Code{}, err
	}
	if typ, err := h.Type(a); err != nil {
		return Code{}, err
	} else if typ == h.Types.InstructionStream {
		word, err := h.Word(a, h.Code.StreamCode)
		if err != nil {
			return Code{}, err
		}
		if a, err = h.object(word, "code", h.Types.Code); err != nil {
			return Code{}, err
		}
	}
	return h.code(a)
}

func (h Heap) code(a mem.Addr) (Code, error) {
	f := &h.Layout.Code
	c := Code{Addr: a}
	var err error
	flags, err := h.uint(a, f.Flags, 4)
	if err != nil {
		return c, err
	}
	c.Kind = h.kind(uint32(flags))
	size, err := h.uint(a, f.Size, 4)
	if err != nil {
		return c, err
	}
	if size > maxCode {
		return c, fmt.Errorf("%w: the code at %#x has %d bytes", ErrMoved, uint64(a), size)
	}
	c.Size = int(size)
	if c.Start = a + mem.Addr(f.Start); !f.Inline {
		start, err := h.uint(a, f.Start, 8)
		if err != nil {
			return c, err
		}
		c.Start = mem.Addr(start)
	}
	if c.Deopt, err = h.Word(a, f.Deopt); err != nil {
		return c, err
	}
	c.Positions, err = h.Word(a, f.Positions)
	return c, err
}

// builtinUpTo11 is BUILTIN up to V8 11: the only one that lies among code that was made is the copy of the
// interpreter's entry that a function gets by --interpreted-frames-native-stack; later that has a kind of its own.
// Source: Compiler::InstallInterpreterTrampolineCopy in src/codegen/compiler.cc, src/objects/code-kind.h.
const builtinUpTo11 = 2

// kind is that of the flags of a Code.
func (l *Layout) kind(flags uint32) Kind {
	k := &l.Kinds
	switch v := int32(flags & uint32(k.Mask) >> uint(k.Shift)); {
	case v == k.Interpreted, v == builtinUpTo11 && !l.Version.AtLeast(12, 0):
		return Interpreted
	case v == k.Baseline:
		return Baseline
	case v == k.Maglev && k.Maglev != 0:
		return Maglev
	case v == k.Turbofan:
		return Turbofan
	}
	return Other
}

// Bytecode is the header of a BytecodeArray, which lives as long as a frame runs it, but may move.
type Bytecode struct {
	Addr      mem.Addr
	Length    int    // bytes
	Positions Tagged // the position table, or no pointer if there is none
}

// maxBytecode bounds the bytecode of one function, bytes.
const maxBytecode = 32 << 20

// BytecodeOf reads the header of the BytecodeArray that t refers to.
func (h Heap) BytecodeOf(t Tagged) (Bytecode, error) {
	a, err := h.object(t, "bytecode array", h.Types.BytecodeArray)
	if err != nil {
		return Bytecode{}, err
	}
	b := Bytecode{Addr: a}
	if b.Length, err = h.smi(a, h.Bytecode.Length, maxBytecode); err != nil {
		return b, err
	}
	b.Positions, err = h.Word(a, h.Layout.Bytecode.Positions)
	return b, err
}

// BytecodeOffset is the offset in bytecode that a frame's slot, or a handler's register, holds: those count from the
// tagged pointer, and the slot as a SMI. It is false for one that lies outside of b.
func (h Heap) BytecodeOffset(b Bytecode, biased int) (int, bool) {
	offset := biased - (int(h.Bytecode.Data) - 1)
	return offset, offset >= 0 && offset < b.Length
}

// Instructions reads the bytes of b.
func (h Heap) Instructions(b Bytecode) ([]byte, error) {
	out := make([]byte, b.Length)
	return out, h.read(out, b.Addr, h.Layout.Bytecode.Data)
}

// Sizes are the lengths of bytecodes, in bytes: kBytecodeSizes of class Bytecodes in src/interpreter/bytecodes.cc,
// three tables of equal length for operands of 1, 2 and 4 bytes.
type Sizes []byte

// of is the length of the bytecode at the start of code, with the prefix that says that operands are wide.
func (s Sizes) of(code []byte) (n int, ok bool) {
	// Wide, ExtraWide, DebugBreakWide and DebugBreakExtraWide come first in BYTECODE_LIST.
	const prefixes = 4
	if len(code) == 0 || len(s) < 3 || len(s)%3 != 0 {
		return 0, false
	}
	count, scale, prefix := len(s)/3, 0, 0
	if op := int(code[0]); op < prefixes {
		if scale, prefix = 1+op&1, 1; len(code) < 2 {
			return 0, false
		}
	}
	op := int(code[prefix])
	if op >= count {
		return 0, false
	}
	n = int(s[scale*count+op])
	return prefix + n, n > 0 && prefix+n <= len(code)
}

// BaselineOffset is the offset in bytecode of the baseline code at pc, bytes from its start. Lengths has, one bytecode
// after the other, how many bytes of instructions were made of it, as unsigned numbers of seven bits a byte. It is
// false where the tables do not fit. A pc that is a return address is given less 1.
// Source: src/baseline/bytecode-offset-iterator.h.
func BaselineOffset(lengths, bytecode []byte, sizes Sizes, pc int) (int, bool) {
	r := vlq{b: lengths}
	offset, sum := 0, r.unsigned() // in front of the first bytecode is the prologue
	if uint64(pc) < sum {
		return 0, r.err == nil && len(bytecode) > 0
	}
	for offset < len(bytecode) { // ends: each bytecode takes a byte
		sum += r.unsigned()
		if r.err != nil {
			return 0, false
		}
		if uint64(pc) < sum {
			return offset, true
		}
		n, ok := sizes.of(bytecode[offset:])
		if !ok {
			return 0, false
		}
		offset += n
	}
	return 0, false
}
