//go:build ignore

// Program goroutines has goroutines that wait, to be recorded: three for a channel, two calls deep, one for a mutex, one in
// a select, one asleep; goroutine 1 waits for all.
package main

import (
	"sync"
	"time"
)

//go:noinline
func receive(n int, c chan int) int {
	if n > 0 {
		return receive(n-1, c) + 1
	}
	return <-c
}

func main() {
	c, d := make(chan int), make(chan int)
	var held sync.Mutex
	held.Lock()
	for range 3 {
		go receive(2, c)
	}
	go func() { held.Lock() }()
	go func() {
		select {
		case <-c:
		case <-d:
		}
	}()
	go time.Sleep(time.Hour)
	var all sync.WaitGroup
	all.Add(1)
	println("R")
	all.Wait()
}
