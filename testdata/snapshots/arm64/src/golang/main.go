// Golang is main.main -> main.alpha -> main.beta -> main.gamma -> one of
//
//	leaf         a function without a frame of its own, whose caller is in LR
//	frame        a function with a frame that has called another before it loops
//	systemstack  a function on the stack of the thread, behind runtime.systemstack
//
// in the program's first thread. It writes "R" when it is about to get there.
package main

import (
	"os"
	"runtime"
	"syscall"
	_ "unsafe"
)

var stop, sum int

//go:linkname systemstack runtime.systemstack
func systemstack(f func())

//go:noinline
func tick(n int) int { sum += n; return sum }

//go:noinline
func leaf() {
	for stop == 0 {
	}
}

//go:noinline
func frame(n int) int {
	n = tick(n)
	for stop == 0 {
	}
	return tick(n)
}

//go:noinline
func onSystemStack() { sum = frame(sum) }

//go:noinline
func gamma(how string) {
	switch how {
	case "leaf":
		leaf()
	case "frame":
		sum = frame(1)
	case "systemstack":
		systemstack(onSystemStack)
	}
	sum++
}

//go:noinline
func beta(how string) { gamma(how); sum++ }

//go:noinline
func alpha(how string) { beta(how); sum++ }

// main stays on the first thread.
func init() { runtime.LockOSThread() }

func main() {
	syscall.Write(1, []byte("R"))
	alpha(os.Args[1])
}
