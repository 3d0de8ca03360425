//go:build linux

package job

import (
	"syscall"
	"time"

	"github.com/fpstack/fpstack/hang/supervise"
)

// checkStop does for the command what the shell would do for it in our place, when job control has stopped it. We stop
// with it only where a shell lets us go on: our limits stand still with us.
func (j *job) checkStop() {
	if j.capture != nil {
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
	case j.ending == nil && supervise.ShellWatches():
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

// noticeResume waits for the SIGCONT that let us go on where a check is so late that one is likely: the timer and the
// signal are due at one moment, and time that we were stopped counts for no limit.
func (j *job) noticeResume() {
	const soon = 500 * time.Millisecond
	if !j.watch.Overdue(time.Now()) {
		return
	}
	select {
	case <-j.goOn:
		j.resume()
	case <-time.After(soon):
	}
}

// lend gives the terminal to the command if it is ours.
func (j *job) lend() {
	if j.terminal.Ours() {
		j.terminal.Give(j.command.PID())
	}
}

// lendAndContinue lets the command's group go on, as the shell lets ours.
func (j *job) lendAndContinue() {
	j.lend()
	j.command.SignalGroup(syscall.SIGCONT)
	j.stopKnown = false
}
