//go:build linux

package tracer

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// Batches inspects a process whose stacks may be more than are to be held at once (Options.StackTotal). It makes a
// Snapshot, gives it to use, drops its copied memory, and goes on with the threads that were left out, until all were
// inspected. What it returns holds all threads, without their Stacks, and how many batches it took; with more than
// one it is Rolling. use must not keep copied memory.
//
// It fails as Snapshot does for the first. A later one that fails is reported in Problems; its threads are NotStopped.
func (p *Process) Batches(ctx context.Context, opt StopOptions,
	use func(batch *snapshot.Snapshot)) (*snapshot.Snapshot, error) {
	whole, err := p.Snapshot(ctx, opt)
	if err != nil {
		return whole, err
	}
	use(whole)
	left := whole.Left
	opt.ProcessCopiers = nil
	whole.Batches, whole.Left = 1, nil
	for len(left) > 0 {
		forget(whole)
		// What was copied is garbage by now; without this it stays until as much again was allocated.
		debug.FreeOSMemory()
		opt.TIDs = left
		next, err := p.Snapshot(ctx, opt)
		if err == nil && len(next.Left) >= len(left) {
			err = fmt.Errorf("no room for the stack of any of %d threads", len(left))
		}
		if err != nil {
			leaveOut(whole, left, err)
			break
		}
		use(next)
		left = next.Left
		add(whole, next)
	}
	if whole.Batches > 1 {
		whole.Rolling = true
		forget(whole)
		slices.SortFunc(whole.Threads, func(a, b snapshot.Thread) int { return a.TID - b.TID })
	}
	return whole, nil
}

// forget drops the memory that was copied.
func forget(s *snapshot.Snapshot) {
	s.Whole = nil
	for i := range s.Threads {
		s.Threads[i].Stack, s.Threads[i].Copied = mem.Range{}, nil
	}
}

// add makes the next batch part of the whole.
func add(whole, next *snapshot.Snapshot) {
	whole.Batches++
	whole.Threads = append(whole.Threads, next.Threads...)
	whole.Stopped = max(whole.Stopped, next.Stopped)
	whole.Exited += next.Exited
	whole.Late += next.Late
	for _, text := range next.Problems {
		if !slices.Contains(whole.Problems, text) {
			whole.Problems = append(whole.Problems, text)
		}
	}
}

// leaveOut reports threads that could not be inspected.
func leaveOut(whole *snapshot.Snapshot, tids []int, err error) {
	whole.Batches++
	whole.Problems = append(whole.Problems, fmt.Sprintf("%d threads were not inspected: %v", len(tids), err))
	for _, tid := range tids {
		whole.Threads = append(whole.Threads, snapshot.Thread{TID: tid, NotStopped: err.Error()})
	}
}
