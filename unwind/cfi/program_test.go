package cfi

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Rules of the rows below: the CIE says CFA = r7+8, RA (r16) at CFA-8, r3 at CFA-16, r5 the
// same value.
var (
	r7plus8  = Rule{Kind: Register, Reg: 7, N: 8}
	cieRules = []RegRule{{3, Rule{Kind: Offset, N: -16}}, {5, Rule{Kind: SameValue}}}
	raRule   = Rule{Kind: Offset, N: -8}
)

// with returns the rules of the CIE with one more, or another, for reg.
func with(reg uint64, r Rule) []RegRule {
	regs := slices.DeleteFunc(slices.Clone(cieRules), func(x RegRule) bool { return x.Reg == reg })
	regs = append(regs, RegRule{reg, r})
	slices.SortFunc(regs, func(a, b RegRule) int { return int(a.Reg) - int(b.Reg) })
	return regs
}

// rowOf runs program in an FDE of [0x1000, 0x2000) and returns the row at pc.
func rowOf(program []byte, pc uint64, aarch64 bool) (*Row, error) {
	s := section{addr: 0x400000}
	cie := s.cie(1, "", nil, opDefCFA, 7, 8, opOffset|16, 1, opOffset|3, 2, opSameValue, 5)
	s.fde(cie, 0x1000, 0x1000, program...)
	cfg := s.config()
	cfg.AArch64 = aarch64
	return New(cfg).Row(pc)
}

// TestOffsetBeforeRegister: a program that is on its own, as that of wasmtime_fiber_start, sets an offset before it
// says what the CFA rests on.
func TestOffsetBeforeRegister(t *testing.T) {
	for _, tt := range []struct {
		name    string
		program []byte
		want    Rule
	}{
		{"then an expression", []byte{opDefCFAOffset, 0, opDefCFAExpression, 2, 0x57, 0x06},
			Rule{Kind: ValExpression, Expr: []byte{0x57, 0x06}}},
		{"then a register", []byte{opDefCFAOffset, 9, opDefCFA, 7, 16}, Rule{Kind: Register, Reg: 7, N: 16}},
	} {
		s := section{addr: 0x400000}
		cie := s.cie(1, "", nil)
		s.fde(cie, 0x1000, 0x1000, append(tt.program, opOffset|16, 1)...)
		row, err := New(s.config()).Row(0x1000)
		if err != nil || !reflect.DeepEqual(row.CFA, tt.want) {
			t.Errorf("%s: got %+v, %v; want %+v", tt.name, row, err, tt.want)
		}
	}
}

