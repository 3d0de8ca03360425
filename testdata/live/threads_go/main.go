// Command threads_go is threads.c in Go: threads N DEPTH starts N goroutines, each
// locked to a thread of its own and asleep under DEPTH calls of descend.
//
// Truth: every one of them has, from the inside out, the system call's wrapper,
// main.bottom, DEPTH times main.descend, main.sleeper and runtime.goexit.
package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

var sink int

//go:noinline
func bottom(fd int) {
	var b [1]byte
	for {
		// A read of a pipe that nobody writes to restarts by itself after a stop.
		n, _ := syscall.Read(fd, b[:])
		sink += n
	}
}

//go:noinline
func descend(fd, depth int) int {
	if depth <= 1 {
		bottom(fd)
		return sink
	}
	return descend(fd, depth-1) + sink
}

//go:noinline
func sleeper(fd, depth int, tid chan<- int) {
	runtime.LockOSThread()
	tid <- syscall.Gettid()
	sink += descend(fd, depth)
}

// awaitSleep returns when the kernel says that thread tid sleeps.
func awaitSleep(tid int) {
	for range 20000 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", tid))
		end := bytes.LastIndexByte(stat, ')')
		if err == nil && end >= 0 && bytes.HasPrefix(stat[end+1:], []byte(" S")) {
			return
		}
		time.Sleep(500 * time.Microsecond)
	}
	fmt.Fprintf(os.Stderr, "thread %d does not fall asleep\n", tid)
	os.Exit(3)
}

func argument(i, fallback int) int {
	if i >= len(os.Args) {
		return fallback
	}
	n, err := strconv.Atoi(os.Args[i])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(64)
	}
	return n
}

func main() {
	n, depth := argument(1, 4), argument(2, 10)
	// The life of every live target is bounded: see live.h. Go ignores SIGALRM.
	syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0)
	time.AfterFunc(120*time.Second, func() { os.Exit(0) })

	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	tids := make(chan int)
	for range n {
		go sleeper(pipe[0], depth, tids)
	}
	for range n {
		awaitSleep(<-tids)
	}
	fmt.Println("R")
	select {}
}
