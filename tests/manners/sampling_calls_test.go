//go:build linux

package manners

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/syscalls"
	"github.com/fpstack/fpstack/tracer"
)

// TestCallsThatEndWithEINTR compares what the tracer says of each system call of each
// architecture with the names of those that signal(7) lists, epoll_pwait2 and io_uring_enter
// added, which are younger than that list.
func TestCallsThatEndWithEINTR(t *testing.T) {
	want := []string{"epoll_wait", "epoll_pwait", "epoll_pwait2", "semop", "semtimedop", "semtimedop_time64",
		"rt_sigtimedwait", "rt_sigtimedwait_time64", "io_getevents", "io_uring_enter"}
	for _, a := range regs.All {
		found := 0
		for nr := range int64(1024) {
			name, ok := syscalls.Name(a.Name, nr)
			if !ok || name == "ipc" { // its first argument says what it does
				continue
			}
			got := tracer.EndsWithEINTR(snapshot.Syscall{Number: nr}, a)
			if got != slices.Contains(want, name) {
				t.Errorf("%s, %d %s: got %v", a.Name, nr, name, got)
			}
			if got {
				found++
			}
		}
		if found < 7 {
			t.Errorf("%s: %d calls", a.Name, found)
		}
	}
}

// TestGoldenOfCallsAgrees compares it with what was measured call by call: each call of the golden
// that returned EINTR is listed or has a limit on its socket, and no other is.
func TestGoldenOfCallsAgrees(t *testing.T) {
	golden, err := os.ReadFile(eintrGolden)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(golden)) {
		words := strings.Fields(line)
		if len(words) != 5 {
			continue // the heading
		}
		name, limited := strings.CutSuffix(words[0], "-limit")
		onSocket := limited && slices.Contains([]string{"recv", "send", "accept", "connect"}, name)
		if name = map[string]string{"sigwaitinfo": "rt_sigtimedwait",
			"sigtimedwait": "rt_sigtimedwait"}[name]; name == "" {
			name, _ = strings.CutSuffix(words[0], "-limit")
		}
		nr, known := numberOf(name)
		if !known {
			continue // named after a library function
		}
		got := tracer.EndsWithEINTR(snapshot.Syscall{Number: nr}, regs.AMD64)
		if measured := words[3] == "eintr"; got != (measured && !onSocket) {
			t.Errorf("%s: got %v, measured %s", words[0], got, words[3])
		}
	}
}

func numberOf(name string) (int64, bool) {
	for nr := range int64(1024) {
		if n, ok := syscalls.Name("amd64", nr); ok && n == name {
			return nr, true
		}
	}
	return 0, false
}
