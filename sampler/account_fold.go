package sampler

import (
	"cmp"
	"slices"
	"time"
)

// Of threads that have ended the longest are kept by themselves, the others of a process together: a program
// may make a thousand in a second, for days.
const (
	// maxEnded is how many are kept by themselves, twice as many until some are put together.
	maxEnded = 4096
	// maxFolds is how many processes have such a thread of their own; beyond, those of one name share one.
	maxFolds = 1024
)

// retire notes that no sample of a task comes any more.
func (c *counter) retire(id int32) {
	if c.ended = append(c.ended, id); len(c.ended) >= 2*maxEnded {
		c.fold()
	}
}

// fold puts the ended tasks that got least together.
func (c *counter) fold() {
	c.settleCPU(false) // what ended has got all that it will
	got := map[int32]time.Duration{}
	for i := range c.ledger.entries {
		e := &c.ledger.entries[i]
		got[e.task] += max(e.wall, e.cpu)
	}
	slices.SortFunc(c.ended, func(a, b int32) int { return cmp.Compare(got[b], got[a]) })
	moved := map[int32]int32{}
	for _, id := range c.ended[maxEnded:] {
		if _, ok := got[id]; ok {
			moved[id] = c.together(c.tasks[id])
		}
		delete(c.tasks, id)
	}
	c.ended = c.ended[:maxEnded]
	c.out.folded.Add(uint64(len(moved)))
	c.ledger.move(moved)
}

// together returns the task for ended threads like t.
func (c *counter) together(t task) int32 {
	all := task{PID: t.PID, Began: t.Began, Process: t.Process, Thread: nameEnded}
	id, ok := c.folds[all]
	if !ok && len(c.folds) >= maxFolds {
		all.PID, all.Began = 0, 0
		if id, ok = c.folds[all]; !ok && len(c.folds) >= 2*maxFolds {
			all.Process = nameEnded
			id, ok = c.folds[all]
		}
	}
	if !ok {
		id = -1 - int32(len(c.folds)) // below all those of threads
		c.folds[all] = id
	}
	c.tasks[id] = all
	return id
}

// move makes the entries of tasks those of others.
func (l *ledger) move(to map[int32]int32) {
	old := l.entries
	l.entries = make([]entry, 0, len(old))
	l.index = make(map[pair]int32, len(old))
	for i := range old {
		e := &old[i]
		task, ok := to[e.task]
		if !ok {
			task = e.task
		}
		n := l.entry(e.stack, task, e.running)
		n.samples += e.samples
		n.wall += e.wall
		n.cpu += e.cpu
	}
	l.forget(to)
}

// forget drops the runs of tasks: several threads at once have no order in time.
func (l *ledger) forget(tasks map[int32]int32) {
	kept := l.runs[:0]
	clear(l.last)
	for _, r := range l.runs {
		if _, gone := tasks[r.task]; !gone {
			l.last[r.task] = int32(len(kept))
			kept = append(kept, r)
		}
	}
	l.runs = kept
}
