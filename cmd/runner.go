package cmd

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/hang/capture"
	"github.com/fpstack/fpstack/hang/job"
	"github.com/fpstack/fpstack/hang/supervise"
	"github.com/fpstack/fpstack/text"
)

// runner says what the command of one run is doing.
type runner struct {
	*app
	o    *runOptions
	argv []string
	// explained says that why the command was ended is written: that it ended is no success.
	explained atomic.Bool
}

// Say implements [job.Observer].
func (r *runner) Say(line string) { fmt.Fprintf(r.stderr, "fpstack: %s\n", text.Message(line)) }

// Capture implements [job.Observer].
func (r *runner) Capture(ctx context.Context, t hang.Trigger, tree job.Tree) (harmed bool) {
	o := &caseOptions{trigger: t, command: r.argv, roots: []int{tree.Root}, tree: tree.List, at: capture.Usual,
		naming: r.o.namingOptions, began: tree.Began, report: r.newHangReport(&r.o.reportOptions)}
	for _, k := range tree.Killed {
		o.killed = append(o.killed, hang.Killed{PID: k.PID, Name: k.Name, Signal: supervise.SignalName(k.Signal),
			Seen: k.Seen})
	}
	sampling := ctx
	if until, hurried := ctx.Deadline(); hurried {
		o.at = capture.Hurried
		if left := time.Until(until) - forWriting; left > 0 {
			var cancel context.CancelFunc
			sampling, cancel = context.WithTimeout(ctx, left)
			defer cancel()
		}
	}
	c := r.capture(sampling, o)
	command := r.argv
	if t.Kind == hang.Asked || t.Kind == hang.Warned {
		command = nil // it goes on
	}
	r.explained.Store(r.explained.Load() || command != nil)
	io.WriteString(r.stderr, "\n") // what CMD wrote last may have no end of line: commands of a log begin one
	v := hang.Judge(c)
	if err := o.report.finish(r.stderr, c, v, command); err != nil {
		r.complain(err)
	}
	if r.o.cores.on && command != nil {
		r.keepCores(ctx, c, v, tree.List(), o.report)
	}
	return r.o.ownDumps && command != nil && r.quitRuntimes(c, o.report)
}

// forWriting is how much of the time after a signal is left for what was captured to be named and written.
const forWriting = 500 * time.Millisecond
