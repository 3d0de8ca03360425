//go:build linux

// Package cores writes a core file of each process of a case, within bounds of memory, disk and time.
//
// The caller gives the case, its processes, that of the culprit first or leaves first, and a folder. Each process
// stands still while its memory is copied. What a core lacks is in [hang.Core].
//
// It decides how much is written and when it is enough; what belongs into a core is the matter of snapshot/corefile.
package cores

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/outfile"
	"github.com/fpstack/fpstack/snapshot/corefile"
	"github.com/fpstack/fpstack/tracer"
)

// Options say where and how much.
type Options struct {
	Files *outfile.Files // that others may not read
	Dir   *outfile.Dir
	In    string                         // what the folder is called in the report
	Stem  func(pid int, n string) string // how the name of a file begins
	Limit int64                          // bytes of memory in all of them
	Until time.Time
	// Gone reports whether an error says that a process has ended.
	Gone func(error) bool
}

// keeper writes the cores of one tree.
type keeper struct {
	*Options
	left  int64     // bytes that may still be written
	until time.Time // when all must be done
}

// forEnd is how much of the time is left for the end of the last core: headers are written, threads let go.
const forEnd = 200 * time.Millisecond

// Keep writes a core of each of pids, parents before their children, into c: that of the culprit first, then the
// leaves.
func Keep(ctx context.Context, c *hang.Case, culprit int, pids []int, o *Options) {
	k := &keeper{Options: o, left: o.Limit, until: o.Until.Add(-forEnd)}
	names := map[int]string{}
	for i := range c.Processes {
		names[c.Processes[i].PID] = c.Processes[i].Name
	}
	pids = slices.Clone(pids)
	slices.Reverse(pids)
	slices.SortStableFunc(pids, func(a, b int) int { return cmp.Compare(order(a, culprit), order(b, culprit)) })
	for _, pid := range pids {
		if one := k.keep(ctx, pid, names[pid]); one != nil {
			c.Cores = append(c.Cores, *one)
		}
	}
}

func order(pid, first int) int {
	if pid == first {
		return 0
	}
	return 1
}

// keep writes the core of one process; nil if that has ended.
func (k *keeper) keep(ctx context.Context, pid int, name string) *hang.Core {
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
		path, createErr := k.Files.CreateLarge(k.Dir, k.Stem(pid, name), ".core", func(f outfile.File) error {
			return k.write(ctx, p, f, left, one)
		})
		if err = createErr; err == nil {
			one.File = filepath.Join(k.In, filepath.Base(path))
		}
	}
	switch {
	case err != nil && k.Gone(err):
		return nil
	case err != nil:
		*one = hang.Core{PID: pid, Stopped: one.Stopped, Problem: "no core: " + err.Error()}
	}
	k.left -= one.Written
	return one
}

// write writes the core of p to f while its threads are stopped.
func (k *keeper) write(ctx context.Context, p *tracer.Process, f outfile.File, left time.Duration,
	one *hang.Core) error {
	type outcome struct {
		corefile.Result
		err error
	}
	done := make(chan outcome, 1)
	opt := corefile.Options{Limit: k.left, Room: func() int64 {
		room, err := outfile.Room(k.Dir.Path())
		if err != nil {
			return 0
		}
		return min(room, outfile.RoomStep)
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
