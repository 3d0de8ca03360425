// Program storm has threads in Go, in C that Go called, asleep there, and in Go that this C called, all of which get
// signals without end: SIGUSR1, which a handler in C counts, and SIGPROF, which Go's profiler handles, by its timers
// too. The next SIGUSR1 is sent when the last was handled, so that none may be lost.
//
// It writes a line R when all are there. For a byte on its standard input it ends the storm and writes how many
// signals were sent and handled.
package main

// #include "storm.h"
import "C"

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"sync/atomic"
	"time"
)

var turns atomic.Uint64

//go:noinline
func work(n int) uint64 {
	if n > 0 {
		return work(n-1) + 1
	}
	return turns.Add(1)
}

func spinInGo() {
	runtime.LockOSThread()
	C.enroll()
	for {
		work(10)
	}
}

//export goCalled
func goCalled() { work(5) }

func main() {
	go spinInGo()
	go C.spinInC()
	go C.sleepInC()
	go C.callGo()
	for C.enrolled() < 4 {
		time.Sleep(time.Millisecond)
	}
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		panic(err)
	}
	C.startStorm()
	fmt.Println("R")
	os.Stdin.Read(make([]byte, 1))
	if C.endStorm() == 0 {
		fmt.Println("the storm does not end")
	}
	fmt.Println(C.sentSoFar(), C.handledSoFar())
}
