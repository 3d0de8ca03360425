package capture_test

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/hang/capture"
)

// shell runs a script that goes on when go is called.
func shell(t *testing.T, script string) (pid int, proceed func()) {
	t.Helper()
	needsProc(t)
	cmd := exec.Command("sh", "-c", "read go; "+script)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd.Process.Pid, func() { io.WriteString(in, "\n"); in.Close() }
}

// TestChanges: that a root ends, and that a process executes another program, is noted; looks end with the last
// process.
func TestChanges(t *testing.T) {
	for _, row := range []struct {
		script string
		want   func(pid int) hang.Activity
	}{
		{"exit 0", func(pid int) hang.Activity { return hang.Activity{Ended: []hang.Ended{{PID: pid, Name: "sh"}}} }},
		{"exec sleep 100", func(pid int) hang.Activity {
			return hang.Activity{Executed: []hang.Executed{{PID: pid, Name: "sh", Now: "sleep"}}}
		}},
		{"read never", func(int) hang.Activity { return hang.Activity{} }},
	} {
		t.Run(row.script, func(t *testing.T) {
			pid, proceed := shell(t, row.script)
			c := &hang.Case{Roots: []int{pid}, Processes: capture.Describe([]int{pid})}
			s := &onSecond{}
			s.then = func() {
				if row.script != "read never" {
					proceed()
				}
				if row.script == "exit 0" {
					s.fails = map[int]error{pid: errGone}
				}
				time.Sleep(300 * time.Millisecond) // until the kernel shows it
			}
			capture.Run(context.Background(), c, s, capture.Options{At: []time.Duration{0, 0, 0, 0},
				Tree: func() []int { return []int{pid} }, Gone: func(error) bool { return true }})
			want := row.want(pid)
			got := fmt.Sprint(c.Activity.Ended, c.Activity.Executed)
			if got != fmt.Sprint(want.Ended, want.Executed) {
				t.Errorf("got %s, want %v %v", got, want.Ended, want.Executed)
			}
			moments := 4
			if len(want.Ended) > 0 {
				moments = 1
			}
			if len(c.Moments) != moments {
				t.Errorf("got %d moments, want %d", len(c.Moments), moments)
			}
		})
	}
}

// onSecond does something in the second moment.
type onSecond struct {
	sampler
	then func()
	n    int
}

func (s *onSecond) Begin(ctx context.Context, pids []int) {
	if s.n++; s.n == 2 {
		s.then()
	}
	s.sampler.Begin(ctx, pids)
}
