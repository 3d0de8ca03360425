//go:build linux

package tracer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/procfs/procfile"
	"github.com/fpstack/fpstack/snapshot"
)

// unstopped is a Snapshot that is made without a stop: nothing is attached, no signal is sent, and no counter of a
// thread moves because of it. Threads that sleep are copied as [Watch.Peek] copies them, one after the other; of one
// that runs it has the state and the counters.
type unstopped struct {
	p     *Process
	opt   StopOptions
	out   *snapshot.Snapshot
	table *maps.Table
	copy  Copy
	room  int // bytes of stacks that may still be copied
	ran   []int
	index map[int]int // of threads in out
}

// copyRounds is how often a thread that ran is tried again, copyPause what is waited before the first of these rounds;
// each further wait is twice as long: a tenth of a second in all.
const (
	copyRounds = 6
	copyPause  = 1500 * time.Microsecond
)

// notCopied is why a thread has neither registers nor a stack.
const notCopied = "runs, and nothing is stopped"

// unstoppedOnce makes the Snapshot of a process that was opened with NoStop. It fails as Snapshot does.
func (p *Process) unstoppedOnce(ctx context.Context, opt StopOptions) (*snapshot.Snapshot, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	text, err := p.mapsText(nil)
	if err != nil {
		return nil, err
	}
	table, err := p.parseMaps(text)
	if err != nil {
		return nil, err
	}
	if len(table.All()) == 0 {
		return nil, fmt.Errorf("process %d: %w", p.pid, ErrExec)
	}
	u := &unstopped{p: p, opt: opt, table: table, room: p.opt.StackTotal, index: map[int]int{},
		out: &snapshot.Snapshot{Process: p.describe(), Host: p.host, Time: time.Now(), NoStop: true, Rolling: true}}
	u.copy.Copiers = opt.Copiers
	if err := u.copyAll(ctx); err != nil {
		return nil, err
	}
	if p.memory.Load().replaced(table.All()[0].Start) {
		return nil, fmt.Errorf("process %d: %w", p.pid, ErrExec)
	}
	u.end(text)
	if len(u.out.Threads)+len(u.out.Left) == 0 {
		return nil, fmt.Errorf("process %d has none of the threads %v: %w", p.pid, opt.TIDs, ErrNoProcess)
	}
	return u.out, nil
}

// copyAll copies the threads wanted, and tries those again that ran.
func (u *unstopped) copyAll(ctx context.Context) error {
	ids := u.opt.TIDs
	if ids == nil {
		var err error
		if ids, err = u.p.ThreadIDs(); err != nil {
			return err
		}
	}
	pause := copyPause
	for round := 0; ; round++ {
		u.ran = nil
		for _, tid := range ids {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := u.one(tid); err != nil {
				return err
			}
		}
		if ids = u.ran; len(ids) == 0 || round == copyRounds {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause *= 2
	}
}

// one copies thread tid, or notes that it ran. It fails only if the process has begun another program.
func (u *unstopped) one(tid int) error {
	if u.room <= 0 {
		u.out.Left = append(u.out.Left, tid)
		return nil
	}
	w, err := u.p.Watch(tid)
	if errors.Is(err, ErrNoThread) {
		u.ended(tid)
		return nil
	}
	if err != nil {
		u.set(snapshot.Thread{TID: tid, NotStopped: err.Error()})
		return nil
	}
	defer w.Close()
	state, comm := w.First()
	t := snapshot.Thread{TID: tid, Comm: comm, State: state, KernelWorker: w.KernelWorker(),
		Arch: archOf(u.p.host, u.table), Time: time.Now()}
	switch {
	case t.KernelWorker:
		t.NotStopped = "worker of the kernel"
	case state == 'Z' || state == 'X':
		if tid != u.p.pid {
			u.ended(tid)
			return nil
		}
		t.NotStopped = "has ended; other threads of the process live"
	default:
		if err := u.peek(w, &t); err != nil {
			return err
		}
		if t.TID == 0 {
			u.ended(tid)
			return nil
		}
	}
	u.set(t)
	return nil
}

// peek copies a sleeping thread into t. Where that has ended t.TID is 0 afterwards.
func (u *unstopped) peek(w *Watch, t *snapshot.Thread) error {
	u.copy.limit = u.room
	err := w.Peek(&u.copy, u.table)
	switch {
	case err == nil:
		c := &u.copy.Thread
		call := *c.Syscall
		t.Time, t.Arch, t.Syscall, t.StackErr, t.Shortfalls = c.Time, c.Arch, &call, c.StackErr, c.Shortfalls
		t.Stack.Start, t.Stack.Data = c.Stack.Start, bytes.Clone(c.Stack.Data)
		u.copy.fetcher.Keep()
		t.Copied = c.Copied
		u.room -= len(t.Stack.Data)
	case errors.Is(err, ErrNoThread):
		t.TID = 0
	case errors.Is(err, ErrExec):
		return fmt.Errorf("process %d: %w", u.p.pid, ErrExec)
	case errors.Is(err, ErrRan):
		if w.blind {
			t.NotStopped = "whether it sleeps may not be read, and nothing is stopped"
			break
		}
		t.NotStopped = notCopied
		if now, err := w.Counters(); err == nil {
			t.Counters = &snapshot.Counters{CPU: now.CPU, Waited: now.Waited, Switches: now.Switches}
		}
		u.ran = append(u.ran, t.TID)
	default:
		t.NotStopped = err.Error()
	}
	if u.opt.KernelStacks && t.State != 'R' && t.TID != 0 {
		k, err := u.p.readKernel(t.TID)
		if err != nil && !procfile.Gone(err) {
			u.problem(fmt.Sprintf("kernel stacks cannot be read: %v", err))
		}
		t.Wchan, t.KernelStack = k.wchan, k.stack
	}
	return nil
}

// set puts t in the place of what an earlier round found of it.
func (u *unstopped) set(t snapshot.Thread) {
	if i, ok := u.index[t.TID]; ok {
		u.out.Threads[i] = t
		return
	}
	u.index[t.TID] = len(u.out.Threads)
	u.out.Threads = append(u.out.Threads, t)
}

// ended counts a thread that was listed and is gone. What an earlier round found of it stays: it ran then.
func (u *unstopped) ended(tid int) {
	if _, ok := u.index[tid]; !ok {
		u.out.Exited++
	}
}

func (u *unstopped) problem(text string) {
	for _, p := range u.out.Problems {
		if p == text {
			return
		}
	}
	u.out.Problems = append(u.out.Problems, text)
}

// end reads the mappings again; text is what they were before.
func (u *unstopped) end(text []byte) {
	u.out.Maps = u.table
	if again, err := u.p.mapsText(nil); err == nil && len(again) > 0 && !bytes.Equal(again, text) {
		if later, err := u.p.parseMaps(again); err == nil {
			u.out.Maps, u.out.Changed = later, maps.ChangedCode(u.table, later)
		}
	}
	for i := range u.out.Threads {
		for _, short := range u.out.Threads[i].Shortfalls {
			u.problem(short.String())
		}
	}
	u.out.SortThreads()
}
