//go:build linux

package job

import (
	"os"
	"syscall"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/hang/supervise"
)

// heed does what a signal asks for.
func (j *job) heed(s syscall.Signal) {
	switch {
	case s == syscall.SIGCHLD:
		j.childChanged()
	case s == j.DumpSignal:
		if j.captured == nil && j.ending == nil {
			j.capture(hang.Trigger{Kind: hang.Asked, Note: supervise.SignalName(s)}, 0, nil)
		}
	case s == syscall.SIGINT && (j.terminal.Ours() || j.justLent()):
		j.command.Signal(s) // Ctrl-C, where the terminal is not the command's yet, or never
	case isEnd(s):
		then := func() { j.command.Signal(s) }
		if s == syscall.SIGTERM || s == syscall.SIGINT && j.WithParent { // a CI job that is cancelled may get that
			then = j.endFor
		}
		j.wish = s
		j.wanted(hang.Trigger{Kind: hang.Signalled, Note: supervise.SignalName(s)}, then)
	default:
		j.command.Signal(s)
	}
}

// justLent reports whether the terminal was given to the command a moment ago: Ctrl-C before that came to us.
func (j *job) justLent() bool {
	return j.terminal != nil && !j.shared && time.Since(j.began) < apart
}

// isEnd reports whether s wants us to end.
func isEnd(s os.Signal) bool {
	return s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGHUP
}

// apart is how far apart two signals are that somebody sends one after the other. One event can bring several: a group
// is signalled, our parent with it, and that ends; a terminal is closed.
const apart = time.Second

// wanted is what happens when somebody wants us to end: the first time a capture within the grace, and then what
// follows. The second time that follows at once, the third time all is killed.
func (j *job) wanted(t hang.Trigger, then func()) {
	first := j.seen == 0
	again := !first && time.Since(j.heard) >= apart
	if first || again {
		j.seen++
		j.heard = time.Now()
	}
	j.bySignal = true
	switch {
	case j.seen > 2:
		j.rush()
		if j.captured != nil {
			j.cancel()
		}
		j.endFor()
	case j.captured == nil && first && j.ending == nil:
		j.capture(t, j.Grace, then)
	case j.captured == nil:
		then()
	case again: // enough was captured
		j.next = then
		j.cancel()
	case first: // the capture is that of a limit, and may go on for as long
		j.next = then
		time.AfterFunc(j.Grace, j.cancel)
	case t.Kind == hang.ParentEnded || j.wish == syscall.SIGTERM: // the same event, which ends more than was known
		j.next = then
	}
}

// rush makes an end that is under way one by SIGKILL.
func (j *job) rush() {
	select {
	case <-j.hurry:
	default:
		close(j.hurry)
	}
}

// childChanged reaps orphans, and sees whether the command was stopped.
func (j *job) childChanged() {
	j.checkStop()
	if since := time.Since(j.reaped); since < reapApart {
		if !j.reapLater {
			j.reapLater = true
			time.AfterFunc(reapApart-since, func() { j.signals <- syscall.SIGCHLD })
		}
		return
	}
	j.reapLater, j.reaped = false, time.Now()
	j.orphans.Reap()
}

// reapApart is how often orphans are reaped at most: to list children costs as much as a thousand other system calls.
const reapApart = 50 * time.Millisecond

// checkStop does for the command what the shell would do for it in our place, when job control has stopped it.
func (j *job) checkStop() {
	if j.captured != nil {
		return // the stop may be that of a tracer
	}
	s := j.command.Stopped()
	if s == 0 {
		j.stopKnown = false
		return
	}
	if j.stopKnown {
		return
	}
	had := j.terminal.TakeFrom(j.command)
	reads := s == syscall.SIGTTIN || s == syscall.SIGTTOU
	switch {
	case reads && !had && j.terminal.Ours(): // the shell's fg gave us the terminal, and says so to nobody
		j.lendAndContinue()
	case supervise.ShellWatches():
		begin := time.Now()
		supervise.Suspend(j.goOn)
		j.watch.Pause(time.Since(begin))
		j.lendAndContinue()
	case s == syscall.SIGSTOP: // somebody means it
		j.stopKnown = true
	case reads:
		j.stopKnown = true
	default: // as in an orphaned process group, where Ctrl-Z does nothing
		j.lendAndContinue()
	}
}

// resume is what SIGCONT asks for.
func (j *job) resume() {
	j.watch.Resumed(time.Now())
	j.lendAndContinue()
}

// lend gives the terminal to the command if it is ours.
func (j *job) lend() {
	if j.terminal.Ours() {
		j.terminal.Give(j.command.PID())
	}
}

func (j *job) lendAndContinue() {
	j.lend()
	j.command.Signal(syscall.SIGCONT)
	j.stopKnown = false
}
