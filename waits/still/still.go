// Package still gives package waits the facts of a process in which nothing runs any more: of its core file. What its
// threads wait for was copied with it, so that all of it is of one moment, and a deadlock needs no second reading.
//
// It knows waits for words of memory alone (futexes): a core has no descriptors, children or file locks, and no ids of
// other processes. A thread in another call counts as one that may go on.
package still

import (
	"context"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/waits"
)

// Reader reads the memory of one process that is at rest. It implements [waits.Source], and is for one goroutine.
type Reader struct {
	memory mem.Reader
	at     time.Time // the one moment
}

// New returns one, and the facts of the threads of s, whose memory is read by memory, which bounds what is read itself.
func New(s *snapshot.Snapshot, memory mem.Reader) (*Reader, *waits.Facts) {
	r := &Reader{memory, time.Now()}
	p := &waits.Process{PID: s.Process.PID, Comm: s.Process.Comm, Asked: true, Maps: s.Maps, Space: s.Process.PID}
	if s.Host != nil {
		p.Arch, p.Word = s.Host.Name, s.Host.WordSize
	}
	for i := range s.Threads {
		t := &s.Threads[i]
		first := waits.Reading{At: r.at, Known: true, HasCall: true}
		if t.Syscall != nil && waits.IsFutex(p.Arch, t.Syscall.Number) {
			first.Blocked, first.Call = true, procfs.Syscall(*t.Syscall)
		}
		p.Threads = append(p.Threads, &waits.Thread{TID: t.TID, Inner: t.TID, Comm: t.Comm, First: first})
	}
	f := &waits.Facts{}
	f.Add(p)
	return r, f
}

// Read implements [waits.Source].
func (r *Reader) Read(ctx context.Context, f *waits.Facts, n waits.Need) error {
	for _, tid := range n.Owners {
		f.Uninspected(0, tid) // of another process, or gone
	}
	for pid, lines := range n.Lines {
		p := f.Process(pid)
		for _, addr := range lines {
			if err := ctx.Err(); err != nil {
				return err
			}
			line := new([waits.Line]byte)
			if _, err := r.memory.ReadMem(line[:], addr); err != nil {
				line = nil
			}
			p.Memory.Keep(addr, line, r.at)
		}
	}
	for _, pid := range n.Files.States {
		if f.Files.States == nil {
			f.Files.States = map[int]waits.ProcessState{}
		}
		f.Files.States[pid] = waits.ProcessState{Terminal: -1}
	}
	return ctx.Err()
}

// Again implements [waits.Source]: nothing has changed.
func (r *Reader) Again(_ context.Context, threads []*waits.Thread, _ bool) error {
	for _, t := range threads {
		t.Last = t.First
	}
	return nil
}
