// Goroutines compute, and main waits for them.
package main

import (
	"crypto/sha256"
	"fmt"
	"sort"
	"sync"
)

//go:noinline
func digest(data []byte) byte {
	h := sha256.Sum256(data)
	return h[0]
}

//go:noinline
func order(data []byte) {
	sort.Slice(data, func(i, j int) bool { return data[i] < data[j] })
	for i := range data {
		data[i] = data[i]*31 + byte(i)
	}
}

func main() {
	var group sync.WaitGroup
	group.Go(func() {
		data := make([]byte, 1<<14)
		for {
			data[0] = digest(data)
			order(data)
		}
	})
	fmt.Println("ready")
	group.Wait()
}
