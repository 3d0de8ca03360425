// Program routines has goroutines of a known shape: argument 1 is how many wait for a channel, four calls deep, beside
// one each in a select, for a mutex, for a wait group, asleep, in the network poller, in a system call with its
// thread locked to it, locked and parked, in a deferred call of a function that reads through nil, busy, and with cgo
// in C and in a Go function that C called.
//
// It writes a line R when all are there. For each byte on its standard input it writes the dump that runtime/pprof makes
// of them (debug=2), and a line "end".
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

//go:noinline
func receive(n int, c chan int) int {
	if n > 0 {
		return receive(n-1, c) + 1
	}
	return <-c
}

//go:noinline
func readPipe() {
	var f [2]int
	syscall.Pipe(f[:])
	syscall.Read(f[0], make([]byte, 1))
}

var busy atomic.Uint64

//go:noinline
func spin() {
	for {
		busy.Add(1)
	}
}

// readNil waits while it panics: a signal handler put the call of runtime.sigpanic behind the first instruction of a
// line.
//
//go:noinline
func readNil(p *int, c chan int) (n int) {
	defer func() { <-c }()
	c = nil
	n = *p
	return n
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	c := make(chan int)
	for i := 0; i < n; i++ { // Go 1.21 has no range over numbers
		go receive(3, c)
	}
	var held sync.Mutex
	held.Lock()
	go func() { held.Lock() }()
	go func() {
		select {
		case <-c:
		case <-time.After(time.Hour):
		}
	}()
	go time.Sleep(time.Hour)
	go func() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			l.Accept()
		}
	}()
	go func() {
		runtime.LockOSThread()
		readPipe()
	}()
	go func() {
		runtime.LockOSThread()
		<-c
	}()
	var never sync.WaitGroup
	never.Add(1)
	go never.Wait()
	go readNil(nil, c)
	if len(os.Args) > 2 {
		go spin()
	}
	callC()
	time.Sleep(300 * time.Millisecond)
	fmt.Println("R")
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	for {
		switch b, err := in.ReadByte(); {
		case err != nil:
			select {} // the others stay
		case b == 'g':
			runtime.GC()
		}
		pprof.Lookup("goroutine").WriteTo(out, 2)
		fmt.Fprintln(out, "end")
		out.Flush()
	}
}
