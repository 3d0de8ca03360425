package x86

import "bytes"

// begin is how a C library goes on behind the call that makes a thread, in both of them.
type begin struct {
	call, rest string // a byte comes between them, which says how far a jump leads
	steps      []int  // offsets of the instructions at which the new thread is, where no table says so
	returns    int    // where what it calls returns to, if no table covers that; 0 for none
}

// Sources: sysdeps/unix/sysv/linux/x86_64/clone.S and clone3.S of glibc, src/thread/x86_64/clone.s of musl.
var begins = []begin{
	// syscall; test rax, rax; jl; je; ret; xor ebp, ebp
	{"\x0f\x05\x48\x85\xc0\x7c", "\x74\x01\xc3\x31\xed", []int{2, 5, 7}, 0},
	// syscall; test eax, eax; jne; xor ebp, ebp; pop rdi; call r9
	{"\x0f\x05\x85\xc0\x75", "\x31\xed\x5f\x41\xff\xd1", []int{2, 4, 6, 8, 9}, 12},
}

// BeginsThread reports whether code[at] is where a C library looks whether it goes on in a thread that it has just
// made: at is the place of the exact PC in bytes read around it (12 before and 8 from it on are enough). The new thread
// has 0 in rax there, and no caller: its stack is empty.
func BeginsThread(code []byte, at int) bool {
	for i := range begins {
		for _, step := range begins[i].steps {
			if begins[i].isAt(code, at-step) {
				return true
			}
		}
	}
	return false
}

// ThreadReturns reports whether code[at] is where the function of a thread returns to: it has no caller but that.
func ThreadReturns(code []byte, at int) bool {
	for i := range begins {
		if b := &begins[i]; b.returns > 0 && b.isAt(code, at-b.returns) {
			return true
		}
	}
	return false
}

func (b *begin) isAt(code []byte, start int) bool {
	return start >= 0 && start+len(b.call) < len(code) && bytes.HasPrefix(code[start:], []byte(b.call)) &&
		bytes.HasPrefix(code[start+len(b.call)+1:], []byte(b.rest))
}
