// Package errand makes the calls that may never return: those that ask a file system whose server may be gone.
package errand

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// ErrNoAnswer says that a file system did not answer in time: its server has stopped, or cannot be reached.
var ErrNoAnswer = errors.New("its file system does not answer")

// Slow is how long a call may take without bringing anything: less than the second in which a signal is to end this
// program.
const Slow = 750 * time.Millisecond

// soon is Slow once this program is to end: what is waited for then, and what is asked afterwards, has no longer.
const soon = 200 * time.Millisecond

// mostStarved is how often Slow goes by in which a call had no CPU: that says nothing of a file system.
const mostStarved = 8

// ending is closed when this program is to end.
var ending = make(chan struct{})

// End says that this program was told to end: from now on a call may take less without bringing anything, as several
// may follow one another.
var End = sync.OnceFunc(func() { close(ending) })

// Owner is who calls are made for, a process that is looked at: at most mostOfOne of its calls are out without an
// answer, at most mostAway of all owners.
type Owner struct{ out int } // guarded by away

// away are the calls of all processes that did not come back in time, by whom they ask: calls that begin at the same
// time may all be lost to one.
var away = struct {
	sync.Mutex
	to map[FileSystem]int
}{to: map[FileSystem]int{}}

const (
	mostOfOne = 4
	mostAway  = 64
)

// FileSystem is what a call asks.
type FileSystem struct {
	device uint64
	path   *Owner // of the process whose paths they are; nil for a device
}

// Device is the file system of that number, whoever asks it.
func Device(number uint64) FileSystem { return FileSystem{device: number} }

// Paths are all that lie on the ways to the files of o: which of them a path leads to nobody knows before it was
// asked.
func (o *Owner) Paths() FileSystem { return FileSystem{path: o} }

// Mute reports whether that file system is not to be asked: it owes an answer, or too many do.
func (o *Owner) Mute(of FileSystem) bool {
	away.Lock()
	defer away.Unlock()
	return away.to[of] > 0 || o.out >= mostOfOne || len(away.to) >= mostAway
}

// lose notes that a call has not come back.
func (o *Owner) lose(of FileSystem) {
	away.Lock()
	defer away.Unlock()
	away.to[of]++
	o.out++
}

// find notes that it has.
func (o *Owner) find(of FileSystem) {
	away.Lock()
	defer away.Unlock()
	if away.to[of]--; away.to[of] == 0 {
		delete(away.to, of)
	}
	o.out--
}

// Do is f's result, or ErrNoAnswer if f has neither returned nor called alive for Slow, though it had a CPU, or if an
// earlier call to that file system is still out. f is on an OS thread of its own, as a call that does not return cannot
// be ended but with this program. What it returns too late is given to drop, which may be nil.
func Do[T any](o *Owner, of FileSystem, f func(alive func()) (T, error), drop func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	if o.Mute(of) {
		return none, ErrNoAnswer
	}
	var beats atomic.Int64
	const waited, givenUp, answered = 0, 1, 2
	var state atomic.Int32
	var thread atomic.Pointer[string]
	c := make(chan result, 1)
	go func() {
		runtime.LockOSThread() // whose state says whether it waits for the file system or for a CPU
		defer runtime.UnlockOSThread()
		own := ownThread()
		thread.Store(&own)
		var r result
		r.value, r.err = f(func() { beats.Add(1) })
		if state.CompareAndSwap(waited, answered) {
			c <- r
			return
		}
		o.find(of)
		if r.err == nil && drop != nil {
			drop(r.value)
		}
	}()
	patience, told := Slow, (<-chan struct{})(ending)
	bound := time.NewTimer(patience)
	defer bound.Stop()
	for seen, starved := int64(0), 0; ; {
		select {
		case r := <-c:
			return r.value, r.err
		case <-told:
			patience, told = soon, nil
			bound.Reset(patience)
			continue
		case <-bound.C:
		}
		if now := beats.Load(); now != seen {
			seen, starved = now, 0
			bound.Reset(patience)
			continue
		}
		if starved++; told != nil && starved < mostStarved && wantsCPU(thread.Load()) {
			bound.Reset(patience)
			continue
		}
		o.lose(of) // first, as it may come back at once
		if state.CompareAndSwap(waited, givenUp) {
			return none, ErrNoAnswer
		}
		o.find(of)
		r := <-c
		return r.value, r.err
	}
}
