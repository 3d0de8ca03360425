package arm64

import "encoding/binary"

// A C library makes a thread by a system call that returns twice, in the new thread with 0 and on an empty stack.
// Sources: sysdeps/unix/sysv/linux/aarch64/clone.S and clone3.S of glibc, src/thread/aarch64/clone.s of musl.
var (
	begins = [][]masked{
		{cloneNumber, call, {0xffffffff, 0xf100001f}, {0xff00001f, 0x54000000}, {0xff00001f, 0x5400000b}, ret},
		{clone3Number, call, {0xffffffff, 0xf100001f}, {0xff00001f, 0x54000000}, {0xff00001f, 0x5400000b}, ret},
		{cloneNumber, call, {0xffffffff, 0xb4000040}, ret}, // cbz x0: behind that return
	}
	// started is what a thread of musl runs, which no table covers, from where it has its function: ldp x1, x0, [sp],
	// #16; blr x1; mov x8, #93.
	started = []masked{{0xffffffff, 0xa8c103e1}, {0xffffffff, 0xd63f0020}, {0xffffffff, 0xd2800ba8}}
)

var (
	cloneNumber  = masked{0xffffffff, 0xd2801b88} // mov x8, #220
	clone3Number = masked{0xffffffff, 0xd2803668} // mov x8, #435
	call         = masked{0xffffffff, 0xd4000001} // svc #0
	ret          = masked{0xffffffff, Ret}
	endsRecords  = masked{0xffffffff, 0xd280001d} // mov x29, #0: newer ones do so first
)

// masked is an instruction whose bits of mask are those of code.
type masked struct{ mask, code Inst }

// BeginsThread reports whether code[at] is where a C library looks whether it goes on in a thread that it has just
// made: at is the place of the exact PC in bytes read around it (12 before and 16 from it on are enough). The new
// thread has 0 in x0 there, and no caller.
func BeginsThread(code []byte, at int) bool {
	for _, b := range begins {
		for step := 2; step < len(b)-1 && step < 4; step++ {
			if matches(code, at-step*size, b) {
				return true
			}
		}
	}
	return false
}

// RunsThread reports whether code[at] calls the function of a thread, or is where that returns to, and nothing else
// comes here: it has no caller. Of at and code it is as [BeginsThread] has it.
func RunsThread(code []byte, at int) bool {
	for step := range started {
		if matches(code, at-step*size, started) {
			return true
		}
	}
	return matches(code, at, []masked{endsRecords}) && matches(code, at+size, started)
}

// matches reports whether the instructions at start are those of want.
func matches(code []byte, start int, want []masked) bool {
	if start < 0 || len(code)-start < len(want)*size {
		return false
	}
	for i, w := range want {
		if !Inst(binary.LittleEndian.Uint32(code[start+i*size:])).Is(w.mask, w.code) {
			return false
		}
	}
	return true
}
