// Package exact measures how often the stack that package unwind walks is the true one.
//
// [Run] starts a program under ptrace and single-steps it. From the calls, returns, signals
// and signal returns that it sees it keeps the true chain of return addresses ([Truth]), and
// at each compared point the whole stack that the walker gives is held against it: the same
// number of frames, the same address in each, and the same end.
//
// The caller provides a command. One OS thread does all ptrace calls of a Run, which therefore
// must not be called from several goroutines that share a locked thread; Linux on amd64 and arm64.
//
// It guarantees that no process is left behind: the kernel kills the target when its tracer ends
// (PTRACE_O_EXITKILL), and Run kills it before it returns.
//
// It is a test instrument. It is not a debugger, and no part of the command imports it.
//
// Sources: ptrace(2), sigreturn(2), Intel SDM volume 2 and Arm Architecture Reference Manual C6.2
// (instruction forms), System V ABI AMD64 section 3.2 (stack frame), Procedure Call Standard for the
// Arm 64-bit Architecture, linux/arch/{x86,arm64}/include/uapi/asm/ucontext.h and sigcontext.h.
package exact
