package core

import (
	"errors"
	"slices"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// Wanted says what is wanted of a core.
type Wanted struct {
	TIDs    []int // nil: all threads
	Copiers []snapshot.Copier
	// ProcessCopiers copy what runtimes need of the process as a whole.
	ProcessCopiers []snapshot.ProcessCopier
}

const (
	redZone = 128 // below SP, as a leaf function may use it: System V ABI AMD64, 3.2.2
	// stackLimit bounds what is copied of one stack whose upper end is known, and openLimit of another: the rest is
	// read from the core when a walk comes there.
	stackLimit = 16 << 20
	openLimit  = 64 << 10
	// batchSize is how many bytes are copied of threads until these are walked.
	batchSize = 64 << 20
	// copied is how many bytes of a stack are copied in a step.
	copied = 8
	// gatherTime bounds what the ProcessCopiers take: nobody waits for them but a person.
	gatherTime = 20 * time.Second
)

// fetchBudget is what the Copiers get of each thread. Nothing is stopped meanwhile.
var fetchBudget = snapshot.Budget{Calls: 1 << 14, Ranges: 1 << 12, Bytes: 2 << 20, Time: time.Second}

// Batches gives use the threads of the core as a stop would, one batch after the other so that their stacks fit into
// memory, the thread that the process died by first. It returns all of them together, without their stacks. use must
// not keep copied memory.
func (c *Core) Batches(w Wanted, use func(batch *snapshot.Snapshot)) *snapshot.Snapshot {
	list := c.wanted(w.TIDs)
	var whole *snapshot.Snapshot
	for whole == nil || len(list) > 0 {
		batch := &snapshot.Snapshot{Process: c.Process, Host: c.arch, Core: true, Maps: c.Maps}
		if whole == nil {
			batch.Files = c.Files()
			batch.Whole = c.gather(w.ProcessCopiers, batch)
		}
		if list = c.copy(batch, list, w.Copiers); len(list) > 0 {
			batch.Left = tidsOf(list)
		}
		use(batch)
		if whole == nil {
			whole = batch
			whole.Batches, whole.Left = 1, nil
		} else {
			whole.Append(batch)
		}
		if len(list) > 0 { // the last one may be in use still
			whole.Forget()
		}
		if err := c.budget.Err(); err != nil && len(list) > 0 {
			whole.LeaveOut(tidsOf(list), err)
			break
		}
	}
	if whole.Batches > 1 {
		whole.Forget()
	}
	whole.Batches, whole.Rolling = 1, false // it is all of one moment
	whole.Problems = append(c.Problems(), whole.Problems...)
	return whole
}

// wanted lists the threads with those ids.
func (c *Core) wanted(tids []int) []*thread {
	var out []*thread
	for i := range c.threads {
		if t := &c.threads[i]; tids == nil || slices.Contains(tids, t.tid) {
			out = append(out, t)
		}
	}
	return out
}

func tidsOf(list []*thread) []int {
	out := make([]int, len(list))
	for i, t := range list {
		out[i] = t.tid
	}
	return out
}

// copy copies threads of list into batch until that is full, at least one, and returns those that are left.
func (c *Core) copy(batch *snapshot.Snapshot, list []*thread, copiers []snapshot.Copier) []*thread {
	f := snapshot.Fetcher{Budget: fetchBudget, Still: true}
	for size := 0; len(list) > 0 && size < batchSize && c.budget.Err() == nil; list = list[1:] {
		t := c.thread(list[0])
		f.Run(copiers, &t, c)
		f.Keep()
		size += len(t.Stack.Data)
		for _, r := range t.Copied {
			size += len(r.Data)
		}
		for _, s := range t.Shortfalls {
			batch.Problems = append(batch.Problems, s.String())
		}
		batch.Threads = append(batch.Threads, t)
	}
	batch.SortThreads()
	return list
}

// thread is t as a stop would show it.
func (c *Core) thread(t *thread) snapshot.Thread {
	out := snapshot.Thread{TID: t.tid, Arch: c.arch, Registers: t.regs, PACMask: t.pacMask}
	out.TP, out.HasTP = c.arch.ThreadPointer(t.general, t.tls)
	out.Syscall = snapshot.Interrupted(t.regs)
	if t == &c.threads[0] {
		out.Signal = t.died()
	}
	if sp, ok := t.regs.SP(); ok {
		out.Stack, out.StackErr = c.stack(sp, out.TP)
		c.budget.Spend(int64(len(out.Stack.Data)) / copied)
	}
	return out
}

// stack copies the used part of a stack.
func (c *Core) stack(sp, tp mem.Addr) (mem.Range, error) {
	m := c.Maps.FindFrom(sp)
	for m != nil && m.Perm&maps.Write == 0 && m.End-sp < 1<<20 { // a guard page that it ran into
		next := c.Maps.FindFrom(m.End)
		if next == nil || next.Start != m.End {
			break
		}
		m = next
	}
	if m == nil || m.Start > sp && m.Start-sp > 8<<20 {
		return mem.Range{}, &mem.FaultError{Addr: sp, Len: c.arch.WordSize, Err: mem.ErrUnmapped}
	}
	start := max(m.Start, sp-min(sp, redZone))
	end, limit := m.End, uint64(openLimit)
	if tp > sp && m.Contains(tp) {
		end = min(end, (tp+4096)&^4095)
	}
	if m.Path == "[stack]" || end < m.End || end-start <= 256<<10 {
		limit = stackLimit
	}
	b := make([]byte, min(uint64(end-start), limit))
	n, err := c.ReadMem(b, start)
	return mem.Range{Start: start, Data: b[:n:n]}, err
}

// gather lets the ProcessCopiers copy.
func (c *Core) gather(copiers []snapshot.ProcessCopier, batch *snapshot.Snapshot) []mem.Range {
	if len(copiers) == 0 {
		return nil
	}
	g := snapshot.Gatherer{Budget: snapshot.Budget{Bytes: snapshot.GatherBudget.Bytes, Time: gatherTime}}
	g.Run(copiers, c)
	ranges, short := g.Copied()
	for _, why := range short {
		if !errors.Is(why.Why, snapshot.ErrSpent) { // what is missing then is counted by who knows what it is
			batch.Problems = append(batch.Problems, why.String())
		}
	}
	return ranges
}
