package regs

import "testing"

// TestVectors has what a kernel gave for a thread of a processor with vectors of 64 bytes (NT_ARM_SVE of 16 bytes), and
// what is no length.
func TestVectors(t *testing.T) {
	// size, max_size, vl, max_vl, flags, reserved
	header := []byte{0x10, 2, 0, 0, 0x40, 8, 0, 0, 64, 0, 0, 1, 0, 0, 0, 0}
	if got := ARM64.VectorLength(header); got != 64 {
		t.Errorf("length %d, want 64", got)
	}
	if got := ARM64.VectorLength(header[:15]) + AMD64.VectorLength(header); got != 0 {
		t.Errorf("length %d of what is no note of arm64, want 0", got)
	}
	for _, row := range []struct {
		arch    *Arch
		n, want uint64
	}{{ARM64, 64, 64}, {ARM64, 16, 16}, {ARM64, 8192, 8192}, {ARM64, 0, 0}, {ARM64, 8, 0}, {ARM64, 8208, 0},
		{ARM64, 65536, 0}, {AMD64, 64, 0}} {
		r := New(row.arch)
		r.SetVectors(row.n)
		if got := r.Vectors(); got != row.want {
			t.Errorf("%s, %d bytes: got %d, want %d", row.arch.Name, row.n, got, row.want)
		}
	}
	r := New(ARM64)
	r.SetVectors(32)
	if v, ok := r.Get(ARM64VG); v != 4 || !ok {
		t.Errorf("VG is %d, %v for 32 bytes, want 4", v, ok)
	}
}
