package snapshot

import (
	"fmt"
	"slices"
	"sort"

	"github.com/fpstack/fpstack/mem"
)

// A process whose stacks are more than are held at once is inspected in batches: one Snapshot after the other, of which
// each but the last names in Left the threads that are to come.

// Append makes next, the batch that follows, part of s, which is the batches before it.
func (s *Snapshot) Append(next *Snapshot) {
	s.Batches++
	s.Rolling = true
	s.Threads = append(s.Threads, next.Threads...)
	s.SortThreads()
	s.Stopped = max(s.Stopped, next.Stopped)
	s.Exited += next.Exited
	s.Late += next.Late
	for fd, text := range next.FDs {
		if s.FDs == nil {
			s.FDs = map[int]string{}
		}
		s.FDs[fd] = text
	}
	for _, text := range next.Problems {
		if !slices.Contains(s.Problems, text) {
			s.Problems = append(s.Problems, text)
		}
	}
}

// SortThreads puts the threads in the order of their ids, but the one that the process died by first.
func (s *Snapshot) SortThreads() {
	sort.Slice(s.Threads, func(i, j int) bool {
		a, b := &s.Threads[i], &s.Threads[j]
		if died := a.Signal != nil; died != (b.Signal != nil) {
			return died
		}
		return a.TID < b.TID
	})
}

// LeaveOut reports threads that were to come in a further batch, and why they did not.
func (s *Snapshot) LeaveOut(tids []int, why error) {
	left := &Snapshot{Problems: []string{fmt.Sprintf("%d threads were not inspected: %v", len(tids), why)}}
	for _, tid := range tids {
		left.Threads = append(left.Threads, Thread{TID: tid, NotStopped: why.Error()})
	}
	s.Append(left)
}

// StackBytes is how much was copied of all stacks.
func (s *Snapshot) StackBytes() int {
	n := 0
	for i := range s.Threads {
		n += len(s.Threads[i].Stack.Data)
	}
	return n
}

// Forget drops the memory that was copied of threads and of the whole process.
func (s *Snapshot) Forget() {
	s.Whole = nil
	for i := range s.Threads {
		s.Threads[i].Stack, s.Threads[i].Copied = mem.Range{}, nil
	}
}
