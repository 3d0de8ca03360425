// Waits for workers that sleep between their tries.
package main

import (
	"fmt"
	"sync"
	"time"
)

func main() {
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() { time.Sleep(40 * time.Second) })
	}
	fmt.Println("ready")
	group.Wait()
}
