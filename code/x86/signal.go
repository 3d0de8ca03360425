package x86

// trampoline is the code that a signal handler returns to.
type trampoline struct {
	code     string
	steps    []int // offsets of its instructions
	realTime bool  // rt_sigreturn: siginfo and ucontext on the stack; else struct sigcontext
}

// The trampolines of glibc, musl and the vdso.
// Sources: glibc sysdeps/unix/sysv/linux/x86_64/libc_sigaction.c and i386/libc_sigaction.c,
// musl src/signal/{x86_64,i386}/restore.s, linux/arch/x86/entry/vdso/vdso32/sigreturn.S.
var (
	trampolines64 = []trampoline{
		{"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", []int{0, 7}, true}, // mov $15, %rax; syscall
		{"\xb8\x0f\x00\x00\x00\x0f\x05", []int{0, 5}, true},         // mov $15, %eax; syscall
	}
	trampolines32 = []trampoline{
		{"\x58\xb8\x77\x00\x00\x00\xcd\x80", []int{0, 1, 6}, false}, // pop %eax; mov $119, %eax; int $0x80
		{"\xb8\xad\x00\x00\x00\xcd\x80", []int{0, 5}, true},         // mov $173, %eax; int $0x80
	}
)

// SignalReturn reports whether code[at] is an instruction of a signal trampoline, where at
// is the place of the exact PC in bytes read around it (8 before and 9 from it on are
// enough). offset is how far the PC is into the sequence: on 386 without rt, SP has moved
// by 4 once offset is not 0. rt says that the frame is that of rt_sigreturn.
func SignalReturn(code []byte, at int, mode64 bool) (offset int, rt, ok bool) {
	known := trampolines32
	if mode64 {
		known = trampolines64
	}
	for i := range known {
		t := &known[i]
		for _, step := range t.steps {
			start := at - step
			if start >= 0 && start+len(t.code) <= len(code) && string(code[start:start+len(t.code)]) == t.code {
				return step, t.realTime, true
			}
		}
	}
	return 0, false, false
}
