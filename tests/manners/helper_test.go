//go:build linux

package manners

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/tracer"
	"golang.org/x/sys/unix"
)

// helper is what the test binary does when a test starts it as another process. Its
// arguments follow the mode, which the environment holds.
func helper(mode string) {
	switch mode {
	case "guardian":
		guardian(os.Args[1:])
	case "sampler":
		sampler(os.Args[1:])
	case "looker":
		samplerHelper(os.Args[1:])
	case "soaker":
		soaker(os.Args[1:])
	case "dier":
		dier(os.Args[1:])
	case "traced":
		traced(os.Args[1:])
	case "inherits":
		inherits(os.Args[1:])
	default:
		check(fmt.Errorf("no helper %q", mode))
	}
}

// sampler PID all|rolling: makes stops without a pause, and says so before the first.
func sampler(args []string) {
	p := openArg(args[0])
	opt := tracer.StopOptions{Rolling: args[1] == "rolling", Batch: 2}
	fmt.Println("R")
	for {
		if _, err := p.Snapshot(context.Background(), opt); err != nil {
			check(err)
		}
	}
}

// dier PID N: queues N real-time signals to PID while its threads are stopped, and is killed
// before it lets them go.
func dier(args []string) {
	p := openArg(args[0])
	n, err := strconv.Atoi(args[1])
	check(err)
	_, err = p.Snapshot(context.Background(), holding(func() {
		for i := range n {
			queue(p.PID(), realTime, int32(i))
		}
		unix.Kill(os.Getpid(), unix.SIGKILL)
	}))
	check(err)
}

// traced PID: traces PID, that is stops it for good, until standard input ends.
func traced(args []string) {
	pid, err := strconv.Atoi(args[0])
	check(err)
	check(unix.PtraceSeize(pid))
	check(unix.PtraceInterrupt(pid))
	fmt.Println("R")
	var b [1]byte
	_, _ = os.Stdin.Read(b[:])
}

// inherits blocked|queue SIGNALS CMD…: becomes CMD with these signals blocked (all, or a number), or with no room
// for signals in the queue.
func inherits(args []string) {
	runtime.LockOSThread() // the mask is that of the thread which executes
	switch args[0] {
	case "blocked":
		set := unix.Sigset_t{}
		n, err := strconv.Atoi(args[1])
		for sig := 1; sig <= 64; sig++ {
			if err != nil || sig == n {
				set.Val[(sig-1)/wordBits] |= 1 << ((sig - 1) % wordBits)
			}
		}
		check(unix.PthreadSigmask(unix.SIG_SETMASK, &set, nil))
	case "queue":
		check(unix.Prlimit(0, unix.RLIMIT_SIGPENDING, &unix.Rlimit{}, nil))
	}
	check(unix.Exec(args[2], args[2:], slices.DeleteFunc(os.Environ(),
		func(v string) bool { return strings.HasPrefix(v, "MANNERS_HELPER=") })))
}

const wordBits = 32 << (^uint(0) >> 63)

func openArg(pid string) *tracer.Process {
	p, err := tracer.Open(pidArg(pid), tracer.Options{})
	check(err)
	return p
}

func pidArg(text string) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	check(err)
	return n
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
