//go:build cgo

package main

// #include <unistd.h>
// extern void goCalled(int);
// static void __attribute__((noinline)) rest(void) { for (;;) pause(); }
// static void __attribute__((noinline)) callBack(int depth) { goCalled(depth); }
import "C"

// callC begins a goroutine that sleeps in C, and one that C called back three times, each inside of the other.
func callC() {
	go C.rest()
	go C.callBack(3)
}

//export goCalled
func goCalled(depth C.int) {
	if depth > 1 {
		C.callBack(depth - 1)
		return
	}
	C.rest()
}
