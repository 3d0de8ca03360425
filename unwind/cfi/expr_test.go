package cfi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
)

var errUnmapped = errors.New("unmapped")

// fakeMachine knows some registers and one word of memory at 0x1000.
type fakeMachine map[uint64]uint64

func (m fakeMachine) Reg(n uint64) (uint64, bool) {
	v, ok := m[n]
	return v, ok
}

func (m fakeMachine) Read(addr uint64, size int) (uint64, error) {
	if addr != 0x1000 {
		return 0, errUnmapped
	}
	return truncate(0x8877665544332211, size), nil
}

var machine = fakeMachine{0: 5, 7: 0x1000, 31: 31, 40: 40}

// minus is -n as a 64-bit number.
func minus(n uint64) uint64 { return -n }

func TestEval(t *testing.T) {
	for _, tt := range []struct {
		name    string
		initial []uint64
		expr    []byte
		want    uint64 // with 8 bytes
		want32  uint64 // with 4 bytes
	}{
		{"nothing but the CFA", []uint64{77}, nil, 77, 77},
		{"lit0", nil, []byte{dwLit0}, 0, 0},
		{"lit31", nil, []byte{dwLit31}, 31, 31},
		{"const1u", nil, []byte{dwConst1u, 0xff}, 0xff, 0xff},
		{"const1s", nil, []byte{dwConst1s, 0xff}, minus(1), 0xffffffff},
		{"const2u", nil, []byte{dwConst2u, 0xfe, 0xff}, 0xfffe, 0xfffe},
		{"const2s", nil, []byte{dwConst2s, 0xfe, 0xff}, minus(2), 0xfffffffe},
		{"const4u", nil, []byte{dwConst4u, 0xfd, 0xff, 0xff, 0xff}, 0xfffffffd, 0xfffffffd},
		{"const4s", nil, []byte{dwConst4s, 0xfd, 0xff, 0xff, 0xff}, minus(3), 0xfffffffd},
		{"const8u", nil, slices.Concat([]byte{dwConst8u}, u64(0x123456789abcdef0)), 0x123456789abcdef0, 0x9abcdef0},
		{"const8s", nil, slices.Concat([]byte{dwConst8s}, u64(minus(4))), minus(4), 0xfffffffc},
		{"constu", nil, []byte{dwConstu, 0x80, 1}, 128, 128},
		{"consts", nil, []byte{dwConsts, 0x80, 0x7f}, minus(128), 0xffffff80},
		{"breg0", nil, []byte{dwBreg0, 0x7f}, 4, 4},
		{"breg31", nil, []byte{dwBreg31, 1}, 32, 32},
		{"bregx", nil, []byte{dwBregx, 40, 2}, 42, 42},
		{"deref", nil, []byte{dwBreg0 + 7, 0, dwDeref}, 0x8877665544332211, 0x44332211},
		{"deref_size 1", nil, []byte{dwBreg0 + 7, 0, dwDerefSize, 1}, 0x11, 0x11},
		{"deref_size 2", nil, []byte{dwBreg0 + 7, 0, dwDerefSize, 2}, 0x2211, 0x2211},
		{"deref_size 4", nil, []byte{dwBreg0 + 7, 0, dwDerefSize, 4}, 0x44332211, 0x44332211},
		{"dup", []uint64{3}, []byte{dwDup, dwPlus}, 6, 6},
		{"drop", []uint64{3, 4}, []byte{dwDrop}, 3, 3},
		{"over", []uint64{3, 4}, []byte{dwOver}, 3, 3},
		{"pick 0", []uint64{3, 4, 5}, []byte{dwPick, 0}, 5, 5},
		{"pick 2", []uint64{3, 4, 5}, []byte{dwPick, 2}, 3, 3},
		{"swap", []uint64{3, 4}, []byte{dwSwap, dwMinus}, 1, 1},
		{"rot brings the second to the top", []uint64{3, 4, 5}, []byte{dwRot}, 4, 4},
		{"rot takes the top to the third", []uint64{3, 4, 5}, []byte{dwRot, dwDrop, dwDrop}, 5, 5},
		{"abs of negative", []uint64{minus(7)}, []byte{dwAbs}, 7, 7},
		{"abs of positive", []uint64{7}, []byte{dwAbs}, 7, 7},
		{"abs of the lowest", []uint64{1 << 63}, []byte{dwAbs}, 1 << 63, 0},
		{"and", []uint64{12, 10}, []byte{dwAnd}, 8, 8},
		{"or", []uint64{12, 10}, []byte{dwOr}, 14, 14},
		{"xor", []uint64{12, 10}, []byte{dwXor}, 6, 6},
		{"not", []uint64{0}, []byte{dwNot}, minus(1), 0xffffffff},
		{"neg", []uint64{1}, []byte{dwNeg}, minus(1), 0xffffffff},
		{"plus wraps", []uint64{minus(1), 2}, []byte{dwPlus}, 1, 1},
		{"plus past 32 bits", []uint64{0xffffffff, 2}, []byte{dwPlus}, 0x100000001, 1},
		{"minus wraps", []uint64{1, 2}, []byte{dwMinus}, minus(1), 0xffffffff},
		{"mul", []uint64{0x10000, 0x10001}, []byte{dwMul}, 0x100010000, 0x10000},
		{"div is signed", []uint64{minus(7), 2}, []byte{dwDiv}, minus(3), 0xfffffffd},
		{"div of the lowest by -1", []uint64{1 << 63, minus(1)}, []byte{dwDiv}, 1 << 63, 0},
		{"mod is unsigned", []uint64{minus(1), 16}, []byte{dwMod}, 15, 15},
		{"plus_uconst", []uint64{1}, []byte{dwPlusUconst, 0x80, 1}, 129, 129},
		{"shl", []uint64{1, 33}, []byte{dwShl}, 1 << 33, 0},
		{"shl by 64", []uint64{1, 64}, []byte{dwShl}, 0, 0},
		{"shr", []uint64{minus(16), 4}, []byte{dwShr}, 0x0fffffffffffffff, 0x0fffffff},
		{"shra", []uint64{minus(16), 4}, []byte{dwShra}, minus(1), 0xffffffff},
		{"shra by 100", []uint64{minus(16), 100}, []byte{dwShra}, minus(1), 0xffffffff},
		{"eq", []uint64{3, 3}, []byte{dwEq}, 1, 1},
		{"ne", []uint64{3, 3}, []byte{dwNe}, 0, 0},
		{"ge is signed", []uint64{minus(1), 1}, []byte{dwGe}, 0, 0},
		{"gt: second over top", []uint64{2, 1}, []byte{dwGt}, 1, 1},
		{"le", []uint64{2, 1}, []byte{dwLe}, 0, 0},
		{"lt is signed", []uint64{minus(1), 1}, []byte{dwLt}, 1, 1},
		{"lt of 32-bit sign", []uint64{0x80000000, 1}, []byte{dwLt}, 0, 1},
		{"skip", []uint64{1}, []byte{dwSkip, 1, 0, dwNeg, dwNop}, 1, 1},
		{"skip to the end", []uint64{1}, []byte{dwSkip, 1, 0, dwNeg}, 1, 1},
		{"bra taken", []uint64{1, 9}, []byte{dwBra, 1, 0, dwNeg}, 1, 1},
		{"bra not taken", []uint64{1, 0}, []byte{dwBra, 1, 0, dwNeg}, minus(1), 0xffffffff},
		{"register by its place", nil, []byte{dwReg0 + 7}, 0x1000, 0x1000},
		// Count 3 down to 0: the jump goes back over itself and lit1, minus, dup.
		{"loop", []uint64{3}, []byte{dwLit0 + 1, dwMinus, dwDup, dwBra, 0xfa, 0xff}, 0, 0},
		// The rule of the PLT: rsp+8+((rip&15)>=11)<<3, here with r0 = 5 as rip, r7 as rsp.
		{"PLT", nil, []byte{0x77, 8, 0x70, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, 0x1008, 0x1008},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Eval(tt.expr, tt.initial, machine, binary.LittleEndian, 8)
			if err != nil || got != tt.want {
				t.Errorf("8 bytes: got %#x, %v; want %#x", got, err, tt.want)
			}
			got, err = Eval(tt.expr, tt.initial, machine, binary.LittleEndian, 4)
			if err != nil || got != tt.want32 {
				t.Errorf("4 bytes: got %#x, %v; want %#x", got, err, tt.want32)
			}
		})
	}
}

