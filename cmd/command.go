package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/fpstack/fpstack/tracer"
)

// runCommand gives the status of a command that ran, whatever became of its recording.
func (r *recording) runCommand(ctx context.Context) error {
	err := r.run(ctx)
	var start *startError
	switch {
	case errors.As(err, &start):
		r.complain(err)
		return statusError(start.status)
	case err != nil && err != errPart && err != errNothing:
		r.complain(err)
	}
	if r.child == nil {
		return statusError(statusOurs)
	}
	<-r.child.ended
	if r.unfollowed != nil { // again: what the command wrote stands above it now
		r.complain(fmt.Errorf("reminder: %w", r.unfollowed))
	}
	if r.child.err != nil {
		r.complain(r.child.err)
	}
	if err != nil {
		return statusError(statusOurs)
	}
	if r.child.status != 0 {
		return statusError(r.child.status)
	}
	return nil
}

// follow adds the command to what is recorded. One that has ended already is no failure.
func (r *recording) follow() error {
	err := r.rec.Add(r.child.process.Pid)
	var zombie *tracer.ZombieError
	if errors.Is(err, tracer.ErrNoProcess) || errors.As(err, &zombie) {
		r.tooShort = true
		return nil
	}
	if err != nil {
		r.unfollowed = fmt.Errorf("command %q runs and is not recorded: %w", filepath.Base(r.command[0]), err)
	}
	return r.unfollowed
}

// lostCommand tells at once that the recording has ended by itself, with err, though the command goes on: it began a program
// that we may not look into. The error it returns is what is left to be told.
func (r *recording) lostCommand(err error) error {
	name := filepath.Base(r.command[0])
	switch {
	case isZombie(r.child.process.Pid):
		return err
	case err != nil:
		r.unfollowed = fmt.Errorf("command %q goes on and was not recorded: %w", name, err)
		return r.unfollowed
	}
	why := "nothing of it can be looked at"
	for _, note := range r.rec.Stats().Notes {
		if strings.Contains(note, "was let go: ") {
			why = note
		}
	}
	r.unfollowed = fmt.Errorf("command %q goes on and is recorded no longer: %s", name, why)
	r.complain(r.unfollowed)
	return nil
}

// passedOn are the signals, beside those that end a recording, that a command gets which we get: what programs give
// a meaning of their own. Those that were to be ignored stay so.
func passedOn() []os.Signal {
	var signals []os.Signal
	for _, s := range []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2} {
		if !signal.Ignored(s) {
			signals = append(signals, s)
		}
	}
	return signals
}

// owed passes the signals that we get on to the command: who started fpstack in its place sends them to us. Those that come
// before the command is known are kept for it. Any goroutine may call its methods.
type owed struct {
	mu      sync.Mutex
	child   *child
	signals []os.Signal // not passed on yet
}

// pass gives the command s, unless it has it already.
func (o *owed) pass(s os.Signal) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.child == nil:
		o.signals = append(o.signals, s)
	case s == syscall.SIGINT && o.child.sharesKeys():
	default:
		o.child.process.Signal(s)
	}
}

// settle says that the command runs.
func (o *owed) settle(c *child) {
	o.mu.Lock()
	o.child = c
	signals := o.signals
	o.mu.Unlock()
	for _, s := range signals {
		o.pass(s)
	}
}

// sharesKeys tells whether the terminal sends Ctrl-C to us and to the child both: we are in its foreground, and
// the child in our process group. A second Ctrl-C means to many programs that they shall end at once.
func (c *child) sharesKeys() bool {
	ours, err := relations(os.Getpid())
	theirs, childErr := relations(c.process.Pid)
	return err == nil && childErr == nil && ours.group == theirs.group && inForeground()
}
