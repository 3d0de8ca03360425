// A library in Go, for C (-buildmode=c-shared) and for Go (-buildmode=plugin): Waits calls C, which waits.
package main

/*
#include <unistd.h>

static void waits(void) {
	if (write(1, "R\n", 2) == 2)
		for (;;)
			pause();
}
*/
import "C"

//export Waits
func Waits() { inner(make([]int, 3)) }

//go:noinline
func inner(list []int) {
	C.waits()
	list[0]++
}

func main() {}
