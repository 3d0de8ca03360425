//go:build cgo

package main

// #include <unistd.h>
// extern void goCalled(int);
// extern void goParked(int);
// static inline void stay(void) { asm volatile(""); } // behind a call, that it be no jump
// static void __attribute__((noinline)) rest(void) { for (;;) pause(); }
// static void __attribute__((noinline)) callBack(int depth) { goCalled(depth); stay(); }
//
// // lost calls f on a stack that nobody finds the way out of but lost itself: SP is kept in a variable, and no table,
// // frame pointer or distance says where it was.
// #ifdef __x86_64__
// void lost(void (*f)(void), long n);
// asm(".text\n.weak lost\n.type lost, @function\nlost:\n"
//     "mov %rsp, kept(%rip)\n sub %rsi, %rsp\n and $-16, %rsp\n xor %ebp, %ebp\n xor %ebx, %ebx\n"
//     "call *%rdi\n mov kept(%rip), %rsp\n ret\n.size lost, .-lost\n.bss\nkept: .quad 0\n.text\n");
// #elif defined __aarch64__
// void lost(void (*f)(void), long n);
// asm(".text\n.weak lost\n.type lost, %function\nlost:\n"
//     "adrp x9, kept\n add x9, x9, :lo12:kept\n mov x10, sp\n stp x10, x30, [x9]\n sub x10, x10, x1\n"
//     "and sp, x10, #-16\n mov x29, xzr\n blr x0\n adrp x9, kept\n add x9, x9, :lo12:kept\n ldp x10, x30, [x9]\n"
//     "mov sp, x10\n ret\n.size lost, .-lost\n.bss\n.balign 8\nkept: .skip 16\n.text\n");
// #else
// static void lost(void (*f)(void), long n) { f(); }
// #endif
// static void __attribute__((noinline)) restLost(void) { lost(rest, 12345); stay(); }
// static void __attribute__((noinline)) callOnce(void) { goCalled(1); stay(); }
// static void __attribute__((noinline)) callBackLost(void) { lost(callOnce, 4321); stay(); }
// static void __attribute__((noinline)) callParked(int depth) { goParked(depth); stay(); }
// static void __attribute__((noinline)) parkOnce(void) { goParked(1); stay(); }
// static void __attribute__((noinline)) parkLost(void) { lost(parkOnce, 2345); stay(); }
import "C"

// callC begins a goroutine that sleeps in C, one that C called back three times, each inside of the other, and two of
// which C has a frame that nobody finds the way out of; then one that waits for a channel in a Go function that C
// called, twice inside of each other, and one where C has such a frame.
func callC() {
	go C.rest()
	go C.callBack(3)
	go C.restLost()
	go C.callBackLost()
	go C.callParked(2)
	go C.parkLost()
}

//export goParked
func goParked(depth C.int) {
	if depth > 1 {
		C.callParked(depth - 1)
		return
	}
	<-make(chan int)
}

//export goCalled
func goCalled(depth C.int) {
	if depth > 1 {
		C.callBack(depth - 1)
		return
	}
	C.rest()
}
