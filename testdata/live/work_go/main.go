// Command work_go SECONDS FILE computes for SECONDS of CPU time, however long that takes where others have the
// CPUs, in a few functions whose shares differ, and has runtime/pprof write to FILE what it saw of it.
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"strconv"
	"syscall"
	"time"
)

var sink uint64

//go:noinline
func multiply(n int) {
	v := sink
	for range n {
		v = v*6364136223846793005 + 1442695040888963407
	}
	sink = v
}

//go:noinline
func divide(n int) {
	v := sink | 1
	for i := range n {
		v = (v+uint64(i)*0x9e3779b97f4a7c15)/(v%1000+3) + 0x123456789
	}
	sink = v
}

//go:noinline
func fibonacci(n int) uint64 {
	if n < 2 {
		return 1
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

//go:noinline
func hash(block []byte) {
	sum := sha256.Sum256(block)
	sink += uint64(sum[0])
}

//go:noinline
func order(numbers, scratch []int) {
	copy(scratch, numbers)
	slices.Sort(scratch)
	sink += uint64(scratch[0])
}

func main() {
	seconds, err := strconv.Atoi(os.Args[1])
	check(err)
	f, err := os.Create(os.Args[2])
	check(err)
	check(pprof.StartCPUProfile(f))
	numbers, scratch, block := make([]int, 2000), make([]int, 2000), make([]byte, 64<<10)
	for i := range numbers {
		numbers[i] = (i * 7919) % 2003
	}
	for used() < time.Duration(seconds)*time.Second {
		multiply(1_000_000)
		divide(60_000)
		sink += fibonacci(24)
		for range 8 {
			hash(block)
		}
		for range 4 {
			order(numbers, scratch)
		}
	}
	pprof.StopCPUProfile()
	check(f.Close())
	fmt.Println("D")
}

// used is the CPU time of this process.
func used() time.Duration {
	var u syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
