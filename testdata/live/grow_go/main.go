// Command grow_go has a goroutine whose stack is full all the time: it calls itself until its stack has grown to
// 64 KiB, ends, and another begins.
//
// Truth: a thread in runtime.newstack has, behind runtime.morestack, main.grow many times, main.main.func1 and
// runtime.goexit.
package main

import (
	"fmt"
	"time"
)

var sink int

//go:noinline
func grow(n int) int {
	var room [128]int
	room[n%128] = n
	if n == 0 {
		return sink
	}
	return grow(n-1) + room[(n+1)%128]
}

func main() {
	time.AfterFunc(2*time.Minute, func() { panic("nobody ended it") })
	fmt.Println("R")
	for done := make(chan bool); ; <-done {
		go func() { sink += grow(50); done <- true }()
	}
}
