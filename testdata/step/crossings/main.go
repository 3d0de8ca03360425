// Command crossings goes from stack to stack: a fault that becomes a panic, a goroutine that is preempted in a loop
// without calls, goroutines that take turns, one whose stack grows, C that Go calls and that calls Go back. Its
// arguments are which of them: fault, preempt, turns, calls; all where there are none.
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
	"os"
	"runtime"
	"slices"
	"sync/atomic"
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

// spins has no call in its loop: only a signal can stop it.
//
//go:noinline
func spins(until *atomic.Bool) (sum int) {
	for i := 0; !until.Load(); i++ {
		sum += i ^ sum>>3
	}
	return sum
}

// preempts stops the world while another goroutine spins.
func preempts() int {
	var stop atomic.Bool
	sum := make(chan int)
	go func() { sum <- spins(&stop) }()
	for n := range 4 {
		runtime.Gosched()
		runtime.GOMAXPROCS(2 + n&1)
	}
	stop.Store(true)
	return <-sum
}

func turns() (total int) {
	there, back := make(chan int), make(chan int)
	go func() {
		for n := range there {
			back <- deep(n)
		}
		close(back)
	}()
	for n := range 4 {
		there <- 20 * n
		total += <-back
		runtime.Gosched()
	}
	close(there)
	<-back
	return total
}

func main() {
	parts := []struct {
		name string
		do   func() int
	}{
		{"fault", func() int { return len(faults(nil)) }},
		{"preempt", preempts},
		{"turns", turns},
		{"calls", func() int { return int(C.callsBack(2)) }},
	}
	runtime.GOMAXPROCS(2)
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGURG)
	done := make(chan struct{})
	go func() {
		for _, p := range parts {
			if len(os.Args) == 1 || slices.Contains(os.Args[1:], p.name) {
				println(p.name, p.do())
			}
		}
		close(done)
	}()
	<-done
	syscall.Exit(0)
}
