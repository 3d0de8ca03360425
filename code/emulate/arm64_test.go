package emulate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
)

// drawnARM64 is a machine with those instructions and a page of memory. x0 and x1 lead into it.
func drawnARM64(memory []byte, code ...uint32) *Machine {
	var b []byte
	for _, in := range code {
		b = binary.LittleEndian.AppendUint32(b, in)
	}
	m := drawn(b, memory)
	m.ISA, m.R = ARM64, [32]uint64{0: there + 0x10, 1: there + 0x20, stackPointer: there + 0x800, 30: 0x77}
	return m
}

// TestEndsARM64: a run ends at what is not known, and says why.
func TestEndsARM64(t *testing.T) {
	for _, tc := range []struct {
		name string
		code uint32
		want error
		is   func(error) bool
	}{
		{"b .", 0x14000000, ErrSteps, nil},
		{"svc", 0xd4000001, ErrSystem, nil},
		{"brk", 0xd4200020, ErrTrap, nil},
		{"udf", 0, ErrTrap, nil},
		{"ldr x0, [x2]", 0xf9400040, ErrMemory, nil},
		{"str x0, [x2]", 0xf9000040, ErrMemory, nil},
		{"ldar x0, [x1, not aligned]", 0xc8dffc20, ErrMemory, nil},
		{"br x2", 0xd61f0040, nil, isUnknown},
		{"fadd d0, d1, d2", 0x1e622820, nil, isFirst},
		{"scvtf d0, x1", 0x9e620020, nil, isFirst},
		{"ptrue p0.b (SVE)", 0x2518e3e0, nil, isFirst},
		{"mrs x0, cntvct_el0", 0xd53be040, nil, isFirst},
		{"pacia x0, x1", 0xdac10020, nil, isFirst},
		{"ldraa x0, [x1]", 0xf8200420, nil, isFirst},
		{"eret", 0xd69f03e0, nil, isFirst},
	} {
		m := drawnARM64(bytes.Repeat([]byte{7}, length), tc.code)
		m.R[1]++
		_, err := m.Run(1, 1000)
		if tc.want != nil && !errors.Is(err, tc.want) || tc.is != nil && !tc.is(err) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestCallsARM64: calls and returns are heard of, with the word that the address of a function came from; and so is a
// jump out of a procedure linkage table.
func TestCallsARM64(t *testing.T) {
	memory := make([]byte, length)
	binary.LittleEndian.PutUint64(memory[0x20:], 0x99) // where nothing is
	m := drawnARM64(memory,
		0xa9bf7bfd, // stp x29, x30, [sp, #-16]!
		0x94000008, // bl to what returns
		0xf9400029, // ldr x9, [x1]
		0xd63f0120, // blr x9
		0x94000006, // bl to a stub
		0xd63f0060, // blr x3, which was not read
		0xa8c17bfd, // ldp x29, x30, [sp], #16
		0xd65f03c0, // ret
		0xd503201f, // nop
		0xd65f03c0, // ret
		0xf9400031, // ldr x17, [x1]
		0xd61f0220, // br x17
	)
	m.R[3] = here + 4*9
	var slots, returns, ras, cfas []uint64
	m.Call = func(slot uint64) bool {
		slots, ras, cfas = append(slots, slot), append(ras, m.ReturnAddress()), append(cfas, m.CFA())
		return slot == there+0x20
	}
	m.Return = func() { returns = append(returns, m.PC) }
	if _, err := m.Run(0x77, 100); err != nil {
		t.Fatal(err)
	}
	want := []uint64{0, there + 0x20, 0, there + 0x20, 0}
	if len(slots) != len(want) {
		t.Fatalf("calls %x, want %x", slots, want)
	}
	for i, back := range []uint64{2, 4, 5, 5, 6} {
		if slots[i] != want[i] || ras[i] != here+4*back || cfas[i] != there+0x7f0 {
			t.Errorf("call %d by %#x returns to %#x, CFA %#x", i, slots[i], ras[i], cfas[i])
		}
	}
	if len(returns) != 5 || m.SP() != there+0x800 {
		t.Errorf("returns %x, SP %#x", returns, m.SP())
	}
}

// TestBegin: what a run before has read is not where a function of the next one came from, and a store that it began
// is not made.
func TestBegin(t *testing.T) {
	memory := make([]byte, length)
	binary.LittleEndian.PutUint64(memory[0x20:], here+12)
	m := drawnARM64(memory,
		0xf9400029, // ldr x9, [x1]
		0xc85ffc08, // ldaxr x8, [x0]
		0xd65f03c0, // ret
		0xc809fc08, // stlxr w9, x8, [x0]
		0xd65f03c0, // ret
	)
	if _, err := m.Run(0x77, 10); err != nil || m.slotOf(9) == 0 || !m.reserved {
		t.Fatalf("slot %#x, reserved %t, %v", m.slotOf(9), m.reserved, err)
	}
	m.Forget()
	m.Begin(here+12, there+0x800, 0x77, there+0x10)
	m.R[9] = here + 12
	if slot := m.slotOf(9); slot != 0 {
		t.Errorf("x9 is taken to be from %#x", slot)
	}
	if _, err := m.Run(0x77, 10); err != nil || m.R[9] != 1 {
		t.Errorf("status %d, %v, want 1", m.R[9], err)
	}
}

// TestExclusive: what was read exclusively is written if nothing came between, and the run goes on.
func TestExclusive(t *testing.T) {
	for _, tc := range []struct {
		name string
		code []uint32
		want uint64 // of the word
	}{
		{"a loop", []uint32{0xc85ffc08, 0x91000508, 0xc809fc08, 0x35ffffa9, 0xd65f03c0}, 6}, // ldaxr, add, stlxr, cbnz
		{"without a read", []uint32{0xc809fc08, 0xd65f03c0}, 5},
		{"behind clrex", []uint32{0xc85ffc08, 0xd5033f5f, 0xc809fc08, 0xd65f03c0}, 5},
		{"a barrier between", []uint32{0xc85ffc08, 0xd5033bbf, 0x91000508, 0xc809fc08, 0xd65f03c0}, 6},
		{"ldadd", []uint32{0xd2800028, 0xf8e80009, 0xd65f03c0}, 6},
		{"a pair", []uint32{0xc87fa808, 0x91000508, 0xc829a808, 0xd65f03c0}, 6}, // ldaxp, add, stlxp
	} {
		memory := make([]byte, length)
		memory[0x10], memory[0x18] = 5, 9
		m := drawnARM64(memory, tc.code...)
		atomic := 0
		for m.PC != 0x77 {
			if err := m.Step(); err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
			if m.Atomic && m.Touched == there+0x10 {
				atomic++
			}
		}
		got, _ := m.Word(there + 0x10)
		beside, _ := m.Word(there + 0x18)
		if got != tc.want || beside != 9 || atomic == 0 {
			t.Errorf("%s: %d and %d, %d atomic accesses", tc.name, got, beside, atomic)
		}
	}
}

// TestAnyARM64: any instructions end within their steps, and change nothing but the overlay.
func TestAnyARM64(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	memory := bytes.Repeat([]byte{0x10, 0, 0, 0x10, 0, 0, 0, 0}, length/8)
	before := bytes.Clone(memory)
	for range 100_000 {
		m := drawnARM64(memory, r.Uint32(), r.Uint32(), r.Uint32(), 0xd65f03c0)
		const steps = 50
		if n, err := m.Run(0x77, steps); n > steps || err == nil && m.PC != 0x77 {
			t.Fatalf("%d steps, %v", n, err)
		}
	}
	if !bytes.Equal(memory, before) {
		t.Error("the memory has changed")
	}
}
