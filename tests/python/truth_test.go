//go:build linux && (amd64 || arm64)

package python

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/walked"
)

var (
	full    = flag.Bool("full", false, "all interpreters that are there, not one of each release")
	samples = flag.Int("samples", 30, "samples of each script")
)

// asks sends SIGUSR1 to the leader while it is stopped: faulthandler writes its stack before it runs an instruction.
type asks struct{ pid int }

func (a asks) Copy(t *snapshot.Thread, _ *snapshot.Fetcher) {
	if t.TID == a.pid {
		syscall.Syscall(syscall.SYS_TGKILL, uintptr(a.pid), uintptr(a.pid), uintptr(syscall.SIGUSR1))
	}
}

// place is a frame as faulthandler writes it; line 0 where it writes none.
type place struct {
	file, function string
	line           int
}

var frameLine = regexp.MustCompile(`^  File "(.*)", line (\d+|\?\?\?) in (.*)$`)

// answer waits for the end of the handler and returns what it wrote, innermost first. more says that it wrote not all,
// ended that the interpreter has ended: faulthandler of 3.11 to 3.13 crashes now and then, without a tracer too.
func (x *target) answer(t *testing.T) (places []place, more, ended bool) {
	t.Helper()
	pid := x.PID()
	for deadline, times := time.Now().Add(10*time.Second), 0; times < 3; { // between two states it is in neither
		done, ok := handled(pid)
		if times++; !done {
			times = 0
		}
		if !ok {
			return nil, false, true
		}
		if time.Now().After(deadline) {
			t.Fatalf("python %s did not run its signal handler", x.name)
		}
		time.Sleep(50 * time.Microsecond)
	}
	var b []byte
	buf := make([]byte, 1<<16)
	x.truth.SetReadDeadline(time.Now().Add(5 * time.Second))
	for {
		n, err := x.truth.Read(buf)
		if b = append(b, buf[:n]...); errors.Is(err, io.EOF) {
			return nil, false, true
		}
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasSuffix(b, []byte("\n")) && bytes.Count(b, []byte("\n")) > 1 {
			break
		}
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		if lines.Text() == "  ..." {
			more = true
		}
		m := frameLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		line, err := strconv.Atoi(m[2])
		if err != nil {
			more = more || x.minor >= 13 // it ends there
		}
		places = append(places, place{m[1], m[3], line})
	}
	return places, more, false
}

// handled reports whether SIGUSR1 is neither pending nor being handled by the leader of process pid; ok is false if
// that has ended.
func handled(pid int) (done, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, pid))
	if err != nil || bytes.Contains(b, []byte("State:\tZ")) {
		return false, false
	}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		if name == "SigPnd" || name == "ShdPnd" || name == "SigBlk" {
			mask, err := strconv.ParseUint(value, 16, 64)
			if err != nil || mask&(1<<(syscall.SIGUSR1-1)) != 0 {
				return false, true
			}
		}
	}
	return true, true
}

// escaped is a name as faulthandler writes it.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// differs compares frames with the truth: "" if they are equal.
func differs(frames []*profile.Frame, want []place, more bool) string {
	want = slices.DeleteFunc(slices.Clone(want), func(p place) bool {
		return p.file == "<shim>" || p.file == "__init__"
	})
	if len(frames) != len(want) && !(more && len(frames) > len(want)) {
		return fmt.Sprintf("%d frames, want %d", len(frames), len(want))
	}
	for i, w := range want {
		f := frames[i]
		name := f.Func[strings.LastIndexByte(f.Func, '.')+1:]
		if escaped(f.File) != w.file || escaped(name) != w.function && escaped(f.Func) != w.function ||
			w.line != 0 && f.Line != w.line {
			return fmt.Sprintf("frame %d is %s %s:%d, want %s %s:%d", i, f.Func, f.File, f.Line, w.function, w.file,
				w.line)
		}
	}
	return ""
}

// TestTruth compares the frames of each sample with what faulthandler writes at the same instant.
func TestTruth(t *testing.T) {
	for _, in := range interpreters(t) {
		for _, script := range []string{"mix.py", "execs.py", "callbacks.py"} {
			t.Run(in.name+"/"+script, func(t *testing.T) { checkTruth(t, in, script) })
		}
	}
}

