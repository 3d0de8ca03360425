//go:build linux

package tracer

import (
	"errors"
	"time"

	"github.com/fpstack/fpstack/tracer/osthread"
)

// copier runs work that may sleep in the kernel for ever on another thread than the one
// that must release the target. After such a sleep it is given up, with its thread; the
// end of our process ends it.
type copier struct {
	work chan func()
	idle chan error // what became of it
	dead bool       // it has not ended what it was given
}

// errNotInTime says that the copier has not ended, or will not be called again.
var errNotInTime = errors.New("not ended in time")

func startCopier() *copier {
	c := &copier{work: make(chan func(), 1), idle: make(chan error, 1)}
	go func() {
		for f := range c.work {
			c.idle <- osthread.Guard(f)
		}
	}()
	_ = c.do(func() {}, time.Second) // its start would compete for the CPU with the stop
	return c
}

func (c *copier) close() { close(c.work) }

// do runs f within the bound. It fails with errNotInTime, when what f writes must not be read, or with a
// *FaultError if f panicked.
func (c *copier) do(f func(), bound time.Duration) error { return c.doUntil(f, bound, nil) }

// doUntil is do for what may take long: when ended is closed f has a moment more.
func (c *copier) doUntil(f func(), bound time.Duration, ended <-chan struct{}) error {
	if c.dead {
		return errNotInTime
	}
	timer := time.NewTimer(bound)
	defer timer.Stop()
	c.work <- f
	select {
	case err := <-c.idle:
		return err
	case <-timer.C:
	case <-ended:
		timer.Reset(coreGrace)
		select {
		case err := <-c.idle:
			return err
		case <-timer.C:
		}
	}
	c.dead = true
	return errNotInTime
}

// await waits, no longer than the bound, for work that was not done in time. It reports whether that has ended: then
// what it wrote may be read, and the copier be used again.
func (c *copier) await(bound time.Duration) bool {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-c.idle:
		c.dead = false
		return true
	case <-timer.C:
		return false
	}
}
