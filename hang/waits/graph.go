package waits

import (
	"context"
	"time"
)

// Graph is who waits for whom.
type Graph struct {
	Facts *Facts
	Waits []Wait // of each blocked thread, in the order of Facts
	// Deadlocks are cycles in which each thread waits for the one owner of its object, and the last for the first.
	Deadlocks []Cycle
	// Stuck are sets of threads that only threads of the same set could wake.
	Stuck []Cycle
	// Roots are what others wait for in the end, those with most waiters first.
	Roots []Root
	// Owned is how many waits have a known owner, Waiting how many wait for somebody else at all.
	Owned, Waiting int
	// Missing are what was not looked at, and why.
	Missing []string
}

// Cycle is threads that wait for one another.
type Cycle struct {
	Threads []int // of a deadlock in the order of its edges
	// Certainty is that of its weakest edge: a deadlock is only called one if it is Proven.
	Certainty Certainty
	// Stood is how long it is known to have been so: none of the threads ran meanwhile.
	Stood time.Duration
	// Behind are those that wait for a thread of the cycle, directly or through others.
	Behind []int
}

// Root is a thread, or a process where TID is 0, that others wait for and that itself waits for none of them.
type Root struct {
	Waker
	Why    string // what it does: "runs", "has exited", "sleeps in nanosleep, 2.1 s left"
	Behind []int  // threads that wait for it, directly or through others
	// Certainty is that of the weakest edge on the ways to it.
	Certainty Certainty
}

// maxRounds bounds how often Examine reads: words, then stacks and what they name, then descriptors and the processes
// that hold them, then what those wait for.
const maxRounds = 6

// Examine reads by src what the waits of f take, and makes the graph. f has the processes that were asked for, with the
// first reading of each thread.
func Examine(ctx context.Context, src Source, f *Facts) (*Graph, error) {
	for range maxRounds {
		_, need := Study(f)
		if need.Empty() {
			break
		}
		if err := src.Read(ctx, f, need); err != nil {
			return nil, err
		}
	}
	g := Join(f)
	return g, nil
}

// Join makes the graph of facts.
func Join(f *Facts) *Graph {
	w, _ := Study(f)
	return &Graph{Facts: f, Waits: w}
}
