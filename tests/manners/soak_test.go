//go:build linux

package manners

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/tracer"
	"golang.org/x/sys/unix"
)

// soakLane is one tree of processes of testdata/mixed.c after the other, and who attaches to it: the command, and
// package tracer in processes of their own.
type soakLane struct {
	t                   *testing.T
	attaches, kills     int // to be reached
	attached            atomic.Int64
	killed, held, stops int
	usual               map[string]time.Duration // of the command, by its arguments
	tree                []int                    // as it was at the last look
	sum                 *tally
}

// TestSoak attaches to threads of processes that fork, execute programs, signal each other, stop, trace themselves, are
// killed and change their rights, and kills tracers meanwhile by SIGKILL at random moments. The processes count what
// they did, and notice none of it. With FPSTACK_SOAK=million it is a million attaches and ten thousand kills.
func TestSoak(t *testing.T) {
	const lanes = 4
	attaches, kills := rounds(2000, 40_000), rounds(40, 400)
	if os.Getenv("FPSTACK_SOAK") == "million" {
		attaches, kills = 1_000_000, 10_000
	}
	t.Run("lanes", func(t *testing.T) {
		for i := range lanes {
			t.Run(itoa(i), func(t *testing.T) {
				t.Parallel()
				l := &soakLane{t: t, attaches: attaches / lanes, kills: kills / lanes,
					usual: map[string]time.Duration{}, sum: newTally()}
				for l.missing() {
					l.generation()
				}
				l.report()
			})
		}
	})
}

// missing reports whether something is still to be done, and there is time for it.
func (l *soakLane) missing() bool {
	end, limited := l.t.Deadline()
	return !l.t.Failed() && (!limited || time.Until(end) > 3*patience) && !l.done()
}

func (l *soakLane) done() bool { return l.killed >= l.kills && int(l.attached.Load()) >= l.attaches }

// generation is the life of one tree, which ends by itself after two minutes at most.
func (l *soakLane) generation() {
	const life = 40 * time.Second
	begun := time.Now()
	c := start(l.t, "mixed", "64")
	for l.missing() && time.Since(begun) < life {
		l.tree = treeBelow(c.pid)
		if l.killed < l.kills && l.killed*l.attaches <= int(l.attached.Load())*l.kills {
			l.kill(c.pid)
		} else {
			l.whole(c.pid)
		}
		l.checkFree(c.pid)
		l.lookAtStalls(c)
	}
	if err := unix.Kill(c.pid, unix.SIGTERM); err != nil {
		l.t.Fatal(err)
	}
	line := c.next(l.t, 2*patience+life/4)
	for ; strings.HasPrefix(line, stalled); line = c.next(l.t, 2*patience+life/4) {
		l.t.Logf("%s\n%s", line, look(c.pid))
	}
	r := parseReport(line)
	if !strings.HasPrefix(r.text, "ok ") {
		l.t.Errorf("the processes noticed: %s", r.text)
	}
	if err := c.cmd.Wait(); err != nil {
		l.t.Errorf("mixed: %v", err)
	}
	l.sum.add(r)
	l.t.Logf("so far %d threads attached to, %d tracers killed", l.attached.Load(), l.killed)
}

func treeBelow(pid int) []int { return procfs.Tree([]int{pid}, tracer.ChildrenOf) }

// soakCommands are what the command is called with, besides the processes.
var soakCommands = []string{"-f json", "-f json --rolling", "-f json --kernel",
	"record --rate 500 -d 0.2 -f folded -o -", "record --rate 99 -d 0.2 --kernel -f folded -o -"}

// soakCommand is the command for the first process of the tree, which stays, and some others, or for all.
func (l *soakLane) soakCommand(args string, pid int) *exec.Cmd {
	words := strings.Fields(args)
	if rand.N(10) == 0 {
		return exec.Command(fpstack, append(words, "--children", "-p", itoa(pid))...)
	}
	words = append(words, "-p", itoa(pid))
	for range 2 {
		words = append(words, "-p", itoa(l.tree[rand.N(len(l.tree))]))
	}
	return exec.Command(fpstack, words...)
}

// kill starts a tracer and kills it: at a random moment of its usual time, or when it is seen to hold a process. One
// that ended before does not count.
func (l *soakLane) kill(pid int) {
	var cmd *exec.Cmd
	usual := 10 * time.Millisecond
	if n := rand.N(len(soakCommands) + 1); n == len(soakCommands) {
		cmd = l.helper(pid)
	} else {
		cmd, usual = l.soakCommand(soakCommands[n], pid), l.usually(soakCommands[n], pid)
		if err := begin(cmd); err != nil {
			l.t.Fatal(err)
		}
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	if l.killed%2 == 0 {
		select {
		case <-ended:
		case <-time.After(rand.N(usual)):
		}
	}
	held := l.awaitHeld(time.Duration(l.killed%2)*usual, ended)
	cmd.Process.Kill()
	<-ended
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
		return
	}
	l.killed++
	if held {
		l.held++
	}
}

