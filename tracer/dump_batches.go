//go:build linux

package tracer

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/fpstack/fpstack/snapshot"
)

// Batches inspects a process whose stacks may be more than are to be held at once (Options.StackTotal). It makes a
// Snapshot, gives it to use, drops its copied memory, and goes on with the threads that were left out, until all were
// inspected. What it returns holds all threads, without their Stacks, and how many batches it took; with more than
// one it is Rolling.
//
// It fails as Snapshot does for the first. A later one that fails is reported in Problems; its threads are NotStopped.
func (p *Process) Batches(ctx context.Context, opt StopOptions,
	use func(batch *snapshot.Snapshot)) (*snapshot.Snapshot, error) {
	whole, err := p.Snapshot(ctx, opt)
	if err != nil {
		return whole, err
	}
	large := whole.StackBytes() > largeCopy
	if large {
		runtime.GC() // of what the stop has used
	}
	use(whole)
	left := whole.Left
	opt.ProcessCopiers = nil
	whole.Batches, whole.Left = 1, nil
	for len(left) > 0 {
		whole.Forget()
		// What was copied is garbage by now; without this it stays until as much again was allocated.
		debug.FreeOSMemory()
		opt.TIDs = left
		next, err := p.Snapshot(ctx, opt)
		if err == nil && len(next.Left) >= len(left) {
			err = fmt.Errorf("no room for the stack of any of %d threads", len(left))
		}
		if err != nil {
			whole.LeaveOut(left, err)
			break
		}
		use(next)
		left = next.Left
		whole.Append(next)
	}
	whole.Forget()
	if large {
		debug.FreeOSMemory()
	}
	return whole, nil
}
