// Package joblog writes to a log that may be full, slow or gone, so that nobody ever waits for it who has to act: a
// pipe that nobody reads takes no more, and what is written to it does not return.
//
// It keeps what does not fit yet, up to a bound, and drops whole writes beyond that, which it says as soon as the log
// takes something again. What was written is in the log in its order.
//
// It is not for results: a write that was kept may be lost with the program.
package joblog

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Limit is how many bytes are kept that the log does not take, where nothing else is said. A whole report has less
// than half of it (package ci).
const Limit = 1 << 20

// Log is a log. Any goroutine may call its methods, none of which waits for the log but Flush, for so long as it is
// told.
type Log struct {
	to    io.Writer
	limit int

	mu      sync.Mutex
	kept    [][]byte
	bytes   int // in kept, and of the write that is under way
	lost    int // writes since one was kept
	writing bool
	err     error         // of the log; nothing is written to it any more
	moved   chan struct{} // closed, and made anew, when a write has ended
}

// New returns a log that is written to w, which may block. limit is how many bytes are kept, 0: Limit.
func New(w io.Writer, limit int) *Log {
	if limit <= 0 {
		limit = Limit
	}
	return &Log{to: w, limit: limit, moved: make(chan struct{})}
}

// Write keeps a copy of p for the log. It returns at once. The error is that of an earlier write to the log, as
// of a pipe whose reader is gone.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.err != nil:
		return 0, l.err
	case l.bytes+len(p) > l.limit:
		l.lost++
		return len(p), nil
	}
	l.keep(append([]byte(nil), p...))
	if !l.writing {
		l.writing = true
		go l.drain()
	}
	return len(p), nil
}

func (l *Log) keep(p []byte) {
	l.kept, l.bytes = append(l.kept, p), l.bytes+len(p)
}

// drain writes what is kept, until nothing is.
func (l *Log) drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.err == nil && (len(l.kept) > 0 || l.lost > 0) {
		if len(l.kept) == 0 {
			l.keep(fmt.Appendf(nil, "fpstack: the log took nothing for a while: %d messages were lost here\n", l.lost))
			l.lost = 0
		}
		next := l.kept[0]
		l.kept = l.kept[1:]
		l.mu.Unlock()
		_, err := l.to.Write(next)
		l.mu.Lock()
		l.bytes -= len(next)
		l.err = err
		close(l.moved)
		l.moved = make(chan struct{})
	}
	l.writing = false
}

// Flush waits until the log has taken everything, and reports whether it has. It gives up when the log takes nothing
// for still, and after most in any case.
func (l *Log) Flush(still, most time.Duration) bool {
	end := time.NewTimer(most)
	defer end.Stop()
	for {
		l.mu.Lock()
		writing, err, moved := l.writing, l.err, l.moved
		l.mu.Unlock()
		if !writing || err != nil {
			return err == nil
		}
		stuck := time.NewTimer(still)
		select {
		case <-moved:
			stuck.Stop()
		case <-stuck.C:
			return false
		case <-end.C:
			stuck.Stop()
			return false
		}
	}
}
