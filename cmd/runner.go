package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/hang/capture"
	"github.com/fpstack/fpstack/hang/job"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/text"
)

// runner says what the command of one run is doing.
type runner struct {
	*app
	o    *runOptions
	argv []string
}

// Say implements [job.Observer].
func (r *runner) Say(line string) { fmt.Fprintf(r.stderr, "fpstack: %s\n", text.Message(line)) }

// Capture implements [job.Observer].
func (r *runner) Capture(ctx context.Context, t hang.Trigger, tree job.Tree) {
	o := &caseOptions{trigger: t, command: r.argv, roots: []int{tree.Root}, tree: tree.List, at: capture.Usual,
		naming: r.o.namingOptions}
	if until, hurried := ctx.Deadline(); hurried {
		o.at = capture.Hurried
		if left := time.Until(until) - forWriting; left > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, left)
			defer cancel()
		}
	}
	c := r.capture(ctx, o)
	c.Began = tree.Began
	v := hang.Judge(c)
	if err := report.HangText(r.stderr, c, v, report.Options{Group: true}); err != nil {
		r.complain(err)
	}
}

// forWriting is how much of the time after a signal is left for what was captured to be named and written.
const forWriting = 500 * time.Millisecond
