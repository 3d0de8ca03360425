// A reader reads again, while a writer waits for it.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"
)

var table sync.RWMutex

//go:noinline
func lookup(wait func()) {
	table.RLock()
	wait()
	table.RLock() // HERE
	table.RUnlock()
	table.RUnlock()
}

//go:noinline
func insert() {
	table.Lock() // HERE
	table.Unlock()
}

func main() {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	done := make(chan bool)
	go func() {
		lookup(func() {
			go insert()
			for table.TryRLock() {
				table.RUnlock()
				time.Sleep(time.Millisecond)
			}
		})
		close(done)
	}()
	fmt.Println("ready")
	<-done
}
