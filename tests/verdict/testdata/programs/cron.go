// Sleeps until the next job is due; a goroutine waits for a signal.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	fmt.Println("ready")
	for {
		select {
		case <-stop:
			return
		case <-time.After(5 * time.Minute):
		}
	}
}
