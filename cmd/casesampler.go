package cmd

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fpstack/fpstack/dump"
	"github.com/fpstack/fpstack/dump/waiting"
	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/hang/capture"
	"github.com/fpstack/fpstack/hang/trigger"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report/publish"
	"github.com/fpstack/fpstack/tracer"
)

// caseOptions say what is captured.
type caseOptions struct {
	trigger  hang.Trigger
	command  []string // that we started, nil for none
	roots    []int
	children bool
	tree     func() []int    // all processes in place of roots and their children, nil: those
	at       []time.Duration // when the moments are: capture.Usual or capture.Hurried
	enough   func(*hang.Case) bool
	// process and whole bound the stop of one process and everything; 0: the usual bounds.
	process, whole time.Duration
	naming         namingOptions
	began          time.Time // when the command began, zero if there is none
	killed         []hang.Killed
	seen           map[string]bool // command lines that were there before
	// report is told what there is before the first stop, and each dump as soon as it is made; nil for nobody.
	report *publish.Report
}

// capture makes the case of processes. It always returns one: what could not be had is in its Problems.
func (a *app) capture(ctx context.Context, o *caseOptions) *hang.Case {
	c := &hang.Case{Trigger: o.trigger, Command: o.command, Roots: slices.Clone(o.roots), Triggered: time.Now()}
	tree := o.tree
	if tree == nil {
		tree = func() []int { return withChildren(o.roots, o.children) }
	}
	c.Processes, c.Began, c.Killed = capture.Describe(tree()), o.began, o.killed
	s := a.newCaseSampler(ctx, o)
	defer s.close()
	opt := capture.Options{At: o.at, Enough: o.enough, Process: o.process, Whole: o.whole, Gone: hasEnded, Tree: tree,
		Seen: o.seen}
	if o.report != nil {
		o.report.Facts(c)
		s.saves = o.report.Folder() != nil
		opt.Done = func(_ int, d *profile.Dump) { o.report.Sampled(d, s.taken()) }
	}
	live := &trigger.Live{Kernel: kernel{}, List: tree}
	before := live.Evidence()
	capture.Run(ctx, c, s, opt)
	moved := trigger.Activity(before, live.Evidence())
	c.Activity.Network, c.Activity.IO = moved.Network, moved.IO
	return c
}

// caseSampler samples the processes of a case. What was read of modules and what was named is kept from one moment to
// the next.
type caseSampler struct {
	d     *dumping
	saves bool         // what is copied of each process when it is sampled first
	saved bytes.Buffer // of the last process
	// sampled are the processes that were saved, or could not be.
	sampled map[int]bool
}

func (a *app) newCaseSampler(ctx context.Context, o *caseOptions) *caseSampler {
	return &caseSampler{d: a.newDumping(ctx, caseDump(o.naming)), sampled: map[int]bool{}}
}

// caseDump says how dumps of a case are made.
func caseDump(naming namingOptions) *dumpOptions {
	d := &dumpOptions{unwind: newUnwindMode(), maxFrames: defaultFrames, maxPause: time.Second, namingOptions: naming}
	d.format = dumpForm()
	d.fiberOptions.fibers = newFibers()
	return d
}

// Begin implements [capture.Sampler].
func (s *caseSampler) Begin(ctx context.Context, pids []int) {
	s.d.waiting = waiting.New(ctx, pids, false)
}

// Sample implements [capture.Sampler].
func (s *caseSampler) Sample(ctx context.Context, pid int, tids []int) (*profile.Dump, error) {
	s.d.o.tids = tids
	if len(tids) > 0 {
		return s.d.sampleBy(ctx, pid, tracer.Options{})
	}
	s.saved.Reset()
	s.d.saver = nil
	if s.saves && !s.sampled[pid] {
		s.sampled[pid] = true
		s.d.saver = dump.NewSaver(&s.saved)
		s.d.unsaved = func(error) {} // the file of the process is missing, or has a part of it
	}
	if s.d.waiting.Writes(pid) {
		return s.asleep(ctx, pid)
	}
	got, err := s.d.sample(ctx, pid)
	if got != nil {
		got.Notes = append(got.Notes, dumpNotes(got, &s.d.o.namingOptions)...)
	}
	if err != nil && !hasEnded(err) {
		if line := remedy(err); line != "" {
			err = fmt.Errorf("%w. %s", err, line)
		}
	}
	return got, err
}

// Asleep implements [capture.Sampler].
func (s *caseSampler) Asleep(ctx context.Context, pid int) (*profile.Dump, error) {
	s.d.o.tids = nil
	got, err := s.d.sampleBy(ctx, pid, tracer.Options{NoStop: true})
	if err != nil {
		err = fmt.Errorf("process %d, outside the tree: %w", pid, err)
	}
	return got, err
}

// asleep makes the dump of a process without a stop.
func (s *caseSampler) asleep(ctx context.Context, pid int) (*profile.Dump, error) {
	got, err := s.d.sampleBy(ctx, pid, tracer.Options{NoStop: true})
	if got != nil {
		got.Notes = append(got.Notes, "shown without a stop, as with --no-stop: stopping it would cut a write short")
	}
	return got, err
}

// taken is what was saved of the process that was sampled last.
func (s *caseSampler) taken() []byte { return s.saved.Bytes() }

// End implements [capture.Sampler].
func (s *caseSampler) End() *profile.Waits {
	w := s.d.waiting
	s.d.waiting, s.d.saver = nil, nil
	defer w.Close()
	if w.Graph == nil {
		return nil
	}
	return w.Graph.ShowAll()
}

func (s *caseSampler) close() { s.d.close() }