func TestEvalAddress(t *testing.T) {
	for _, tt := range []struct {
		order binary.ByteOrder
		word  int
		want  uint64
	}{
		{binary.LittleEndian, 8, 0x8877665544332211}, {binary.BigEndian, 8, 0x1122334455667788},
		{binary.LittleEndian, 4, 0x44332211}, {binary.BigEndian, 4, 0x11223344},
	} {
		expr := append([]byte{dwAddr}, []byte{0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88}[:tt.word]...)
		got, err := Eval(expr, nil, machine, tt.order, tt.word)
		if err != nil || got != tt.want {
			t.Errorf("%v, %d bytes: got %#x, %v; want %#x", tt.order, tt.word, got, err, tt.want)
		}
	}
}

func TestEvalFails(t *testing.T) {
	for _, tt := range []struct {
		name    string
		initial []uint64
		expr    []byte
		want    string
	}{
		{"empty", nil, nil, "stack empty"},
		{"unknown register", nil, []byte{dwBreg0 + 1, 0}, "evaluate DW_OP 0x71 at +0x0: register 1 is not known"},
		{"unknown bregx", nil, []byte{dwBregx, 99, 0}, "register 99 is not known"},
		{"memory not readable", []uint64{0}, []byte{dwNop, dwDeref}, "at +0x1: unmapped"},
		{"deref_size 0", []uint64{0x1000}, []byte{dwDerefSize, 0}, "size 0"},
		{"deref_size 9", []uint64{0x1000}, []byte{dwDerefSize, 9}, "size 9"},
		{"drop of nothing", nil, []byte{dwDrop}, "stack empty"},
		{"plus of one", []uint64{1}, []byte{dwPlus}, "stack empty"},
		{"pick too deep", []uint64{1}, []byte{dwPick, 1}, "stack empty"},
		{"over of one", []uint64{1}, []byte{dwOver}, "stack empty"},
		{"division by zero", []uint64{1, 0}, []byte{dwDiv}, "division by zero"},
		{"modulo zero", []uint64{1, 0}, []byte{dwMod}, "division by zero"},
		{"operand cut off", nil, []byte{dwConst4u, 1, 2}, "data ends early"},
		{"bra cut off", []uint64{1}, []byte{dwBra, 1}, "data ends early"},
		{"skip before the start", nil, []byte{dwSkip, 0xfc, 0xff}, "leaves the expression"},
		{"skip behind the end", nil, []byte{dwSkip, 1, 0}, "leaves the expression"},
		{"endless loop", nil, []byte{dwSkip, 0xfd, 0xff}, "more than 100 steps"},
		{"full stack", nil, bytes.Repeat([]byte{dwLit0}, maxStack+1), "stack empty or full"},
		{"too many initial values", make([]uint64, maxStack+1), nil, "stack empty or full"},
		{"call_frame_cfa", nil, []byte{0x9c}, "not supported"},
		{"stack_value", []uint64{1}, []byte{0x9f}, "not supported"},
		{"unknown operation", []uint64{1}, []byte{0xff}, "not supported"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Eval(tt.expr, tt.initial, machine, binary.LittleEndian, 8)
			var exprErr *ExprError
			if got != 0 || !errors.As(err, &exprErr) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %#x, %v; want %q", got, err, tt.want)
			}
		})
	}
	_, err := Eval([]byte{dwLit0, dwDeref}, nil, machine, binary.LittleEndian, 8)
	if !errors.Is(err, errUnmapped) {
		t.Errorf("got %v, want it to wrap the error of Read", err)
	}
}
