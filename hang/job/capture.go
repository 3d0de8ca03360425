//go:build linux

package job

import (
	"context"
	"time"

	"github.com/fpstack/fpstack/hang"
)

// capture is one that runs. A nil *capture is none.
type capture struct {
	cancel  context.CancelFunc
	next    func()        // what comes after it, nil: nothing
	hurried bool          // it is for somebody who wants us to end
	over    chan struct{} // closed when it has ended, or takes far longer than it may
	harmed  chan bool     // has a value when it has ended
}

// overdue is how long a capture may take after its context has ended, until nobody waits for it any more: a disk, or
// the network, holds it up.
const overdue = 2 * time.Second

// ended is closed when it is over, nil where there is none.
func (c *capture) ended() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.over
}

// begin begins a capture, within the grace if it is hurried, and does next when it is over.
func (j *job) begin(t hang.Trigger, hurried bool, next func()) {
	most := j.Whole
	if hurried {
		most = j.Grace
	}
	ctx, cancel := context.WithTimeout(context.Background(), most)
	c := &capture{cancel: cancel, next: next, hurried: hurried, over: make(chan struct{}), harmed: make(chan bool, 1)}
	j.capture = c
	j.ends.Ended(time.Now())
	tree := Tree{Root: j.command.PID(), Began: j.began, List: j.orphans.Below, Killed: j.ends.Killed(),
		Seen: j.watch.Seen(), Hurried: hurried, Helper: j.orphans.Helper}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.harmed <- j.to.Capture(ctx, t, tree)
	}()
	go func() {
		defer close(c.over)
		defer cancel()
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		select {
		case <-done:
		case <-time.After(overdue):
		}
	}()
}

// afterCapture does what comes next when a capture is over.
func (j *job) afterCapture() {
	c := j.capture
	j.capture = nil
	select {
	case harmed := <-c.harmed:
		j.limited = j.limited || harmed
	default:
		j.to.Say("what was captured cannot be written; fpstack goes on without it")
	}
	j.checkStop()
	if c.next != nil {
		c.next()
	}
}

// awaitCapture waits for the end of a capture when the command has ended. A further signal ends it.
func (j *job) awaitCapture() {
	for j.capture != nil {
		select {
		case <-j.capture.ended():
			j.afterCapture()
		case s := <-j.signals:
			if isEnd(s) && j.asked.again(time.Now()) {
				j.capture.cancel()
			}
		}
	}
}
