// Stages pass on what a slow source sends, twice a second.
package main

import (
	"fmt"
	"time"
)

func stage(in <-chan int) <-chan int {
	out := make(chan int)
	go func() {
		for n := range in {
			out <- n
		}
		close(out)
	}()
	return out
}

func main() {
	source := make(chan int)
	go func() {
		for n := 0; ; n++ {
			source <- n
			time.Sleep(500 * time.Millisecond)
		}
	}()
	fmt.Println("ready")
	for range stage(stage(source)) {
	}
}
