//go:build linux

package tracer

import "time"

// copier runs work that may sleep in the kernel for ever on another thread than the one
// that must release the target. After such a sleep it is given up, with its thread; the
// end of our process ends it.
type copier struct {
	work chan func()
	idle chan struct{}
	dead bool
}

func startCopier() *copier {
	c := &copier{work: make(chan func(), 1), idle: make(chan struct{}, 1)}
	go func() {
		for f := range c.work {
			f()
			c.idle <- struct{}{}
		}
	}()
	c.do(func() {}, time.Second) // its start would compete for the CPU with the stop
	return c
}

func (c *copier) close() { close(c.work) }

// do runs f and tells whether it ended within the bound. What f writes must not be read
// if it did not.
func (c *copier) do(f func(), bound time.Duration) bool {
	if c.dead {
		return false
	}
	timer := time.NewTimer(bound)
	defer timer.Stop()
	c.work <- f
	select {
	case <-c.idle:
		return true
	case <-timer.C:
		c.dead = true
		return false
	}
}
