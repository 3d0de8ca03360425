// Two goroutines take two mutexes in two orders, while a server is idle.
package main

import (
	"fmt"
	"net"
	"net/http"
	"sync"
)

type account struct {
	sync.Mutex
	balance int
}

//go:noinline
func transfer(from, to *account, both *sync.WaitGroup) {
	from.Lock()
	both.Done()
	both.Wait()
	to.Lock() // HERE
	to.balance++
	to.Unlock()
	from.Unlock()
}

func main() {
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	go http.Serve(l, nil)
	var a, b account
	var both, done sync.WaitGroup
	both.Add(2)
	done.Add(2)
	go func() { transfer(&a, &b, &both); done.Done() }()
	go func() { transfer(&b, &a, &both); done.Done() }()
	fmt.Println("ready")
	done.Wait()
}
