// The consumer stopped; the producer sends, and main waits for the producer.
package main

import (
	"fmt"
	"time"
)

//go:noinline
func produce(out chan<- int) {
	for i := range 10 {
		out <- i // HERE
	}
	close(out)
}

func main() {
	rows, done := make(chan int), make(chan bool)
	go func() { produce(rows); close(done) }()
	<-rows
	fmt.Println("ready")
	tick := time.NewTicker(time.Second)
	go func() {
		for range tick.C {
		}
	}()
	<-done
}