// awaitHeld reports whether a process of the tree is held by another that is not of it, now or within that time, while
// the tracer has not ended.
func (l *soakLane) awaitHeld(most time.Duration, ended <-chan struct{}) bool {
	for end := time.Now().Add(most); ; {
		for _, pid := range l.tree {
			st, ok := statusOf("/proc/" + itoa(pid))
			if ok && st.TracerPid > 0 && !slices.Contains(l.tree, st.TracerPid) {
				return true
			}
		}
		select {
		case <-ended:
			return false
		case <-time.After(50 * time.Microsecond):
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// usually is how long the command takes, a third of a second at most: it was asked on a machine that may be busy.
func (l *soakLane) usually(args string, pid int) time.Duration {
	if l.usual[args] == 0 {
		begun := time.Now()
		l.command(args, pid)
		l.usual[args] = min(time.Since(begun), time.Second/3)
	}
	return l.usual[args]
}

// command runs the command to its end and adds up the threads that it stopped, where it says so.
func (l *soakLane) command(args string, pid int) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := l.soakCommand(args, pid)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := begin(cmd); err != nil {
		l.t.Fatal(err)
	}
	context.AfterFunc(ctx, func() { cmd.Process.Kill() })
	cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 0 && status != 1 {
		l.t.Errorf("fpstack %s: exit status %d: %s", args, status, errs.String())
	}
	for d := json.NewDecoder(strings.NewReader(out.String())); ; {
		var dump struct {
			Threads []struct {
				Stopped int64 `json:"stopped_ns"`
			}
		}
		if d.Decode(&dump) != nil {
			return
		}
		for _, thread := range dump.Threads {
			if thread.Stopped > 0 {
				l.attached.Add(1)
			}
		}
	}
}

// whole has a tracer attach that is not killed: now and then the command, else one that does nothing else.
func (l *soakLane) whole(pid int) {
	if l.stops++; l.stops%20 == 0 {
		l.command(soakCommands[rand.N(len(soakCommands))], pid)
		return
	}
	cmd := l.helper(pid)
	time.Sleep(time.Second)
	cmd.Process.Signal(unix.SIGTERM)
	cmd.Wait()
}

// helper starts a process that attaches to the whole tree again and again, and adds up what it did.
func (l *soakLane) helper(pid int) *exec.Cmd {
	cmd := helperOn(l.t, "soaker", pid)
	out, err := cmd.StdoutPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := begin(cmd); err != nil {
		l.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "R" {
		l.t.Fatalf("helper said %q", lines.Text())
	}
	go func() {
		for lines.Scan() {
			n, _ := strconv.Atoi(lines.Text())
			l.attached.Add(int64(n))
		}
	}()
	return cmd
}

// soaker PID: attaches to all threads of the tree below PID in all ways, process by process, and writes after each
// how many threads it stopped.
func soaker(args []string) {
	fmt.Println("R")
	for i := rand.N(4); ; i++ {
		for _, pid := range treeBelow(pidArg(args[0])) {
			if n := soakProcess(pid, i%(len(ways)+1)); n > 0 {
				fmt.Println(n)
			}
		}
	}
}

// soakProcess attaches to one process, that may be gone, or traced by another, and counts the threads that stopped.
func soakProcess(pid, way int) (stopped int) {
	if way == len(ways) {
		k, err := openSampler(pid, tracer.SamplerOptions{})
		if err != nil {
			return 0
		}
		defer k.close()
		for range 3 {
			if k.round() != nil {
				break
			}
		}
		return k.samples
	}
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		return 0
	}
	defer p.Close()
	s, err := p.Snapshot(context.Background(), ways[way])
	if err != nil {
		return 0
	}
	for i := range s.Threads {
		if s.Threads[i].Stopped > 0 {
			stopped++
		}
	}
	return stopped
}

// checkFree fails if a thread of the tree is in a trace stop, unless a process of the tree traces it.
func (l *soakLane) checkFree(pid int) {
	l.t.Helper()
	tree := treeBelow(pid)
	for _, pid := range tree {
		for _, dir := range taskDirs(pid) {
			if stateIn(dir) != 't' {
				continue
			}
			if st, ok := statusOf(dir); ok && stateIn(dir) == 't' && !slices.Contains(tree, st.TracerPid) {
				l.t.Errorf("thread %s is still held: %s", dir, threadStates(pid))
			}
		}
	}
}

func (l *soakLane) report() {
	l.t.Helper()
	if !l.done() && !l.t.Failed() {
		l.t.Errorf("the time was too short for %d attaches and %d kills: give a longer -timeout", l.attaches, l.kills)
	}
	var did []string
	for _, name := range []string{"signals", "forks", "vforks", "execs", "stops", "traces", "kills", "credentials",
		"filters", "sleeps", "sent", "received", "asked", "answered", "refused"} {
		did = append(did, fmt.Sprintf("%s %d", name, l.sum.counts[name]))
	}
	l.t.Logf("%d threads attached to, %d tracers killed, %d of them while a process was seen held, in %v; the "+
		"processes did %s", l.attached.Load(), l.killed, l.held, time.Since(l.sum.begun).Round(time.Second),
		strings.Join(did, ", "))
}
