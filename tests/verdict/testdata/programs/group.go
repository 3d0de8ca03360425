// A worker returns early, without saying that it is done.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
)

func work(n int, group *sync.WaitGroup) {
	if n == 2 {
		return
	}
	group.Done()
}

//go:noinline
func collect(group *sync.WaitGroup) {
	group.Wait() // HERE
}

func main() {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	var group sync.WaitGroup
	for n := range 4 {
		group.Add(1)
		go work(n, &group)
	}
	fmt.Println("ready")
	collect(&group)
}
