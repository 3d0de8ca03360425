//go:build linux

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestRecordSuspended: Ctrl-Z stops fpstack alone. Whenever it comes, no thread of the target is held
// while fpstack is stopped, and after fg the recording goes on.
func TestRecordSuspended(t *testing.T) {
	t.Parallel()
	p := duty(t, "100", "2", "cpu", "70", "30")
	out := filepath.Join(room(t), "out.json")
	const script = `set -m
"$0" record -p "$1" -F 5000 --max-overhead 0 -d 1h -o "$2"
while read x && [ "$x" = on ]; do fg; done
kill -INT %1; fg; echo "status $?"`
	term := onTerminal(t, exec.Command(installed(t, "bash"), "-c", script, fpstack, strconv.Itoa(p.pid), out))
	for round := range 15 {
		term.sampled(t)
		recorder := childrenOf(term.cmd.Process.Pid)
		if len(recorder) != 1 {
			t.Fatalf("children of the shell: %d", recorder)
		}
		term.types(t, "\x1a")
		await(t, "fpstack is stopped", func() bool { return stateOf(recorder[0]) == 'T' })
		for _, tid := range threadsOf(p.pid) {
			status := readFile(t, "/proc/"+strconv.Itoa(tid)+"/status")
			if !strings.Contains(status, "\nTracerPid:\t0\n") || stateOf(tid) == 't' || stateOf(tid) == 'T' {
				t.Fatalf("round %d: thread %d is held while fpstack is stopped: state %q", round, tid, stateOf(tid))
			}
		}
		term.types(t, "on\r")
		await(t, "fpstack is continued", func() bool { return stateOf(recorder[0]) != 'T' })
		seen := len(samplesSeen.FindAllString(term.seen(), -1))
		await(t, "fpstack goes on", func() bool { return len(samplesSeen.FindAllString(term.seen(), -1)) > seen })
	}
	term.types(t, "\x1a")
	recorder := childrenOf(term.cmd.Process.Pid)
	await(t, "fpstack is stopped", func() bool { return len(recorder) == 1 && stateOf(recorder[0]) == 'T' })
	term.types(t, "end\r")
	term.awaits(t, "status 0")
	if b, err := os.ReadFile(out); err != nil || !strings.Contains(string(b), "work_a") {
		t.Errorf("result of %d bytes, %v", len(b), err)
	}
	checkFree(t, p.pid)
}
