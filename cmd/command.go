package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/fpstack/fpstack/hang/supervise"
	"github.com/fpstack/fpstack/text"
	"github.com/fpstack/fpstack/tracer"
)

// runCommand gives the status of a command that ran, whatever became of its recording.
func (r *recording) runCommand(ctx context.Context) error {
	err := r.run(ctx)
	var start *supervise.StartError
	switch {
	case errors.As(err, &start):
		r.complain(err)
		return statusError(start.Status)
	case err != nil && err != errPart && err != errNothing:
		r.complain(err)
	}
	if r.child == nil {
		return statusError(supervise.Failed)
	}
	r.sayWaiting(err)
	status, waitErr := r.child.Wait()
	if r.unfollowed != nil { // again: what the command wrote is above it now
		r.complain(fmt.Errorf("reminder: %w", r.unfollowed))
	}
	if waitErr != nil {
		r.complain(waitErr)
	}
	if err != nil {
		return statusError(supervise.Failed)
	}
	if status != 0 {
		return statusError(status)
	}
	return nil
}

// sayWaiting says why fpstack goes on, when the recording is over and the command is not.
func (r *recording) sayWaiting(err error) {
	if r.o.quiet || r.o.duration == 0 || err != nil {
		return
	}
	select {
	case <-r.child.Ended():
	case <-time.After(endsWith):
		fmt.Fprintf(r.stderr, "%s (%d) still runs: waiting for it to end; Ctrl-C is passed on to it\n",
			text.Message(filepath.Base(r.command[0])), r.child.PID())
	}
}

// endsWith is how long after its recording a command may end without a line that says it goes on.
const endsWith = 100 * time.Millisecond

// follow adds the command to what is recorded. One that has ended already is no failure.
func (r *recording) follow() error {
	err := r.rec.Add(r.child.PID())
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

// lostCommand reports at once that the recording has ended by itself, with err, though the command goes on: it began a
// program that we may not trace. The error it returns is what is left to report.
func (r *recording) lostCommand(err error) error {
	name := filepath.Base(r.command[0])
	switch {
	case r.child.Gone():
		return err
	case err != nil:
		r.unfollowed = fmt.Errorf("command %q goes on and was not recorded: %w", name, err)
		return r.unfollowed
	}
	why := "nothing of it can be sampled"
	for _, note := range r.rec.Stats().Notes {
		if strings.Contains(note, "was let go: ") {
			why = note
		}
	}
	r.unfollowed = fmt.Errorf("command %q goes on and is recorded no longer: %s", name, why)
	r.complain(r.unfollowed)
	return nil
}

// statusError ends fpstack with a status that the table of a dump has not. What is to be
// said was said already.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// start starts a command, with files for its standard input, output and error, or ours. What this program changed for
// itself it gets as usual.
func (a *app) start(argv []string, files []uintptr) (*supervise.Command, error) {
	return supervise.Start(argv, supervise.Options{Files: files, Env: supervise.Environment(),
		Around: func(start func()) {
			a.oom.Usual(start)
		}})
}
