//go:build linux

package live

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// safeBuffer is what a program writes while a test reads it.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// runningAgent is a fpstack agent that a test started.
type runningAgent struct {
	cmd     *exec.Cmd
	stderr  safeBuffer
	metrics string
	ended   chan struct{}
}

// startAgent starts one with a page of metrics.
func startAgent(t *testing.T, args ...string) *runningAgent {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &runningAgent{metrics: l.Addr().String(), ended: make(chan struct{})}
	l.Close()
	a.cmd = exec.Command(fpstack, append([]string{"agent", "--metrics", a.metrics}, args...)...)
	a.cmd.Stderr = &a.stderr
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := start(a.cmd); err != nil {
		t.Fatal(err)
	}
	go func() { a.cmd.Wait(); close(a.ended) }()
	t.Cleanup(func() {
		a.cmd.Process.Kill()
		<-a.ended
	})
	return a
}

// metric reads one value of the page, -1 if it is not there.
func (a *runningAgent) metric(name string) float64 {
	answer, err := http.Get("http://" + a.metrics + "/metrics")
	if err != nil {
		return -1
	}
	defer answer.Body.Close()
	page, _ := io.ReadAll(answer.Body)
	for line := range strings.Lines(string(page)) {
		if rest, ok := strings.CutPrefix(line, "fpstack_agent_"+name); ok && (rest[0] == ' ' || rest[0] == '{') {
			v, _ := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' '):]), 64)
			return v
		}
	}
	return -1
}

// TestAgent: processes are found by their name as they come, each gets profiles that end together, accounts add up, and
// a signal ends it with everything sent.
func TestAgent(t *testing.T) {
	t.Parallel()
	out := filepath.Join(room(t), "out")
	first := named(t, "agent-first")
	config := filepath.Join(room(t), "agent.yaml")
	text := fmt.Sprintf("processes:\n  - name: [agent-first]\n    service: one\n    labels: {team: a}\n"+
		"  - name: agent-second\ninterval: 2s\nrate: 50\npush: file://%s\nmax-overhead: 0\n", out)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := startAgent(t, "--config", config)
	await(t, "the first process is recorded", func() bool { return a.metric("processes") == 1 })
	second := named(t, "agent-second")
	await(t, "the second too", func() bool { return a.metric("processes") == 2 })
	before := a.metric("intervals_total")
	await(t, "intervals", func() bool { return a.metric("intervals_total") >= before+2 })
	second.cmd.Process.Kill()
	await(t, "its end is seen", func() bool { return a.metric("processes") == 1 })
	a.cmd.Process.Signal(syscall.SIGUSR1)
	await(t, "accounts", func() bool { return strings.Contains(a.stderr.String(), "accounts since") })
	a.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-a.ended:
	case <-time.After(patience):
		t.Fatalf("it does not end: %s", a.stderr.String())
	}
	if !a.cmd.ProcessState.Success() || strings.Contains(a.stderr.String(), "panic") {
		t.Errorf("status %v: %s", a.cmd.ProcessState, a.stderr.String())
	}
	if state := threadStates(first.pid); strings.ContainsAny(state, "tT") {
		t.Errorf("the process that goes on is in states %q", state)
	}
	ones, twos := 0, 0
	for _, name := range names(t, out) {
		switch {
		case strings.Contains(name, "-one-"):
			ones++
		case strings.Contains(name, "-agent-second-"):
			twos++
		}
	}
	if ones < 3 || twos < 1 {
		t.Errorf("%d profiles of the first, %d of the second: %q", ones, twos, names(t, out))
	}
	all, err := filepath.Glob(filepath.Join(out, "*-one-*.pb.gz"))
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	o := show(t, append([]string{"flame", "--type", "wall", "-f", "folded"}, all...)...)
	if o.status != 0 || !strings.Contains(o.stdout, "main") {
		t.Errorf("status %d, %q, %s", o.status, o.stdout, o.stderr)
	}
}

// threadStates are the states of the threads of a process, a letter each.
func threadStates(pid int) (states string) {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, name := range stats {
		if b, err := os.ReadFile(name); err == nil {
			if i := bytes.LastIndexByte(b, ')'); i > 0 && i+2 < len(b) {
				states += string(b[i+2])
			}
		}
	}
	return states
}

// TestAgentUsage: what makes no sense is refused before anything is done, with the line of a file.
func TestAgentUsage(t *testing.T) {
	t.Parallel()
	dir := room(t)
	file := func(text string) string {
		path := filepath.Join(dir, fmt.Sprintf("c%d.yaml", len(text)))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--push", "file://" + dir}, "nothing to record"},
		{[]string{"-n", "x"}, "no --push URL"},
		{[]string{"-n", "x", "--push", "gopher://x"}, "no such kind of store"},
		{[]string{"-n", "x", "--push", "file://" + dir, "--metrics", "0.0.0.0:9405"}, "--metrics-any-host"},
		{[]string{"-n", "x", "--push", "file://" + dir, "--interval", "1ms"}, "want 1s to 1h"},
		{[]string{"--user", "no-such-user-here", "--push", "file://" + dir}, "no-such-user-here"},
		{[]string{"--cgroup", "x", "--push", "file://" + dir}, "want a path from the root"},
		{[]string{"--config", dir + "/none", "--push", "file://" + dir}, "no such file"},
		{[]string{"--config", file("processes:\n  - nam: x\n"), "--push", "file://" + dir},
			`line 2: unknown key "nam"`},
		{[]string{"--config", file("rate: quick\nprocesses:\n  - name: x\n"), "--push", "file://" + dir},
			"line 1"},
		{[]string{"--config", file("config: x\n"), "--push", "file://" + dir}, `unknown key "config"`},
	} {
		o := show(t, append([]string{"agent"}, tt.args...)...)
		if o.status != 64 || !strings.Contains(o.stderr, tt.want) {
			t.Errorf("%q: status %d, %q; want 64 and %q", tt.args, o.status, o.stderr, tt.want)
		}
	}
}
