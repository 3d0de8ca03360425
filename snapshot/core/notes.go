package core

import (
	"encoding/binary"
	"fmt"

	"github.com/fpstack/fpstack/work"
)

// Types of the notes that are read, by the name of who defines them.
// Source: linux/include/uapi/linux/elf.h.
const (
	ntPRStatus   = 1          // NT_PRSTATUS
	ntPRPSInfo   = 3          // NT_PRPSINFO
	ntAuxv       = 6          // NT_AUXV
	ntFile       = 0x46494c45 // NT_FILE
	ntSigInfo    = 0x53494749 // NT_SIGINFO
	ntARMPACMask = 0x406      // NT_ARM_PAC_MASK
)

const (
	// maxNotes bounds the notes of a core: some ten for each of maxThreads.
	maxNotes = 1 << 22
	// noteCost is the steps that one note takes besides its bytes: a read.
	noteCost = 1000
	// maxName bounds the name of a note that is looked at, bytes.
	maxName = 16
)

// note is the header of one note. Its bytes are read when they are wanted: those of floating-point registers are most
// of all, and nobody wants them.
type note struct {
	owner string
	typ   uint32
	desc  span
}

// eachNote calls use with every note in s, in their order, until that fails.
// Source: gABI chapter 5, Note Section; the kernel pads to 4 bytes in both classes (fs/binfmt_elf.c, writenote).
func eachNote(in *input, order binary.ByteOrder, s span, b *work.Budget, use func(*note) error) error {
	pad := func(n uint64) uint64 { return (n + 3) &^ 3 }
	at, end := s.off, s.off+s.size
	if end < at {
		return &FormatError{at, "notes reach behind the end of all files"}
	}
	for range maxNotes {
		if end-at < 12 {
			return nil
		}
		if !b.Spend(noteCost) {
			return b.Refusal()
		}
		var head [12 + maxName]byte
		n, err := in.read(head[:min(uint64(len(head)), end-at)], at)
		if n < 12 {
			return fmt.Errorf("read note at %#x: %w", at, err)
		}
		name, desc := uint64(order.Uint32(head[:])), uint64(order.Uint32(head[4:]))
		from := at + 12 + pad(name)
		if from > end || desc > end-from {
			return &FormatError{at, fmt.Sprintf("a note of %d and %d bytes reaches out of its segment", name, desc)}
		}
		x := note{typ: order.Uint32(head[8:]), desc: span{from, desc}}
		if name > 0 && name <= uint64(n-12) {
			x.owner = string(head[12 : 12+name-1])
		}
		if err := use(&x); err != nil {
			return err
		}
		at = min(from+pad(desc), end)
	}
	return &FormatError{s.off, fmt.Sprintf("more than %d notes", maxNotes)}
}

// bytes reads what a note says, at most limit bytes of it. With an error it returns what there is.
func (x *note) bytes(in *input, limit uint64) ([]byte, error) {
	b := make([]byte, min(x.desc.size, limit))
	n, err := in.read(b, x.desc.off)
	return b[:n], err
}
