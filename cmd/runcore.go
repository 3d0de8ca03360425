package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/outfile"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/report/folder"
	"github.com/fpstack/fpstack/snapshot/corefile"
	"github.com/fpstack/fpstack/text"
	"github.com/fpstack/fpstack/tracer"
)

// treeCores are the flags of run that keep core files.
type treeCores struct {
	on    bool
	limit byteSize
}

func (o *treeCores) register(f *pflag.FlagSet) {
	o.limit = 2 << 30
	f.BoolVar(&o.on, "core", false, "with --report: before the end write a core file of each process; holds all its "+
		"memory, secrets too")
	f.Var(&o.limit, "core-limit", "with --core: at most `SIZE` of memory in all core files together")
}

// check refuses cores that have no place.
func (o *treeCores) check(report *reportOptions) error {
	if o.on && report.withDefaults().folder == "" {
		return usageError{errors.New("--core without --report: core files are written to the folder of the report")}
	}
	return nil
}

// coreKeeper writes the cores of one tree.
type coreKeeper struct {
	*app
	dir   string
	left  int64     // bytes that may still be written
	until time.Time // when all must be done
}

// forEnd is how much of the time is left for the end of the last core: headers are written, threads let go.
const forEnd = 200 * time.Millisecond

// keepCores writes a core of each process into the report, that of the culprit first, and says where they are.
func (r *runner) keepCores(ctx context.Context, c *hang.Case, v *hang.Verdict, pids []int, to *hangReport) {
	if to.folder == nil {
		return
	}
	until := time.Now().Add(r.o.killAfter)
	if limit, ok := ctx.Deadline(); ok {
		until = limit
	}
	k := &coreKeeper{app: r.app, dir: filepath.Join(to.folder.Path(), folder.Details), left: int64(r.o.cores.limit),
		until: until.Add(-forEnd)}
	names := map[int]string{}
	for i := range c.Processes {
		names[c.Processes[i].PID] = c.Processes[i].Name
	}
	slices.Reverse(pids) // leaves first
	if v.Culprit != nil {
		slices.SortStableFunc(pids, func(a, b int) int { return order(a, v.Culprit.PID) - order(b, v.Culprit.PID) })
	}
	for _, pid := range pids {
		if one := k.keep(ctx, pid, names[pid]); one != nil {
			c.Cores = append(c.Cores, *one)
		}
	}
	r.sayCores(c, k.dir, names)
	to.storeText(c, v)
}

func order(pid, first int) int {
	if pid == first {
		return 0
	}
	return 1
}

// keep writes the core of one process; nil if that has ended.
func (k *coreKeeper) keep(ctx context.Context, pid int, name string) *hang.Core {
	one := &hang.Core{PID: pid}
	left := time.Until(k.until)
	if left <= 0 || ctx.Err() != nil {
		one.Problem = "no core: no time was left"
		return one
	}
	// Of the stacks themselves nothing is wanted: they are memory, and all threads have to stop at one instant.
	p, err := tracer.Open(pid, tracer.Options{StackLimit: 4 << 10, StackTotal: 1 << 30})
	if err == nil {
		defer p.Close()
		path, createErr := k.saves.CreateLarge(k.dir, fileStem(pid, name), ".core", func(f outfile.File) error {
			return k.write(ctx, p, f, left, one)
		})
		if err = createErr; err == nil {
			one.File = filepath.Join(folder.Details, filepath.Base(path))
		}
	}
	switch {
	case err != nil && hasEnded(err):
		return nil
	case err != nil:
		*one = hang.Core{PID: pid, Stopped: one.Stopped, Problem: "no core: " + err.Error()}
	}
	k.left -= one.Written
	return one
}

// write writes the core of p to f while its threads are stopped.
func (k *coreKeeper) write(ctx context.Context, p *tracer.Process, f outfile.File, left time.Duration,
	one *hang.Core) error {
	type outcome struct {
		corefile.Result
		err error
	}
	done := make(chan outcome, 1)
	opt := corefile.Options{Limit: k.left, Room: func() int64 {
		room, err := outfile.Room(k.dir)
		if err != nil {
			return 0
		}
		return min(room, roomStep)
	}, Ended: func() error {
		if ctx.Err() != nil || time.Now().After(k.until) {
			return errNoTime
		}
		return nil
	}}
	snap, err := p.Snapshot(ctx, tracer.StopOptions{CoreTime: left + forEnd/2,
		Core: func(p *corefile.Process, m corefile.Memory) {
			got, err := corefile.Write(f, p, m, opt)
			done <- outcome{got, err}
		}})
	if snap != nil {
		one.Stopped = snap.Stopped
	}
	select {
	case got := <-done:
		if got.err != nil {
			return got.err
		}
		one.Size, one.Written, one.Left, one.Unread = got.Size, got.Written, got.Left, got.Unread
		one.Problem = coreProblem(&got.Result, snap != nil && len(snap.Threads) > got.Threads)
		return nil
	default:
	}
	switch {
	case err != nil:
		return err
	case len(snap.Problems) > 0:
		return errors.New(snap.Problems[0])
	}
	return errors.New("no thread could be stopped")
}

// roomStep is how much is written before the free space of the disk is read again, bytes: others write there too.
const roomStep = 64 << 20

var errNoTime = errors.New("no time was left")

// coreProblem says what a core lacks, "" for nothing.
func coreProblem(got *corefile.Result, threads bool) string {
	switch {
	case errors.Is(got.Cut, corefile.ErrLimit):
		return "it is cut: --core-limit is reached"
	case errors.Is(got.Cut, corefile.ErrRoom):
		return "it is cut: a tenth of the disk, at most 1 GB, is left free"
	case got.Cut != nil:
		return "it is cut: " + got.Cut.Error()
	case threads:
		return "threads that did not stop are not in it"
	}
	return ""
}

// sayCores says where the cores are, and what is wrong with some.
func (r *runner) sayCores(c *hang.Case, dir string, names map[int]string) {
	const most = 5 // lines of what is wrong
	var size int64
	var longest time.Duration
	written, wrong := 0, 0
	for i := range c.Cores {
		one := &c.Cores[i]
		if one.File != "" {
			written++
			size += one.Written
		}
		longest = max(longest, one.Stopped)
		if one.Problem == "" {
			continue
		}
		if wrong++; wrong <= most {
			fmt.Fprintf(r.stderr, "fpstack: core of %s (%d): %s\n", text.Message(names[one.PID]), one.PID,
				report.Core(one))
		}
	}
	if wrong > most {
		fmt.Fprintf(r.stderr, "fpstack: %d further cores are cut or missing: hang.txt says why\n", wrong-most)
	}
	if written > 0 {
		fmt.Fprintf(r.stderr, "fpstack: %s in %s: %s; processes were stopped for up to %s\n",
			text.Count(written, "core"), text.Message(dir), text.Quantity(float64(size), "bytes"),
			text.Duration(longest))
	}
}
