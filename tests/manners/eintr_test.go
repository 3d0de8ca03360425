//go:build linux

package manners

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tracer"
	"golang.org/x/sys/unix"
)

var update = flag.Bool("update", false, "rewrite testdata/eintr.golden")

const eintrGolden = "testdata/eintr.golden"

// disturbances are how often a blocked call is stopped, and when after it blocked. The last
// stop comes late enough to tell a limit that goes on from one that starts again.
var disturbances = []struct {
	name string
	at   []time.Duration
}{
	{"none", nil},
	{"one", []time.Duration{300 * time.Millisecond}},
	{"several", []time.Duration{60 * time.Millisecond, 100 * time.Millisecond, 140 * time.Millisecond,
		180 * time.Millisecond, 220 * time.Millisecond, 260 * time.Millisecond, 300 * time.Millisecond}},
}

// most is how many calls block at a time; nearly all of the time they sleep.
const most = 16

// TestInterruptedCalls stops every blocking call, once and several times, and compares
// what its caller sees with the golden: EINTR for those that the kernel does not restart,
// nothing at all for the others.
func TestInterruptedCalls(t *testing.T) {
	if out, err := exec.Command("uname", "-m").Output(); err != nil || strings.TrimSpace(string(out)) != "x86_64" {
		t.Skip("the table was measured on x86_64")
	}
	list, err := exec.Command(program(t, "eintr"), "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	calls := strings.Split(strings.TrimSpace(string(list)), "\n")
	rows := make([]string, len(calls))
	room := make(chan struct{}, most)
	var all sync.WaitGroup
	for i, call := range calls {
		name, kind, _ := strings.Cut(call, " ")
		all.Add(1)
		go func() {
			defer all.Done()
			row := fmt.Sprintf("%-26s %-8s", name, kind)
			for _, d := range disturbances {
				room <- struct{}{}
				row += fmt.Sprintf(" %-8s", expectOutcome(t, name, kind, d.at))
				<-room
			}
			rows[i] = strings.TrimRight(row, " ")
		}()
	}
	all.Wait()
	compareGolden(t, rows)
}

// expectOutcome blocks in a call, and again where the machine was too busy to tell.
func expectOutcome(t *testing.T, name, kind string, at []time.Duration) (got string) {
	want := map[string]string{"restart": "on-time", "eintr": "eintr", "again": "again", "short": "short"}[kind]
	if len(at) == 0 {
		want = "on-time"
	}
	for range 8 {
		if got = outcome(t, name, at); got == want || got == "absent" {
			return got
		}
	}
	if got == "busy" {
		t.Logf("%s: not stopped in time in 8 tries, the machine is too busy", name)
		return "absent"
	}
	if got != want {
		t.Errorf("%s, stopped %d times: %s, want %s", name, len(at), got, want)
	}
	return got
}

// outcome blocks in a call in a process of its own, stops it, and says how it came back.
func outcome(t *testing.T, name string, at []time.Duration) string {
	c, err := startEintr(name)
	if err != nil {
		t.Error(err)
		return "broken"
	}
	defer func() {
		c.cmd.Process.Kill()
		c.cmd.Wait()
	}()
	var p *tracer.Process
	for line := range c.lines {
		words := strings.Fields(line)
		switch {
		case words[0] == "absent":
			return "absent"
		case words[0] == "block":
			if p, err = tracer.Open(c.pid, tracer.Options{}); err != nil {
				t.Error(err)
				return "broken"
			}
			defer p.Close()
			inTime, err := disturb(p, at)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !inTime {
				return "busy"
			}
		case words[0] == "done" && len(words) == 5:
			return judge(words[2:], at)
		}
	}
	return "broken"
}

func startEintr(name string) (*target, error) {
	cmd := exec.Command(built+"/eintr", name)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = begin(cmd)
	}
	if err != nil {
		return nil, err
	}
	return &target{pid: cmd.Process.Pid, cmd: cmd, lines: linesOf(out)}, nil
}

// disturb stops the process at times after now, and reports whether it was in time to meet
// the call that blocks.
func disturb(p *tracer.Process, at []time.Duration) (inTime bool, err error) {
	begun := time.Now()
	for _, d := range at {
		time.Sleep(time.Until(begun.Add(d)))
		_, err := p.Snapshot(context.Background(), tracer.StopOptions{})
		var zombie *tracer.ZombieError
		if errors.As(err, &zombie) || errors.Is(err, tracer.ErrNoProcess) || errors.Is(err, tracer.ErrExec) {
			return true, nil // EINTR came with an earlier stop, and it was done
		}
		if err != nil {
			return false, err
		}
		if time.Since(begun) > d+100*time.Millisecond {
			return false, nil
		}
	}
	return true, nil
}

// judge names what a call gave: its result, errno, and how long it took in milliseconds,
// of the 600 that it asked for.
func judge(words []string, at []time.Duration) string {
	const wanted = 600
	result, _ := strconv.Atoi(words[0])
	code, _ := strconv.Atoi(words[1])
	took, _ := strconv.Atoi(words[2])
	last := wanted
	if len(at) > 0 {
		last = int(at[len(at)-1].Milliseconds())
	}
	switch {
	case code == int(unix.EINTR) && took < wanted-20:
		return "eintr"
	case result > 8 && took < wanted:
		return "short"
	case took < wanted-20:
		return "early"
	case took < wanted+last-100:
		return "on-time"
	case took < wanted+last+500:
		return "again"
	}
	return "late"
}

func compareGolden(t *testing.T, rows []string) {
	t.Helper()
	head := fmt.Sprintf("%-26s %-8s %-8s %-8s %s", "# blocked in", "kind", "no-stop", "one", "several")
	text := strings.Join(append([]string{head}, rows...), "\n") + "\n"
	if *update {
		if err := os.WriteFile(eintrGolden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(eintrGolden)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(b)), "\n")[1:]
	for i := range max(len(want), len(rows)) {
		got, wanted := at(rows, i), at(want, i)
		if got != wanted && !slices.Contains(strings.Fields(got), "absent") {
			t.Errorf("got  %s\nwant %s", got, wanted)
		}
	}
}

func at(rows []string, i int) string {
	if i < len(rows) {
		return rows[i]
	}
	return "(none)"
}
