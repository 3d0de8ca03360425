package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/hang/capture"
	"github.com/fpstack/fpstack/hang/job"
	"github.com/fpstack/fpstack/hang/supervise"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/report/joblog"
	"github.com/fpstack/fpstack/report/publish"
	"github.com/fpstack/fpstack/text"
)

// runner says what the command of one run is doing. Whatever it writes to standard error goes by log, which keeps
// nobody waiting.
type runner struct {
	*app
	o     *runOptions
	argv  []string
	log   *joblog.Log
	show  report.Options // of the log
	ended chan *publish.Report
}

// newRunner returns one. From now on a writes to standard error by its log.
func newRunner(a *app, o *runOptions, argv []string) *runner {
	colour := newColour()
	r := &runner{app: a, o: o, argv: argv, log: joblog.New(a.stderr, 0), ended: make(chan *publish.Report, 1),
		show: report.Options{Group: true, Width: terminalWidth(a.stderr), Style: colour.style(a.stderr)}}
	a.stderr = r.log
	return r
}

// How long the log is waited for, if it takes nothing and in all: before the end of the command, whose own lines come
// afterwards, and at our own.
const (
	lineStill           = 100 * time.Millisecond
	logStill, logMost   = 500 * time.Millisecond, 2 * time.Second
	lastStill, lastMost = 2 * time.Second, 10 * time.Second
)

// Say implements [job.Observer].
func (r *runner) Say(line string) { fmt.Fprintf(r.log, "fpstack: %s\n", text.Message(line)) }

// Capture implements [job.Observer].
func (r *runner) Capture(ctx context.Context, t hang.Trigger, tree job.Tree) (harmed bool) {
	fate := r.fate(t.Kind)
	to := r.o.publishing(r.show)
	o := &caseOptions{trigger: t, command: r.argv, roots: []int{tree.Root}, tree: tree.List, at: capture.Usual,
		naming: r.o.namingOptions, began: tree.Began, seen: tree.Seen}
	for _, k := range tree.Killed {
		o.killed = append(o.killed, hang.Killed{PID: k.PID, Name: k.Name, Signal: supervise.SignalName(k.Signal),
			Seen: k.Seen})
	}
	sampling := ctx
	if tree.Hurried {
		to.Patience = max(r.o.grace/2, leastPatience)
		o.at = capture.Hurried
		if until, ok := ctx.Deadline(); ok {
			var cancel context.CancelFunc
			sampling, cancel = context.WithTimeout(ctx, time.Until(until)-min(forWriting, r.o.grace/2))
			defer cancel()
		}
	}
	// What CMD wrote last may have no end of line: commands of a log begin one.
	fmt.Fprintf(r.log, "\nfpstack: %s\n", text.Message(report.Occasion(&t, r.argv)))
	r.log.Flush(lineStill, lineStill) // or it would count as output of CMD where both write to one file
	o.report = publish.New(to, r.means(tree.Helper))
	c := r.capture(sampling, o)
	v := hang.Judge(c)
	if err := o.report.Finish(r.log, c, v, r.argv, fate); err != nil {
		r.complain(err)
	}
	if r.o.cores.on && fate != publish.GoesOn {
		r.keepCores(ctx, c, v, tree.List(), o.report)
	}
	harmed = r.o.ownDumps && fate != publish.GoesOn && r.quitRuntimes(c, o.report)
	r.log.Flush(logStill, logMost)
	if fate != publish.GoesOn {
		r.keep(o.report)
	}
	return harmed
}

// fate is what happens to the command after a capture.
func (r *runner) fate(k hang.TriggerKind) publish.Fate {
	switch {
	case k == hang.Asked, k == hang.Warned:
		return publish.GoesOn
	case k == hang.Signalled, r.o.preserve:
		return publish.Open
	}
	return publish.Ends
}

// keep notes that why the command was ended is written: that it ended is no success by itself.
func (r *runner) keep(last *publish.Report) {
	select { // the one before is told nothing
	case <-r.ended:
	default:
	}
	r.ended <- last
}

// close says how the command has ended, and waits for the log.
func (r *runner) close(status int, began time.Time) {
	select {
	case last := <-r.ended:
		last.Ended(status)
	default:
		publish.New(&publish.Options{JUnit: r.o.withDefaults().junit}, r.means(nil)).Passed(r.argv, began)
	}
	r.log.Flush(lastStill, lastMost)
}

// forWriting is how much of the time after a signal is left for what was captured to be named and written.
const forWriting = 500 * time.Millisecond

// leastPatience is how long files may take after a signal, however short the grace: what is known without a stop is
// worth it, and a capture that is overdue keeps nobody.
const leastPatience = time.Second
