package unwind

import (
	"debug/elf"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/tests/harness"
)

// TestIsEntry: _start of glibc for arm64, with addresses of 64 bits, has 80 bytes; it ends with a call.
func TestIsEntry(t *testing.T) {
	const base, into = 0x400000, 0x100
	b := harness.Object(elf.EM_AARCH64, base, make([]byte, 0x200), into)
	m, err := module.NewFile(&module.File{Data: b, Close: func() error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	const entry = base + harness.ObjectHeaders + into
	for v, want := range map[module.Vaddr]bool{entry - 1: false, entry: true, entry + 75: true, entry + 80: false} {
		if isEntry(m, v) != want {
			t.Errorf("%#x begins the program: %t", v, !want)
		}
	}
}
