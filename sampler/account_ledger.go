package sampler

import (
	"time"

	"github.com/fpstack/fpstack/profile"
)

// entry is what one stack got in one task.
type entry struct {
	stack   profile.NodeID
	task    int32
	running bool // the thread ran there: its CPU time may be given to it
	samples int64
	wall    time.Duration
	cpu     time.Duration
}

// pair is the key of an entry.
type pair struct {
	stack profile.NodeID
	task  int32
}

// run is a profile.Run in few bytes.
type run struct {
	stack   profile.NodeID
	task    int32
	at, end time.Duration // since the recording began
}

// maxRuns bounds the runs kept: 12 MiB, and 16 MiB in a profile.
const maxRuns = 1 << 19

// ledger sums what the stacks got since the last Take.
type ledger struct {
	entries []entry
	index   map[pair]int32
	order   bool // runs are kept
	runs    []run
	last    map[int32]int32 // task -> its last run
	dropped bool            // there were more runs than are kept
}

func newLedger(order bool) *ledger {
	return &ledger{index: map[pair]int32{}, order: order, last: map[int32]int32{}}
}

// entry returns the entry of stack in task, valid until the next call.
func (l *ledger) entry(stack profile.NodeID, task int32, running bool) *entry {
	key := pair{stack, task}
	i, ok := l.index[key]
	if !ok {
		i = int32(len(l.entries))
		l.entries = append(l.entries, entry{stack: stack, task: task})
		l.index[key] = i
	}
	e := &l.entries[i]
	e.running = e.running || running
	return e
}

// keep adds to the runs that task was in stack over [at, end).
func (l *ledger) keep(stack profile.NodeID, task int32, at, end time.Duration) {
	if !l.order || end <= at {
		return
	}
	if i, ok := l.last[task]; ok {
		if r := &l.runs[i]; r.stack == stack && r.end == at {
			r.end = end
			return
		}
	}
	if len(l.runs) >= maxRuns {
		l.order, l.dropped, l.runs, l.last = false, true, nil, nil
		return
	}
	l.last[task] = int32(len(l.runs))
	l.runs = append(l.runs, run{stack, task, at, end})
}