func TestInstructions(t *testing.T) {
	expr := []byte{0x30, 0x31, 0x22}
	block := append([]byte{3}, expr...)
	for _, tt := range []struct {
		name    string
		program []byte
		cfa     Rule
		regs    []RegRule
	}{
		{"nop", []byte{opNop}, r7plus8, cieRules},
		{"offset", []byte{opOffset | 6, 4}, r7plus8, with(6, Rule{Kind: Offset, N: -32})},
		{"offset again", []byte{opOffset | 3, 4}, r7plus8, with(3, Rule{Kind: Offset, N: -32})},
		{"offset_extended", []byte{opOffsetExtended, 6, 4}, r7plus8, with(6, Rule{Kind: Offset, N: -32})},
		{"offset_extended_sf", []byte{opOffsetExtendedSF, 6, 0x7c}, r7plus8, with(6, Rule{Kind: Offset, N: 32})},
		{"GNU_negative_offset_extended", []byte{opGNUNegativeOffsetExtended, 6, 4}, r7plus8,
			with(6, Rule{Kind: Offset, N: 32})},
		{"val_offset", []byte{opValOffset, 6, 4}, r7plus8, with(6, Rule{Kind: ValOffset, N: -32})},
		{"val_offset_sf", []byte{opValOffsetSF, 6, 0x7c}, r7plus8, with(6, Rule{Kind: ValOffset, N: 32})},
		{"register", []byte{opRegister, 6, 2}, r7plus8, with(6, Rule{Kind: Register, Reg: 2})},
		{"undefined", []byte{opUndefined, 6}, r7plus8, with(6, Rule{Kind: Undefined})},
		{"same_value", []byte{opSameValue, 6}, r7plus8, with(6, Rule{Kind: SameValue})},
		{"expression", slices.Concat([]byte{opExpression, 6}, block), r7plus8,
			with(6, Rule{Kind: Expression, Expr: expr})},
		{"val_expression", slices.Concat([]byte{opValExpression, 6}, block), r7plus8,
			with(6, Rule{Kind: ValExpression, Expr: expr})},
		{"restore goes back to the CIE", []byte{opUndefined, 3, opRestore | 3}, r7plus8, cieRules},
		{"restore of same_value", []byte{opUndefined, 5, opRestore | 5}, r7plus8, cieRules},
		{"restore of what the CIE has not", []byte{opOffset | 6, 4, opRestore | 6}, r7plus8, cieRules},
		{"restore_extended", []byte{opOffset | 6, 4, opUndefined, 3, opRestoreExtended, 6, opRestoreExtended, 3},
			r7plus8, cieRules},
		{"def_cfa", []byte{opDefCFA, 6, 16}, Rule{Kind: Register, Reg: 6, N: 16}, cieRules},
		{"def_cfa_sf", []byte{opDefCFASF, 6, 0x7e}, Rule{Kind: Register, Reg: 6, N: 16}, cieRules},
		{"def_cfa_register", []byte{opDefCFARegister, 6}, Rule{Kind: Register, Reg: 6, N: 8}, cieRules},
		{"def_cfa_offset", []byte{opDefCFAOffset, 0x90, 1}, Rule{Kind: Register, Reg: 7, N: 144}, cieRules},
		{"def_cfa_offset_sf", []byte{opDefCFAOffsetSF, 0x7e}, Rule{Kind: Register, Reg: 7, N: 16}, cieRules},
		{"def_cfa_expression", slices.Concat([]byte{opDefCFAExpression}, block), Rule{Kind: ValExpression, Expr: expr},
			cieRules},
		{"remember and restore", []byte{opRememberState, opDefCFA, 6, 16, opUndefined, 3, opOffset | 6, 4,
			opRestoreState}, r7plus8, cieRules},
		{"remember nested", []byte{opRememberState, opDefCFAOffset, 16, opRememberState, opDefCFAOffset, 24,
			opRestoreState},
			Rule{Kind: Register, Reg: 7, N: 16}, cieRules},
		{"GNU_args_size", []byte{opGNUArgsSize, 0x90, 1}, r7plus8, cieRules},
		{"registers in any order", []byte{opOffset | 12, 4, opOffset, 5, opRestore | 12}, r7plus8,
			with(0, Rule{Kind: Offset, N: -40})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			row, err := rowOf(tt.program, 0x1234, false)
			if err != nil {
				t.Fatal(err)
			}
			want := &Row{Start: 0x1000, End: 0x2000, CFA: tt.cfa, RA: raRule, RAReg: 16, Regs: tt.regs}
			if !reflect.DeepEqual(row, want) {
				t.Errorf("got  %+v\nwant %+v", row, want)
			}
		})
	}
}

func TestReturnAddressRule(t *testing.T) {
	for _, tt := range []struct {
		name    string
		program []byte
		want    Rule
	}{
		{"undefined", []byte{opUndefined, 16}, Rule{Kind: Undefined}},
		{"register", []byte{opRegister, 16, 1}, Rule{Kind: Register, Reg: 1}},
		{"same value", []byte{opSameValue, 16}, Rule{Kind: SameValue}},
		{"restored", []byte{opUndefined, 16, opRestore | 16}, raRule},
	} {
		row, err := rowOf(tt.program, 0x1000, false)
		if err != nil || row.RA.Kind != tt.want.Kind || row.RA.Reg != tt.want.Reg || row.RA.N != tt.want.N {
			t.Errorf("%s: got %+v, %v; want %+v", tt.name, row, err, tt.want)
		}
		if row != nil && row.Rule(16).Kind != tt.want.Kind {
			t.Errorf("%s: Rule(16) = %+v, want %+v", tt.name, row.Rule(16), tt.want)
		}
	}
}

// TestAdvances has a row for each way to move: each leaves CFA offset 16 behind it.
func TestAdvances(t *testing.T) {
	for _, tt := range []struct {
		name string
		move []byte
		to   uint64
	}{
		{"advance_loc", []byte{opAdvanceLoc | 0x3f}, 0x103f},
		{"advance_loc1", []byte{opAdvanceLoc1, 0xff}, 0x10ff},
		{"advance_loc2", []byte{opAdvanceLoc2, 0x34, 0x02}, 0x1234},
		{"advance_loc4", []byte{opAdvanceLoc4, 0x78, 0x06, 0, 0}, 0x1678},
		{"MIPS_advance_loc8", []byte{opMIPSAdvanceLoc8, 0x78, 0x06, 0, 0, 0, 0, 0, 0}, 0x1678},
		{"set_loc", []byte{opSetLoc, 0x78, 0x16, 0, 0, 0, 0, 0, 0}, 0x1678},
	} {
		t.Run(tt.name, func(t *testing.T) {
			program := append(slices.Clone(tt.move), opDefCFAOffset, 16)
			for _, at := range []struct {
				pc, start, end uint64
				offset         int64
			}{{0x1000, 0x1000, tt.to, 8}, {tt.to - 1, 0x1000, tt.to, 8}, {tt.to, tt.to, 0x2000, 16},
				{0x1fff, tt.to, 0x2000, 16}} {
				row, err := rowOf(program, at.pc, false)
				if err != nil {
					t.Fatal(err)
				}
				if row.Start != at.start || row.End != at.end || row.CFA.N != at.offset {
					t.Errorf("%#x: got [%#x,%#x) CFA+%d, want [%#x,%#x) CFA+%d",
						at.pc, row.Start, row.End, row.CFA.N, at.start, at.end, at.offset)
				}
			}
		})
	}
	if row, err := rowOf([]byte{opAdvanceLoc4, 0, 0, 1, 0}, 0x1fff, false); err != nil || row.End != 0x2000 {
		t.Errorf("advance beyond the FDE: got %+v, %v; want End 0x2000", row, err)
	}
}

