package regs

// Where frames hold vectors whose length the processor decides, their tables rest on that length: VG of arm64, in units
// of 8 bytes. No instruction's register holds it, and NT_PRSTATUS has it not.
// Sources: DWARF for the Arm 64-bit Architecture, 4.1; linux/Documentation/arch/arm64/sve.rst, section 8.

// maxVectors bounds the length of a vector: SVE_VL_MAX of linux/arch/arm64/include/uapi/asm/sve_context.h, bytes.
const maxVectors = 512 * 16

// VectorHeader is how many bytes of a thread's VectorNote are enough for VectorLength.
const VectorHeader = 16

// VectorNote is the type of the note whose header has the length of the vectors of a thread, NT_ARM_SVE; 0 where no
// frame rests on it.
func (a *Arch) VectorNote() uint32 {
	if a == ARM64 {
		return 0x405
	}
	return 0
}

// VectorLength reads the length of vectors, in bytes, out of the beginning of a VectorNote (struct user_sve_header of
// linux/arch/arm64/include/uapi/asm/ptrace.h: two words of 32 bits, then the length as 16); 0 where it is too short.
func (a *Arch) VectorLength(note []byte) uint64 {
	if a.VectorNote() == 0 || len(note) < VectorHeader {
		return 0
	}
	return uint64(a.Order.Uint16(note[8:]))
}

// SetVectors makes the length of vectors known, in bytes. What is no length leaves it as it was.
func (r *Registers) SetVectors(n uint64) {
	if r.Arch.VectorNote() != 0 && n != 0 && n%16 == 0 && n <= maxVectors {
		r.Set(ARM64VG, n/8)
	}
}

// Vectors is the length of vectors in bytes, 0 where it is not known or matters to no frame.
func (r *Registers) Vectors() uint64 {
	if r.Arch.VectorNote() == 0 {
		return 0
	}
	v, _ := r.Get(ARM64VG)
	return v * 8
}
