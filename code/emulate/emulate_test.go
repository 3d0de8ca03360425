package emulate

import (
	"bytes"
	"errors"
	"testing"
)

const (
	here   = 0x20000000
	there  = 0x10000000
	length = 4096
)

// drawn is a machine with that code and a page of memory.
func drawn(code, memory []byte) *Machine {
	m := &Machine{ISA: AMD64, PC: here, TP: there + 0x100}
	m.R[RSP], m.R[RBX] = there+0x800, there+0x400
	m.Code = func(pc uint64) []byte {
		if pc-here >= uint64(len(code)) {
			return nil
		}
		return code[pc-here:]
	}
	m.Read = func(b []byte, a uint64) bool {
		if a < there || a+uint64(len(b)) > there+length {
			return false
		}
		copy(b, memory[a-there:])
		return true
	}
	return m
}

// TestEnds: a run ends at what is not known, and says why; what it has written is in the overlay alone.
func TestEnds(t *testing.T) {
	for _, tc := range []struct {
		name string
		code string
		want error
		is   func(error) bool
	}{
		{"a loop", "\xeb\xfe", ErrSteps, nil},
		{"a system call", "\x48\xc7\xc0\x27\x00\x00\x00\x0f\x05", ErrSystem, nil},
		{"a trap", "\x0f\x0b", ErrTrap, nil},
		{"a breakpoint", "\xcc", ErrTrap, nil},
		{"a division by zero", "\x31\xc9\x48\xf7\xf1", ErrDivide, nil},
		{"a word of no memory", "\x31\xc0\x48\x8b\x00", ErrMemory, nil},
		{"a write to no memory", "\x31\xc0\x48\x89\x00", ErrMemory, nil},
		{"a jump to no code", "\x31\xc0\xff\xe0", nil, isUnknown},
		{"AVX", "\xc5\xf8\x77", nil, isFirst},
		{"AVX-512", "\x62\xa1\xfd\x00\xef\xc0", nil, isFirst},
		{"vmovdqu64 (%rbx), %zmm0", "\x62\xf1\xfe\x48\x6f\x03", nil, isFirst},
		{"vmovups %zmm0, (%rbx)", "\x62\xf1\x7c\x48\x11\x03", nil, isFirst},
		{"vmovdqu64 (%rbx), %ymm16", "\x62\xe1\xfe\x28\x6f\x03", nil, isFirst},
		{"kmovd %eax, %k1", "\xc5\xfb\x92\xc8", nil, isFirst},
		{"lock mov", "\xf0\x48\x89\x03", nil, isFirst},
		{"lock add to a register", "\xf0\x48\x01\xc0", nil, isFirst},
		{"lock cmp", "\xf0\x48\x39\x03", nil, isFirst},
		{"lock or of an immediate to rax", "\xf0\x0c\x01", nil, isFirst},
		{"ret of 16 bits", "\x66\xc3", nil, isFirst},
		{"a short jump of 16 bits", "\x66\xeb\x00", nil, isFirst},
		{"floating point", "\xf2\x0f\x58\xc1", nil, isUnknown},
		{"rdtsc", "\x0f\x31", nil, isUnknown},
		{"cpuid", "\x0f\xa2", nil, isUnknown},
		{"segment GS", "\x65\x48\x8b\x04\x25\x00\x00\x00\x00", nil, isUnknown},
		{"the end of the code", "\x90", nil, isUnknown},
	} {
		memory := bytes.Repeat([]byte{7}, length)
		_, err := drawn([]byte(tc.code), memory).Run(1, 1000)
		if tc.want != nil && !errors.Is(err, tc.want) || tc.is != nil && !tc.is(err) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// isFirst reports whether the first instruction is the one that is not known.
func isFirst(err error) bool {
	var e *UnknownError
	return errors.As(err, &e) && e.PC == here
}

func isUnknown(err error) bool {
	var e *UnknownError
	return errors.As(err, &e)
}

// TestOverlay: what was written is read again, where it meets what was not, too; the memory is as it was.
func TestOverlay(t *testing.T) {
	memory := make([]byte, length)
	for i := range memory {
		memory[i] = byte(i)
	}
	before := bytes.Clone(memory)
	m := drawn(nil, memory)
	if !m.Store([]byte{0xaa, 0xbb}, there+3) {
		t.Fatal("it cannot be written")
	}
	if w, ok := m.Word(there); !ok || w != 0x070605bbaa020100 {
		t.Errorf("%#x, %t", w, ok)
	}
	if m.Store([]byte{1}, there-1) || m.Store(make([]byte, 2), ^uint64(0)) {
		t.Error("memory that is not there was written to")
	}
	if m.Forget(); m.fault != nil {
		t.Error(m.fault)
	}
	if w, _ := m.Word(there); w != 0x0706050403020100 || !bytes.Equal(memory, before) {
		t.Errorf("%#x behind Forget, or the memory has changed", w)
	}
}

// TestRoom: what is written is bounded.
func TestRoom(t *testing.T) {
	m := &Machine{Read: func([]byte, uint64) bool { return true }, Writable: func(uint64, int) bool { return true }}
	n := 0
	for a := uint64(0); m.Store([]byte{1}, a); a += pageSize {
		n++
	}
	if n != maxPages || !errors.Is(m.fault, ErrRoom) {
		t.Errorf("%d pages, %v", n, m.fault)
	}
}

// TestCalls: who hears of calls knows the way to where the machine is, and may do the work of a function.
func TestCalls(t *testing.T) {
	// call +5 (a function that returns); mov (there), %rax; call *(there); ret
	code := []byte("\xe8\x0b\x00\x00\x00\xff\x14\x25\x00\x00\x00\x10\xc3\x90\x90\x90\xc3")
	memory := make([]byte, length)
	memory[0], memory[7] = 0x99, 0 // where nothing is
	m := drawn(code, memory)
	var slots, returns []uint64
	m.Call = func(slot uint64) bool {
		slots = append(slots, slot)
		return slot == there
	}
	m.Return = func() { returns = append(returns, m.PC) }
	m.SetWord(m.R[RSP], 0x77)
	if _, err := m.Run(0x77, 100); err != nil {
		t.Fatal(err)
	}
	if len(slots) != 2 || slots[0] != 0 || slots[1] != there || len(returns) != 3 || m.R[RSP] != there+0x808 {
		t.Errorf("calls %x, returns %x, SP %#x", slots, returns, m.R[RSP])
	}
}

// TestDecoded: machines that share what was decoded do not ask for code twice, and do the same as without.
func TestDecoded(t *testing.T) {
	// mov $3, %ecx; dec %ecx; jnz -4; ret
	code := []byte("\xb9\x03\x00\x00\x00\xff\xc9\x75\xfc\xc3")
	var shared Decoded
	asked := 0
	for range 2 {
		m := drawn(code, make([]byte, length))
		of := m.Code
		m.Code = func(pc uint64) []byte { asked++; return of(pc) }
		m.Decoded = &shared
		m.SetWord(m.R[RSP], 0x77)
		if n, err := m.Run(0x77, 100); n != 8 || err != nil {
			t.Errorf("%d steps, %v", n, err)
		}
	}
	if instructions := 4; asked != instructions {
		t.Errorf("code was asked for %d times, want %d", asked, instructions)
	}
}

// TestTouched: the memory that an instruction is about, and whether it is read and written as one.
func TestTouched(t *testing.T) {
	for _, tc := range []struct {
		code   string
		at     uint64
		atomic bool
	}{
		{"\x48\x8b\x43\x08", there + 0x408, false},                                     // mov 8(%rbx), %rax
		{"\xf0\x48\x0f\xb1\x4b\x10", there + 0x410, true},                              // lock cmpxchg
		{"\xf0\x48\x0f\xc1\x0b", there + 0x400, true},                                  // lock xadd
		{"\x48\x87\x0b", there + 0x400, true},                                          // xchg
		{"\x48\x01\x0b", there + 0x400, false},                                         // add
		{"\x64\x48\x8b\x04\x25\x08\x00\x00\x00", there + 0x108, false},                 // mov %fs:8, %rax
		{"\x48\x8d\x43\x08", 0, false}, {"\x50", 0, false}, {"\x48\x87\xc1", 0, false}, // lea, push, xchg
	} {
		m := drawn([]byte(tc.code), make([]byte, length))
		m.Touched, m.Atomic = 1, true
		if err := m.Step(); err != nil || m.Touched != tc.at || m.Atomic != tc.atomic {
			t.Errorf("% x: %#x, atomic %t, %v, want %#x, %t", tc.code, m.Touched, m.Atomic, err, tc.at, tc.atomic)
		}
	}
}

// FuzzRun runs any bytes: no panic, within its steps, and nothing is read but by Read, nothing written but the overlay.
func FuzzRun(f *testing.F) {
	for _, seed := range []string{
		"\x55\x48\x89\xe5\xe8\x00\x00\x00\x00\x5d\xc3",
		"\xf0\x48\x0f\xb1\x0b\x75\xf9\xf3\x48\xab\xc3",
		"\x66\x0f\x6f\x03\x66\x0f\x74\xc1\x66\x0f\xd7\xc0\x0f\xbc\xc0\xff\xe0",
		"\x48\xf7\x7b\x08\x0f\xa3\x0b\x48\x0f\xa4\xc8\x07\xc8\x00\x00\x00",
	} {
		f.Add([]byte(seed), uint64(1), uint64(there))
	}
	f.Fuzz(func(t *testing.T, code []byte, a, c uint64) {
		memory := bytes.Repeat([]byte{1, 0, 0, 0x10, 0, 0, 0, 0}, length/8)
		before, program := bytes.Clone(memory), bytes.Clone(code)
		m := drawn(code, memory)
		m.R[RAX], m.R[RCX] = a, c
		const steps = 500
		if n, err := m.Run(1, steps); n > steps || err == nil && m.PC != 1 {
			t.Errorf("%d steps, %v", n, err)
		}
		if !bytes.Equal(memory, before) || !bytes.Equal(code, program) {
			t.Error("the memory has changed")
		}
	})
}
