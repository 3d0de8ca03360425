//go:build linux

package job

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/hang/supervise"
)

// passedOn are the signals that the command gets which we get, beside those for real time. The others come of what we
// do ourselves (SIGCHLD, SIGPIPE, SIGXCPU, faults), or stop us.
var passedOn = []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
	syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGTSTP, syscall.SIGWINCH, syscall.SIGIO, syscall.SIGPWR}

// Signals for real time. Source: signal(7); Go leaves the first ones to C libraries, and package tracer takes 63.
const (
	firstRealTime  = 35
	lastRealTime   = 64
	tracerRealTime = 63
)

// caught are the signals that mean something to us, or that we pass on; not those that were to be ignored. What comes
// of writing is caught so that it ends nobody.
func (j *job) caught() []os.Signal {
	all := []os.Signal{syscall.SIGCHLD}
	wanted := append([]syscall.Signal{syscall.SIGPIPE, syscall.SIGXFSZ}, passedOn...)
	for s := syscall.Signal(firstRealTime); s <= lastRealTime; s++ {
		if s != tracerRealTime {
			wanted = append(wanted, s)
		}
	}
	for _, s := range wanted {
		if !signal.Ignored(s) {
			all = append(all, s)
		}
	}
	if j.DumpSignal != 0 {
		all = append(all, j.DumpSignal)
	}
	return all
}

// heed does what a signal asks for. The command alone gets it, as it would if it were in our place; its whole group
// where the terminal would have sent it to that.
func (j *job) heed(s syscall.Signal) {
	switch {
	case s == syscall.SIGCHLD:
		j.childChanged()
	case s == syscall.SIGPIPE, s == syscall.SIGXFSZ:
	case s == j.DumpSignal:
		if j.capture == nil && j.ending == nil {
			j.begin(hang.Trigger{Kind: hang.Asked, Note: supervise.SignalName(s)}, false, nil)
		}
	case j.fromTerminal(s):
		j.command.SignalGroup(s)
	case s == syscall.SIGHUP && j.command.Heeds(s): // reload what you have read, for many
		j.command.Signal(s)
	case isEnd(s):
		j.wanted(s)
	default:
		j.command.Signal(s)
	}
}

// fromTerminal reports whether s came of the keys of the terminal, or of its end: it sends them to the process group
// in its foreground, where the command would be with us.
func (j *job) fromTerminal(s syscall.Signal) bool {
	switch s {
	case syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGWINCH:
		return j.terminal.Ours() || s == syscall.SIGINT && j.justLent()
	case syscall.SIGHUP:
		return j.terminal.HungUp()
	}
	return false
}

// justLent reports whether the terminal was given to the command a moment ago: Ctrl-C before that came to us.
func (j *job) justLent() bool {
	return j.terminal != nil && !j.shared && time.Since(j.began) < apart
}

// isEnd reports whether s wants us to end.
func isEnd(s os.Signal) bool {
	return s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGHUP
}

// asked is who wants us to end.
type asked struct {
	last    time.Time
	times   int              // of signals that were meant, in the last while
	pending []syscall.Signal // not passed on yet, 0 for the end of our parent
	wish    syscall.Signal   // the last one, 0: none came
}

// apart is how far apart two signals are that somebody sends one after the other. One event can bring several: a group
// is signalled, our parent with it, and that ends; a terminal is closed.
const apart = time.Second

// while is how long somebody who wants an end at once sends signals. What comes later has nothing to do with it.
const while = 30 * time.Second

// again counts somebody's wish, and reports whether it is another one than before.
func (a *asked) again(now time.Time) bool {
	if a.times > 0 && now.Sub(a.last) >= while {
		a.times = 0
	}
	if a.times > 0 && now.Sub(a.last) < apart {
		return false
	}
	a.times, a.last = a.times+1, now
	return a.times > 1
}

// wanted is what happens when somebody wants us to end, by s or, if that is 0, by the end of our parent: a capture
// within the grace, and then what follows. Who wants it again wants that at once; the third time, in a CI job, all is
// killed.
func (j *job) wanted(s syscall.Signal) {
	first := j.asked.times == 0 || time.Since(j.asked.last) >= while
	again := j.asked.again(time.Now())
	if s != 0 {
		j.asked.wish = s
	}
	if !slices.Contains(j.asked.pending, s) {
		j.asked.pending = append(j.asked.pending, s)
	}
	switch {
	case j.asked.times > 2 && j.InJob:
		if j.capture != nil {
			j.capture.cancel()
		}
		j.endAll(supervise.Ending{})
		j.ending.rush()
	case j.capture == nil && (j.ending != nil || !first):
		j.passPending()
	case j.capture == nil:
		t := hang.Trigger{Kind: hang.ParentEnded}
		if s != 0 {
			t = hang.Trigger{Kind: hang.Signalled, Note: supervise.SignalName(s)}
		}
		j.begin(t, true, j.passPending)
	case again: // enough was captured
		j.afterThat()
		j.capture.cancel()
	case !j.capture.hurried: // it may go on for as long as one for a signal
		j.afterThat()
		time.AfterFunc(j.Grace, j.capture.cancel)
	}
}

// afterThat passes on what is pending after the capture that runs, and then does what was to come.
func (j *job) afterThat() {
	c := j.capture
	next := c.next
	if c.hurried {
		return // it does already
	}
	c.hurried = true
	c.next = func() {
		j.passPending()
		if next != nil {
			next()
		}
	}
}

// passPending gives the command the signals that wait for a capture. In a CI job all ends that does not end by them.
func (j *job) passPending() {
	pending := j.asked.pending
	j.asked.pending = nil
	for _, s := range pending {
		switch {
		case s == 0:
			j.endLimited()
		case j.InJob && s != syscall.SIGHUP:
			j.endAll(supervise.Ending{First: s, Alone: true})
		default:
			j.command.Signal(s)
		}
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
