//go:build linux

package job

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/hang/supervise"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/text"
)

// ending is the end of the tree by us. A nil *ending has not begun.
type ending struct {
	ended chan []int    // has a value when all was ended: what was left
	hurry chan struct{} // closed: end by SIGKILL
}

func (e *ending) left() <-chan []int {
	if e == nil {
		return nil
	}
	return e.ended
}

// rush makes it one by SIGKILL.
func (e *ending) rush() {
	select {
	case <-e.hurry:
	default:
		close(e.hurry)
	}
}

// endAll ends the tree, once.
func (j *job) endAll(how supervise.Ending) {
	if j.ending != nil {
		return
	}
	e := &ending{ended: make(chan []int, 1), hurry: make(chan struct{})}
	j.ending = e
	how.Patience, how.Hurry, how.Sent = j.Patience, e.hurry, j.saySent
	go func() { e.ended <- j.orphans.End(j.command, &how) }()
}

// onEnd does what is left to do when the command has ended, and returns what runs on though it was to end.
func (j *job) onEnd() (left []int) {
	if c := j.capture; c != nil {
		if !c.hurried || len(j.orphans.Living()) == 0 { // else what runs on is what hangs
			c.cancel()
			if !c.hurried {
				c.next = nil
			}
		}
		j.awaitCapture()
	}
	if j.wasEnded() {
		j.captureRest()
	}
	j.sayKilled()
	if j.ending == nil && j.Leftovers == Kill {
		j.endAll(supervise.Ending{})
	}
	switch {
	case j.ending != nil:
		return j.awaitEnding()
	case j.Leftovers == Wait:
		return j.awaitLeftovers()
	}
	j.sayHolders()
	return nil
}

// wasEnded reports whether somebody else ended the command, and what it has started runs on: CI systems that signal all
// processes of a job one by one begin with those that were started last.
func (j *job) wasEnded() bool {
	return j.InJob && j.ending == nil && j.asked.times == 0 && j.command.Death() == syscall.SIGTERM &&
		len(j.orphans.Living()) > 0
}

// shortly is how long before the end of a command the end of a process counts as what may have caused it.
const shortly = 3 * time.Second

// sayKilled says which processes somebody has ended just before a command failed in a CI job: a system that ends the
// leaves first leaves nothing to capture, and memory that runs out is seen by nothing else.
func (j *job) sayKilled() {
	if status, _ := j.command.Wait(); !j.InJob || j.ending != nil || j.asked.times > 0 || status == 0 {
		return
	}
	now := time.Now()
	j.ends.Ended(now)
	for _, k := range j.ends.Killed() {
		if k.PID != j.command.PID() && now.Sub(k.Seen) < shortly {
			j.to.Say(fmt.Sprintf("%s (%d), below the command, was ended by %s just before; what it did was not "+
				"captured", k.Name, k.PID, supervise.SignalName(k.Signal)))
		}
	}
}

// captureRest captures what runs on, and ends it.
func (j *job) captureRest() {
	j.begin(hang.Trigger{Kind: hang.Signalled, Note: "SIGTERM to the command"}, true, nil)
	j.awaitCapture()
	j.endAll(supervise.Ending{})
}

// finish says how it ended, with left running on though that was to end.
func (j *job) finish(left []int) *Outcome {
	o := &Outcome{Status: Limited, Left: left, HadTerminal: j.terminal.TakeFrom(j.command)}
	for _, pid := range left {
		j.to.Say(fmt.Sprintf("%s does not end by SIGKILL", describe(pid)))
	}
	select {
	case <-j.command.Ended():
	default:
		return o // it is one of those
	}
	status, err := j.command.Wait()
	switch {
	case err != nil:
		j.to.Say(err.Error())
		o.Status = status
	case j.limited && j.PreserveStatus:
		o.Status = status
	case j.limited:
	case j.command.Death() == syscall.SIGKILL && j.asked.wish != 0 && j.ending != nil: // ours, for somebody else
		o.Death, o.Status = j.asked.wish, 128+int(j.asked.wish)
	default:
		o.Status, o.Death = status, j.command.Death()
	}
	return o
}

// awaitEnding waits until all has ended. Signals make it faster.
func (j *job) awaitEnding() []int {
	for {
		select {
		case left := <-j.ending.left():
			return left
		case s := <-j.signals:
			if isEnd(s) && j.asked.again(time.Now()) && j.asked.times > 2 {
				j.ending.rush()
			}
		}
	}
}

// awaitLeftovers waits for what the command has left running, until a limit or a signal ends it.
func (j *job) awaitLeftovers() []int {
	for {
		j.orphans.Reap()
		if len(j.orphans.Living()) == 0 {
			return nil
		}
		if _, limit := j.watch.Check(time.Now()); limit {
			j.endLimited()
			return j.awaitEnding()
		}
		select {
		case s := <-j.signals:
			if isEnd(s) {
				j.asked.again(time.Now())
				j.endAll(supervise.Ending{})
				return j.awaitEnding()
			}
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// describe names a process, in its own bytes.
func describe(pid int) string {
	comm := procfs.Read(fmt.Sprintf("/proc/%d/comm", pid), 64)
	return fmt.Sprintf("%s (%d)", strings.TrimSuffix(string(comm), "\n"), pid)
}

// maxHolders is how many of those that keep our output open are named.
const maxHolders = 3

// sayHolders says who runs on and has the pipe open that our output goes to: who reads it waits for them.
func (j *job) sayHolders() {
	ours := map[string]bool{}
	for fd := 1; fd <= 2; fd++ {
		link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err == nil && (strings.HasPrefix(link, "pipe:") || strings.HasPrefix(link, "socket:")) {
			ours[link] = true
		}
	}
	if len(ours) == 0 {
		return
	}
	var holders []string
	for _, pid := range j.orphans.Below() {
		if slices.ContainsFunc(procfs.Links("/proc", pid), func(link string) bool { return ours[link] }) {
			holders = append(holders, describe(pid))
		}
	}
	if n := len(holders); n > maxHolders {
		holders = append(holders[:maxHolders], fmt.Sprintf("%d more", n-maxHolders))
	}
	switch len(holders) {
	case 0:
	case 1:
		j.to.Say(holders[0] + " keeps this step's output open")
	default:
		j.to.Say(strings.Join(holders, ", ") + " keep this step's output open")
	}
}

// saySent says which signal is sent to whom, as timeout(1) does: those that have left the command's process group by
// name, as nobody would expect them to end.
func (j *job) saySent(s syscall.Signal, pids []int) {
	line := fmt.Sprintf("sending %s to ", supervise.SignalName(s))
	root := j.command.PID()
	rest := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return pid == root })
	var away []string
	for _, pid := range rest {
		if st, err := procfs.ReadStat("/proc", pid); err == nil && st.Group != root {
			away = append(away, describe(pid))
		}
	}
	switch {
	case len(rest) == len(pids):
		line += fmt.Sprintf("what the command has left: %s", text.Count(len(rest), "process"))
	case len(rest) > 0:
		line += fmt.Sprintf("%s and %s below it", describe(root), text.Count(len(rest), "process"))
	default:
		line += describe(root)
	}
	if n := len(away); n > maxHolders {
		away = append(away[:maxHolders], fmt.Sprintf("%d more", n-maxHolders))
	}
	if len(away) > 0 {
		line += "; of these in a process group of their own: " + strings.Join(away, ", ")
	}
	j.to.Say(line)
}
