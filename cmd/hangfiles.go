package cmd

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
)

// args tells files from processes, as a dump does.
func (o *hangOptions) args(words []string) error {
	d := &dumpOptions{}
	if err := d.args(words); err != nil {
		return err
	}
	o.files, o.pids, o.byName = d.files, append(o.pids, d.pids...), append(o.byName, d.byName...)
	if len(o.files) > 0 && !o.none() {
		return usageError{errors.New("a file together with a process: judge one after the other")}
	}
	return nil
}

// hangFiles judges what cores, saved dumps and dumps in JSON hold.
func (a *app) hangFiles(ctx context.Context, o *hangOptions) error {
	if err := o.fileOptions.check(); err != nil {
		return err
	}
	ctx = a.endable(ctx)
	d := caseDump(o.namingOptions)
	d.fileOptions = o.fileOptions
	d.effects = func(...string) error { return nil } // none of its options is the user's
	all := &gathered{}
	d.sink = all
	err := a.dumpFiles(ctx, d, report.Options{})
	if len(all.dumps) == 0 {
		if err == nil {
			err = errNothing
		}
		return err
	}
	c := keptCase(all.dumps)
	v := hang.Judge(c)
	show := report.Options{Group: true, Verbose: o.verbose, Style: o.style(a), Width: a.lineWidth(o.output)}
	if failed := a.writeOutput(o.output, func(w io.Writer) error {
		if o.format.word == "json" {
			return report.HangJSON(w, c, v, show)
		}
		if err := report.VerdictText(w, v, show); err != nil {
			return err
		}
		return report.HangStacks(w, c, v, show)
	}); failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	return verdictStatus(v)
}

// gathered keeps dumps.
type gathered struct{ dumps []*profile.Dump }

func (g *gathered) add(d *profile.Dump) error {
	g.dumps = append(g.dumps, d)
	return nil
}

func (g *gathered) end() error { return nil }

// keptCase is the case of dumps that were made before: of one moment.
func keptCase(dumps []*profile.Dump) *hang.Case {
	m := hang.Moment{Time: dumps[0].Time, Dumps: dumps, Waits: &profile.Waits{}}
	c := &hang.Case{Trigger: hang.Trigger{Kind: hang.Asked}, Kept: true, Triggered: m.Time}
	for _, d := range dumps {
		p := &d.Process
		c.Roots = append(c.Roots, p.PID)
		c.Processes = append(c.Processes, hang.Process{PID: p.PID, Name: p.Comm, Exe: p.Exe, Args: p.Cmdline,
			Threads: len(d.Threads)})
		c.Problems = append(c.Problems, d.Problems...)
		m.Waits.Processes = append(m.Waits.Processes, *p)
		for i := range d.Threads {
			t := &d.Threads[i]
			m.Waits.Threads = append(m.Waits.Threads, profile.WaitingThread{PID: p.PID,
				Thread: profile.Thread{TID: t.TID, Name: t.Name, State: t.State, Wait: t.Wait}})
		}
		if d.Waits == nil {
			continue
		}
		for i := range d.Waits.Cycles { // dumps that were made together have the same
			cycle := &d.Waits.Cycles[i]
			if !slices.ContainsFunc(m.Waits.Cycles, func(other profile.WaitCycle) bool {
				return slices.Equal(other.Threads, cycle.Threads)
			}) {
				m.Waits.Cycles = append(m.Waits.Cycles, *cycle)
			}
		}
	}
	c.Moments = []hang.Moment{m}
	return c
}

// verdictStatus is the exit status of a verdict.
func verdictStatus(v *hang.Verdict) error {
	switch {
	case v.Kind.Hung():
		return statusError(statusHung)
	case v.Kind == hang.Moving:
		return nil
	}
	return statusError(statusUnknown)
}