func TestSignedReturnAddress(t *testing.T) {
	program := []byte{
		opAdvanceLoc | 4, opAArch64NegateRAState, opRememberState,
		opAdvanceLoc | 4, opAArch64NegateRAState,
		opAdvanceLoc | 4, opRestoreState,
		opAdvanceLoc | 4, opAArch64NegateRAStateWithPC,
	}
	for pc, want := range map[uint64]bool{0x1000: false, 0x1004: true, 0x1008: false, 0x100c: true, 0x1010: false} {
		row, err := rowOf(program, pc, true)
		if err != nil || row.PACSigned != want {
			t.Errorf("%#x: got %+v, %v; want PACSigned %t", pc, row, err, want)
		}
	}
	if row, err := rowOf(program, 0x1004, false); err == nil {
		t.Errorf("opcode 0x2d outside of arm64: got %+v, want an error", row)
	}
}

func TestBadInstructions(t *testing.T) {
	many := bytes.Repeat([]byte{opRememberState}, maxRemembered+1)
	var registers []byte
	for n := range uint64(maxRegs + 1) {
		registers = append(uleb(append(registers, opUndefined), 100+n), opNop)
	}
	for _, tt := range []struct {
		name    string
		program []byte
		want    string
	}{
		{"unknown opcode", []byte{0x3e}, "instruction 0x3e at +0x2e: opcode not supported"},
		{"operand cut off", []byte{opDefCFAOffset}, "data ends early"},
		{"expression longer than the FDE", []byte{opExpression, 3, 0x7f}, "data ends early"},
		{"restore_state first", []byte{opRestoreState}, "no state was remembered"},
		{"remembered too often", many, "more than 32 states"},
		{"set_loc backwards", slices.Concat([]byte{opSetLoc}, u64(0xfff)), "goes back from 0x1000 to 0xfff"},
		{"advance wraps", slices.Concat([]byte{opMIPSAdvanceLoc8}, u64(1<<64-1)), "exceeds the address space"},
		{"register of an expression CFA", []byte{opDefCFAExpression, 1, 0x30, opDefCFARegister, 6},
			"not a register and offset"},
		{"offset of an expression CFA", []byte{opDefCFAExpression, 1, 0x30, opDefCFAOffset, 8},
			"not a register and offset"},
		{"bogus CFA as Go writes it", append([]byte{opDefCFAOffset}, uleb(nil, 1073741840)...),
			"bogus CFA offset 1073741840"},
		{"bogus register offset", append([]byte{opOffset | 3}, uleb(nil, 1<<30)...),
			"bogus offset -8589934592 of register 3"},
		{"offset of 64 bits", append([]byte{opDefCFAOffset}, uleb(nil, 1<<63)...), "out of range"},
		{"product of 64 bits", append([]byte{opOffsetExtendedSF, 3}, sleb(nil, 1<<61)...), "out of range"},
		{"huge register", append([]byte{opUndefined}, uleb(nil, 1<<40)...), "register number 0x10000000000"},
		{"too many registers", registers, "more than 256 registers"},
		{"LEB128 of 70 bits", []byte{opDefCFAOffset, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
			"exceeds 64 bits"},
		{"LEB128 without end", append([]byte{opDefCFAOffset}, bytes.Repeat([]byte{0x80}, 100)...), "exceeds 64 bits"},
		{"too much work", bytes.Repeat([]byte{opNop}, maxWork+1), fmt.Sprintf("more than %d instructions", maxWork)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			row, err := rowOf(tt.program, 0x1fff, false)
			if err == nil || row != nil {
				t.Fatalf("got %+v, want an error", row)
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "parse FDE at .eh_frame+0x") {
				t.Errorf("got %q, want %q", err, tt.want)
			}
		})
	}
}
