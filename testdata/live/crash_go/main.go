// Command crash_go dereferences nil, deep in a goroutine, while another one waits; with GOTRACEBACK=crash it leaves a
// core.
package main

import "time"

//go:noinline
func fall(n int, p *int) int {
	if n == 0 {
		return *p
	}
	return fall(n-1, p) + 1
}

//go:noinline
func parked(c chan int) { <-c }

func main() {
	go parked(make(chan int))
	time.Sleep(50 * time.Millisecond) // it is in its call
	println(fall(4, nil))
}
