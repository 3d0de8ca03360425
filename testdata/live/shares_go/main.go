// Command shares_go says how much CPU time four of its functions took, by the clock of their thread.
package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

var (
	sink     int
	from, to [1 << 16]byte
)

//go:noinline
func numbers() {
	x := uint64(sink)
	for i := range uint64(100_000) {
		x = x*31 + x>>7 + i
	}
	sink += int(x)
}

//go:noinline
func copies() {
	for i := range 40 {
		copy(to[i:], from[:len(from)-i])
		sink += int(to[i])
	}
}

//go:noinline
func objects() {
	m := map[string]*int{}
	for i := range 300 {
		m[fmt.Sprint("key", i&63)] = &i
	}
	sink += len(m)
}

//go:noinline
func failures() {
	for range 50 {
		func() {
			defer func() { sink += len(recover().(error).Error()) }()
			var p *int
			sink += *p
		}()
	}
}

// cpu is the time of this thread in nanoseconds.
func cpu() int64 {
	const threadCPUTime = 3 // linux/time.h
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadCPUTime, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

func main() {
	runtime.LockOSThread()
	parts := []func(){numbers, copies, objects, failures}
	var spent [4]int64
	for said := time.Now(); ; {
		for i, part := range parts {
			begin := cpu()
			part()
			spent[i] += cpu() - begin
		}
		if time.Since(said) > 250*time.Millisecond {
			said = time.Now()
			fmt.Fprintf(os.Stdout, "shares main.numbers %d main.copies %d main.objects %d main.failures %d\n",
				spent[0], spent[1], spent[2], spent[3])
		}
	}
}