func checkTruth(t *testing.T, in interpreter, script string) {
	x := start(t, in, script, nil)
	n, right, bad, late, frames, ends := *samples, 0, 0, 0, 0, 0
	for i := 0; i < n; i++ {
		walked.Pause(i)
		s := x.stop(t, asks{x.PID()})
		stack := x.Stack(s, 0)
		want, more, ended := x.answer(t)
		if ended {
			if ends++; ends > 2+n/50 {
				t.Skipf("python %s ended %d times in its own signal handler, in %d samples", in.name, ends, i)
			}
			x = start(t, in, script, nil)
			i--
			continue
		}
		got := python(&stack)
		if len(got) == 0 && missed(s, &stack) {
			late++
			continue
		}
		why := differs(got, want, more)
		if why == "" {
			why = flaws(&stack)
		}
		frames += len(got)
		if why == "" {
			right++
		} else if bad++; bad <= 3 {
			t.Errorf("sample %d: %s%s\ntruth %v\nshortfalls %v", i, why, describe(&stack), want,
				s.Threads[0].Shortfalls)
		}
	}
	t.Logf("%d of %d samples are right, %d frames; %d say that frames are missing; the interpreter ended %d times in "+
		"its own signal handler", right, n, frames, late, ends)
	if late > max(1, n/20) {
		t.Errorf("in %d of %d samples frames are missing", late, n)
	}
}

// missed reports whether frames of Python are missing, as others had the CPU while the process was stopped, which both
// the snapshot and the stack say, or as a call had just begun, which the stack says.
func missed(s *snapshot.Snapshot, stack *profile.Stack) bool {
	late := delayed(s)
	return slices.ContainsFunc(stack.Frames, func(f profile.Frame) bool {
		return late && strings.Contains(f.Note, "frames of Python are missing") ||
			strings.Contains(f.Note, "just begun")
	})
}

// delayed reports whether others had the CPU while the process was stopped, so that not all was copied.
func delayed(s *snapshot.Snapshot) bool {
	return slices.ContainsFunc(s.Problems, func(p string) bool { return strings.Contains(p, "not copied in time") })
}

// flaws says what is not as it should be in a stack whose frames of Python are right.
func flaws(s *profile.Stack) string {
	for i := range s.Frames {
		if f := &s.Frames[i]; f.Note != "" && f.Kind == profile.Python {
			return f.Note
		}
	}
	if !s.Complete {
		return "cut: " + s.Stop + ": " + s.Detail
	}
	return ""
}

// TestOrder: functions that call one another in a strict order are on each stack in that order.
func TestOrder(t *testing.T) {
	for _, in := range interpreters(t) {
		t.Run(in.name, func(t *testing.T) {
			x := start(t, in, "abc.py", nil)
			x.untilDeep(t)
			frames, late := 0, 0
			for i := range *samples {
				walked.Pause(i)
				s := x.stop(t)
				stack := x.Stack(s, 0)
				if len(python(&stack)) == 0 && missed(s, &stack) {
					late++
					continue
				}
				if why := ordered(python(&stack)); why != "" {
					t.Fatalf("sample %d: %s%s", i, why, describe(&stack))
				}
				if why := flaws(&stack); why != "" {
					t.Errorf("sample %d: %s%s", i, why, describe(&stack))
				}
				frames += len(python(&stack))
			}
			t.Logf("%d of %d samples are in order, %d frames; the others say that frames are missing", *samples-late,
				*samples, frames)
			if late > max(1, *samples/20) {
				t.Errorf("in %d of %d samples frames are missing", late, *samples)
			}
		})
	}
}

// untilDeep waits until the script is in a function: it says that it is ready before it calls one.
func (x *target) untilDeep(t *testing.T) {
	t.Helper()
	for i := range 1000 {
		stack := x.Stack(x.stop(t), 0)
		if len(python(&stack)) > 1 {
			return
		}
		walked.Pause(i)
	}
	t.Fatal("it calls no function")
}

// ordered checks the frames of abc.py.
func ordered(frames []*profile.Frame) string {
	var names []string
	for _, f := range slices.Backward(frames) {
		if !strings.HasSuffix(f.Func, "comp>") { // inlined from 3.12 on
			names = append(names, f.Func)
		}
		if filepath.Base(f.File) != "abc.py" {
			return "frame of " + f.File
		}
	}
	want := []string{"<module>", "top"}
	for len(want) < len(names) {
		want = append(want, string("abc"[(len(want)-2)%3]))
	}
	if len(names) < 2 || !slices.Equal(names, want) {
		return fmt.Sprintf("%q, want %q", names, want)
	}
	return ""
}
