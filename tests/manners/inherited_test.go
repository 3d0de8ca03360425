//go:build linux

package manners

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inherited has fpstack begin with signals blocked, or without room for any in the queue, as a crash handler with
// a full sa_mask or a daemon that waits by sigwait(3) starts it. Its own waits rest on signal 63, which a timer
// sends; SIGURG is the Go runtime's. What never stops is still waited for no longer than said, and a command that
// fpstack starts gets the mask that fpstack inherited, but for what the runtime takes out of it.
func inherited(how, which string) func(*scene) {
	return func(s *scene) {
		on := func(pid int, args ...string) {
			s.t.Helper()
			cmd := exec.Command("/proc/self/exe", append([]string{how, which, fpstack}, args...)...)
			cmd.Env = append(os.Environ(), "MANNERS_HELPER=inherits")
			begun := time.Now()
			out, took := runBounded(s.t, cmd), time.Since(begun)
			if cmd.ProcessState.ExitCode() < 0 || cmd.ProcessState.ExitCode() > 1 || took > returnBound {
				s.t.Errorf("%q: %v after %v:\n%s", args, cmd.ProcessState, took, out)
			}
			checkFree(s.t, pid)
		}
		stuck := start(s.t, "vfork", "100000")
		waitState(s.t, stuck.pid, "D")
		for _, args := range commandWays {
			on(stuck.pid, append([]string{"-p", itoa(stuck.pid)}, args...)...)
			on(s.pid, append([]string{"-p", itoa(s.pid)}, args...)...)
		}
		falls := start(s.t, "intovfork", "100000")
		go func() {
			time.Sleep(500 * time.Millisecond)
			unix.Kill(falls.pid, unix.SIGUSR1)
		}()
		on(falls.pid, "record", "-d", "1s", "-f", "folded", "-q", "-p", itoa(falls.pid), "-p", itoa(s.pid))
		waitState(s.t, falls.pid, "D")
		for _, c := range []*target{stuck, falls} {
			endVfork(s.t, c)
			endsBy(s.t, c, unix.SIGTERM)
		}
		s.running()
		commandInherits(s.t, how, which)
	}
}

// runBounded runs a command and returns all that it says. One that does not come back is killed.
func runBounded(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := begin(cmd); err != nil {
		t.Fatal(err)
	}
	bound := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer bound.Stop()
	_ = cmd.Wait() // what it ended with is in cmd.ProcessState
	return out.String()
}

// unblocked are the signals that the Go runtime unblocks in every thread of its own before any code of ours runs,
// and so in what it starts: HUP INT QUIT ILL TRAP ABRT BUS FPE SEGV TERM STKFLT CHLD URG PROF SYS and 32 to 34.
// Source: blockableSig in runtime/signal_unix.go, runtime/sigtab_linux_generic.go.
const unblocked = 0x3_c441_c5ff

// commandInherits compares the mask of a command that fpstack started with that of one that was started without.
func commandInherits(t testing.TB, how, which string) {
	t.Helper()
	mask := func(command ...string) uint64 {
		cmd := exec.Command("/proc/self/exe", append([]string{how, which}, command...)...)
		cmd.Env = append(os.Environ(), "MANNERS_HELPER=inherits")
		out := runBounded(t, cmd)
		_, rest, ok := strings.Cut(out, "\nSigBlk:")
		line, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
		if !ok || err != nil {
			t.Fatalf("%q said no mask: %v\n%s", command, err, out)
		}
		return n
	}
	file := t.TempDir() + "/out.folded"
	got, want := mask(fpstack, "record", "-q", "-o", file, "--", "/bin/cat", "/proc/self/status"),
		mask("/bin/cat", "/proc/self/status")
	if got != want&^unblocked {
		t.Errorf("a command under fpstack has signals %#x blocked, without it %#x", got, want)
	}
}
