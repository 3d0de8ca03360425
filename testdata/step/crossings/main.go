// Command crossings goes from stack to stack: goroutines that take turns, one that is preempted in a loop, one whose
// stack grows, a fault that becomes a panic, C that Go calls and that calls Go back.
//
// It says where main begins: what Go does before that is long, and stepped elsewhere.
package main

/*
extern int goCalled(int);

__attribute__((noinline)) static int callsBack(int n)
{
	return goCalled(n) + 1;
}
*/
import "C"

import (
	"runtime"
	"syscall"
)

//go:noinline
func deep(n int) int {
	var pad [64]int
	pad[n%64] = n
	if n == 0 {
		return pad[0]
	}
	return deep(n-1) + pad[n%64]
}

// goCalled grows the stack of the goroutine below frames of C.
//
//export goCalled
func goCalled(n C.int) C.int {
	if n > 0 {
		return C.callsBack(n - 1)
	}
	return C.int(deep(40))
}

//go:noinline
func faults(p *int) (text string) {
	defer func() { text = recover().(error).Error() }()
	if *p == 0 {
		return "no fault"
	}
	return text
}

//go:noinline
func spins(n int) (sum int) {
	for i := range n {
		sum += i ^ sum>>3
	}
	return sum
}

func main() {
	const start = 0x51ea
	syscall.RawSyscall(syscall.SYS_GETPID, start, 0, 0)
	there, back := make(chan int), make(chan int)
	go func() {
		for n := range there {
			back <- deep(n)
		}
		close(back)
	}()
	total := 0
	for n := range 4 {
		there <- 20 * n
		total += <-back
		runtime.Gosched()
	}
	close(there)
	<-back
	total += spins(3000) + int(C.callsBack(2))
	println(total, faults(nil))
	syscall.Exit(0)
}
