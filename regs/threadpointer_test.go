package regs

import "testing"

// TestThreadPointer: which bytes of which note have it, and that a short note has none.
func TestThreadPointer(t *testing.T) {
	for a, at := range map[*Arch]int{AMD64: 21 * 8, RISCV64: 4 * 8, LOONG64: 2 * 8, PPC64LE: 13 * 8, S390X: 18 * 8} {
		note := make([]byte, a.NoteSize)
		a.Order.PutUint64(note[at:], 0x7f0012345678)
		if tp, ok := a.ThreadPointer(note, nil); !ok || tp != 0x7f0012345678 {
			t.Errorf("%s: %#x, %v", a.Name, uint64(tp), ok)
		}
		if tp, ok := a.ThreadPointer(note[:at+4], nil); ok {
			t.Errorf("%s, a short note: %#x", a.Name, uint64(tp))
		}
		if a.TLSNote() != 0 {
			t.Errorf("%s has a note of its own, %#x", a.Name, a.TLSNote())
		}
	}
	tls := make([]byte, 48)
	I386.Order.PutUint32(tls[4:], 0xf7d00740) // base_addr of struct user_desc
	tp, ok := I386.ThreadPointer(make([]byte, I386.NoteSize), tls)
	if !ok || tp != 0xf7d00740 || I386.TLSNote() != 0x200 {
		t.Errorf("386: %#x, %v", uint64(tp), ok)
	}
	ARM64.Order.PutUint64(tls, 0xffff12345678)
	if tp, ok := ARM64.ThreadPointer(nil, tls[:8]); !ok || tp != 0xffff12345678 || ARM64.TLSNote() != 0x401 {
		t.Errorf("arm64: %#x, %v", uint64(tp), ok)
	}
	for _, a := range []*Arch{I386, ARM64, ARM} {
		if tp, ok := a.ThreadPointer(make([]byte, 512), nil); ok {
			t.Errorf("%s without its note: %#x", a.Name, uint64(tp))
		}
	}
}
