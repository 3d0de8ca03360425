//go:build linux

package tracer

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/fpstack/fpstack/maps"
	"golang.org/x/sys/unix"
)

// helper is what the test binary does as a target of its own tests.
func helper(mode string) {
	switch mode {
	case "spin":
		go recurse(20000)
		time.Sleep(50 * time.Millisecond)
		fmt.Print("r")
	case "rooted":
		check(unix.Chroot(os.Getenv("TRACER_TEST_ROOT")))
		fmt.Print("r")
	case "served":
		served(os.Getenv("TRACER_TEST_ROOT"))
	case "cputime":
		pid, err := strconv.Atoi(os.Getenv("TRACER_TEST_PID"))
		check(err)
		spent, err := (&Process{pid: pid}).CPUTime()
		check(err)
		fmt.Println(int64(spent))
		return
	case "refused":
		refusedHelper()
		return
	}
	time.Sleep(time.Hour)
}

// served mounts a FUSE file system at dir for which nobody answers.
func served(dir string) {
	fuse, err := unix.Open("/dev/fuse", unix.O_RDWR, 0)
	if err != nil {
		fmt.Print("n")
		return
	}
	check(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	if unix.Mount("x", dir, "fuse.test", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fuse)) != nil {
		fmt.Print("n")
		return
	}
	fmt.Print("r")
}

func recurse(n int) int {
	if n > 0 {
		return recurse(n-1) + n
	}
	for end := time.Now().Add(time.Hour); time.Now().Before(end); {
		runtime.Gosched()
	}
	return 0
}

// refusedHelper prints why a process of another user cannot be opened.
func refusedHelper() {
	pid, err := strconv.Atoi(os.Getenv("TRACER_TEST_PID"))
	check(err)
	_, err = Open(pid, Options{})
	var e *PermissionError
	if !errors.As(err, &e) {
		fmt.Println("not refused:", err)
		return
	}
	fmt.Printf("process %d, %q: %v\n", e.PID, e.Comm, e)
}

func itoa(n int) string { return strconv.Itoa(n) }

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// seizeAndInterrupt seizes one thread and interrupts it.
func seizeAndInterrupt(l *Sampler, w *Watch, c *Copy, table *maps.Table) error {
	if err := l.Seize(w, c, table); err != nil {
		return err
	}
	return l.Interrupt(c)
}
