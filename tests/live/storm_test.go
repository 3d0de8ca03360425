//go:build linux

package live

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/harness"
)

// outermost are the functions that nobody calls in a cgo program: of goroutines, of the runtime's threads, of C's, and
// of the first thread. thread_start is the end of clone in glibc for arm64.
var outermost = []string{"runtime.goexit", "runtime.mstart", "runtime.mcall", "runtime.rt0_go", "clone", "__clone",
	"clone3", "__clone3", "thread_start", "_start", "runtime.morestack"}

// TestSignalStorm: a cgo program whose threads get SIGUSR1 and SIGPROF without end is dumped 100 times and recorded.
// Each stack ends where stacks begin, also below a handler, or is short, says why, and is one of a hundred at most. The
// program loses no signal.
func TestSignalStorm(t *testing.T) {
	cmd := exec.Command(program(t, "storm-cgo"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r := launch(t, cmd).ready(t)
	seen, signalled, late, stacks, short := map[string]int{}, 0, 0, 0, 0
	const atMost = 400 // one stack in 300 has a handler on it
	atLeast, dumps := harness.Times(100), 0
	for dumps < atLeast || dumps < atMost && signalled == 0 {
		dumps++
		d, o := readGoroutines(t, r.pid)
		if o.status == 1 && strings.Contains(o.stderr, "not copied") { // the storm kept us from the CPU: it says so
			late++
			continue
		}
		if o.status != 0 {
			t.Errorf("status %d: %s", o.status, o.stderr)
		}
		for i := range d.Threads {
			th := &d.Threads[i]
			stacks++
			if !isWholeStormy(t, th) {
				short++
			}
			signalled += countSignals(th.Stack.Frames)
			for _, name := range []string{"spinInC", "sleepInC", "callGo", "main.spinInGo"} {
				if slices.ContainsFunc(th.Stack.Frames, func(f profile.Frame) bool { return f.Func == name }) {
					seen[name]++
				}
			}
		}
		if t.Failed() {
			break
		}
	}
	if len(seen) < 4 || signalled < 1 || late > dumps*3/4 || short*100 > stacks {
		t.Errorf("seen %v of the program, %d signal frames, %d of %d stacks short, %d of %d dumps late", seen,
			signalled, short, stacks, late, dumps)
	}
	t.Logf("| dumps: %d stacks, %d signal frames, %d short", stacks, signalled, short)
	recordStorm(t, r.pid)
	endStorm(t, r, in)
}

// isWholeStormy checks the stack of one thread. It is false if that is short, and says why.
func isWholeStormy(t *testing.T, th *profile.Thread) bool {
	t.Helper()
	s := &th.Stack
	if th.NotStopped != "" || len(s.Frames) == 0 {
		t.Errorf("thread %d: %d frames, not stopped: %q", th.TID, len(s.Frames), th.NotStopped)
		return true
	}
	if !s.Complete && s.Stop != "" && s.Detail != "" {
		t.Logf("thread %d is short: %s (%s)\n%s", th.TID, s.Stop, s.Detail, listed(s.Frames))
		return false
	}
	if last := s.Frames[len(s.Frames)-1].Func; !s.Complete || !slices.Contains(outermost, last) {
		t.Errorf("thread %d ends with %s (%s %s):\n%s", th.TID, last, s.Stop, s.Detail, listed(s.Frames))
	}
	for i := range s.Frames {
		f := &s.Frames[i]
		if strings.HasPrefix(f.Note, leftThread) && slices.ContainsFunc(s.Frames[:i], waitsForGoroutine) {
			break // what is below lies on the stack of a goroutine that no word of its thread leads to
		}
		if f.Note != "" || f.Func == "" {
			t.Errorf("thread %d: frame %d is not sure: %q\n%s", th.TID, i, f.Note, listed(s.Frames))
			break
		}
	}
	return true
}

// leftThread begins the note on the C frame that called a goroutine which has left the thread for a moment: on its way
// back from a system call it got no P.
const leftThread = "the goroutine that was called from here waits"

func waitsForGoroutine(f profile.Frame) bool { return f.Func == "runtime.stoplockedm" }

func countSignals(frames []profile.Frame) (n int) {
	for i := range frames {
		if frames[i].Kind == profile.Signal {
			n++
		}
	}
	return n
}

func listed(frames []profile.Frame) string {
	var b strings.Builder
	for i := range frames {
		f := &frames[i]
		fmt.Fprintf(&b, "  %#x %s+%#x {%s} %s\n", f.Addr, f.Func, f.Offset, f.Origin, f.Note)
	}
	return b.String()
}

// recordStorm records the program, and looks at the outermost frames of what was recorded.
func recordStorm(t *testing.T, pid int) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "storm.folded")
	o := show(t, "record", "-p", strconv.Itoa(pid), "-d", "3", "-F", "500", "-o", out)
	if o.status != 0 {
		t.Fatalf("record: status %d: %s", o.status, o.stderr)
	}
	total, odd, short := 0, 0, 0 // ns
	for line := range strings.Lines(readFile(t, out)) {
		stack, count, ok := strings.Cut(strings.TrimSpace(line), " ")
		for rest := ""; ok && strings.Contains(count, " "); { // names may have blanks
			rest, count, _ = strings.Cut(count, " ")
			stack += " " + rest
		}
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		total += n
		switch first, _, _ := strings.Cut(stack, ";"); {
		case slices.Contains(outermost, first):
		case strings.HasPrefix(first, "(stack cut: "):
			short += n
			t.Logf("%d ns are cut: %s", n, stack)
		default:
			odd += n
			t.Logf("%d ns begin with %q: %s", n, first, stack)
		}
	}
	t.Logf("| record: %d ns, %d cut", total, short)
	if total < 1e9 || odd > 0 || short > total/100 {
		t.Errorf("%d ns, of which %d begin with no outermost function and %d are cut", total, odd, short)
	}
}

// endStorm ends the program, and compares how many signals it sent and handled.
func endStorm(t *testing.T, r *target, in io.Writer) {
	t.Helper()
	if _, err := in.Write([]byte("q")); err != nil {
		t.Fatal(err)
	}
	var sent, handled int
	line := r.line(t)
	if _, err := fmt.Fscan(bytes.NewBufferString(line), &sent, &handled); err != nil || sent != handled || sent < 100 {
		t.Errorf("the program says %q, want as many signals handled as sent, and some hundred", line)
	}
}
