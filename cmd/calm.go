package cmd

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/fpstack/fpstack/hang/supervise"
)

const (
	// calmSlack is how late timers of our threads may be, nanoseconds, but for the OS thread that
	// samples, which asks for exact ones itself.
	calmSlack = 4_000_000
	// usualSlack is what programs have that ask for nothing. Source: linux/init/init_task.c.
	usualSlack = 50_000
)

// hastyRate is in looks a second.
const hastyRate = 2000

// Operations of prctl(2). Source: linux/include/uapi/linux/prctl.h.
const (
	setTimerSlack = 29
	getTimerSlack = 30
)

// begunAnew is the variable that tells a program begun anew that it was. It is taken away at once, so that
// no command inherits it.
const begunAnew = "FPSTACK_BEGUN_ANEW"

// calms are the subcommands that look over and over.
var calms = []string{"record", "top"}

// Calm is called first of all by a program that will run the command line args. For a recording it begins
// the program anew, in the same process, with coarse timers; else, or where that cannot be, it returns.
//
// The Go runtime has a thread that watches the others. After each sleep of the thread that samples it looks around
// every 20 us for a millisecond, then less often: sixty times in the hundredth of a second between two rounds. That
// took as much CPU time as the sampling, and where no CPU is idle it took that from the threads which
// are recorded. It has no switch, but the slack of its timers delays it, and a thread inherits that from
// the one that made it, here from the program before exec.
// Source: sysmon in runtime/proc.go; PR_SET_TIMERSLACK(2const).
func Calm(args []string) {
	if len(args) == 0 || !slices.Contains(calms, args[0]) || hasty(args[1:]) || smallLimit() != nil {
		return
	}
	if os.Getenv(begunAnew) != "" { // whatever became of the slack: not again
		os.Unsetenv(begunAnew)
		return
	}
	path, ok := ownPath()
	if !ok {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, ok := slack()
	if !ok || before >= calmSlack || !setSlack(calmSlack) {
		return
	}
	// Threads of real-time classes have none, and cannot be given any.
	if now, ok := slack(); ok && now == calmSlack {
		_ = syscall.Exec(path, os.Args, append(ownEnvironment(), begunAnew+"=1"))
	}
	setSlack(before)
}

// hasty tells whether so many looks a second are asked for that the threads of the runtime hardly sleep: then
// coarse timers hold them up, and a third of the looks is lost.
func hasty(args []string) bool {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		value, ok := strings.CutPrefix(arg, "--rate=")
		if !ok && !strings.HasPrefix(arg, "--") {
			value, ok = strings.CutPrefix(arg, "-F")
			value = strings.TrimPrefix(value, "=")
		}
		if (arg == "-F" || arg == "--rate") && i+1 < len(args) {
			value, ok = args[i+1], true
		}
		if rate, err := strconv.ParseFloat(value, 64); ok && err == nil && (rate == 0 || rate > hastyRate) {
			return true
		}
	}
	return false
}

// slack is the timer slack of the calling OS thread, nanoseconds.
func slack() (uintptr, bool) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, getTimerSlack, 0, 0)
	return n, errno == 0
}

// setSlack sets the timer slack of the calling OS thread, nanoseconds.
func setSlack(slack uintptr) bool {
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, slack, 0)
	return errno == 0
}

// ownPath is the path of this program, if the same file still stands there.
func ownPath() (string, bool) {
	path, err := os.Executable()
	if err != nil {
		return "", false
	}
	there, err := os.Stat(path)
	if err != nil {
		return "", false
	}
	running, err := os.Stat("/proc/self/exe")
	return path, err == nil && os.SameFile(there, running)
}

// withUsualTimers runs f, whose children have timers as usual. The OS thread goes on afterwards: the kernel tells
// a child that asked for it (PR_SET_PDEATHSIG) when the thread that made it ends.
func withUsualTimers(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if before, ok := slack(); ok && setSlack(usualSlack) {
		defer setSlack(before)
	}
	f()
}

// ownEnvironment is what this program was given, but for what it gave itself.
func ownEnvironment() []string {
	return slices.DeleteFunc(supervise.Environment(), func(v string) bool { return strings.HasPrefix(v, begunAnew+"=") })
}
