package cmd

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// spaceEvery is how often the address space in use is read where there is a limit. What is read grows by a megabyte
	// in that time.
	spaceEvery = 10 * time.Millisecond
	// mostSpare is how much is left of it, at most: the heap grows by 64 MiB at a time, and by more where a long
	// slice does.
	mostSpare = 256 << 20
)

// watchSpace ends this program with a sentence before it has used up the address space that it is limited to: what
// Go's runtime says then is a trace of its own. Without a limit it does nothing.
func (a *app) watchSpace(status int) {
	var most syscall.Rlimit
	if syscall.Getrlimit(limitAddressSpace, &most) != nil || most.Cur > math.MaxInt64 {
		return
	}
	used := spaceInUse()
	if used == 0 || uint64(used) >= most.Cur {
		return
	}
	spare := min(mostSpare, (int64(most.Cur)-used)/3)
	go func() {
		for range time.Tick(spaceEvery) {
			if spaceInUse() < int64(most.Cur)-spare {
				continue
			}
			a.complain(&limitError{fmt.Sprintf("the address space is limited to %d MB, which is used up", most.Cur>>20),
				"Run it without that limit: (ulimit -v unlimited; fpstack …), or without LimitAS= in the unit; or give " +
					"it less to do."})
			a.files.Abandon()
			a.saves.Abandon()
			os.Exit(status)
		}
	}()
}

// spaceInUse is the address space that this program uses, bytes; 0 if that is not known.
// Source: proc_pid_statm(5).
func spaceInUse() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	size, _, _ := strings.Cut(string(b), " ")
	pages, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
