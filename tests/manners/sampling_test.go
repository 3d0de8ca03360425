//go:build linux

package manners

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/tracer"
)

// prober samples the threads of one process one after the other, as a sampler does, but
// without any rule that spares a thread.
type prober struct {
	p       *tracer.Process
	l       *tracer.Sampler
	table   *maps.Table
	watches map[int]*tracer.Watch
	copied  tracer.Copy
	samples int // that copied a thread
	ended   int // that met a thread which had ended
	execs   int // that met another program
	stuck   int // that met a thread which does not stop
	only    int // the thread to sample; 0: all
}

func openSampler(pid int, opt tracer.SamplerOptions) (*prober, error) {
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		return nil, err
	}
	k := &prober{p: p, l: tracer.NewSampler(opt), watches: map[int]*tracer.Watch{}}
	return k, k.readMaps()
}

func (k *prober) close() {
	for tid := range k.watches {
		k.forget(tid)
	}
	k.l.Close()
	k.p.Close()
}

func (k *prober) forget(tid int) {
	k.watches[tid].Close()
	delete(k.watches, tid)
}

func (k *prober) readMaps() (err error) {
	k.table, err = k.p.Maps()
	return err
}

// round samples each thread once that is listed now.
func (k *prober) round() error {
	tids, err := k.p.ThreadIDs()
	if err != nil {
		return err
	}
	for tid := range k.watches {
		if !slices.Contains(tids, tid) {
			k.forget(tid)
		}
	}
	if k.only != 0 {
		tids = slices.DeleteFunc(tids, func(tid int) bool { return tid != k.only })
	}
	k.l.Do(func() {
		if together() {
			err = k.interruptAll(tids)
			return
		}
		for _, tid := range tids {
			if err = k.probe(tid); err != nil || k.l.Dirty() {
				return
			}
		}
	})
	if err == nil && k.p.Replaced() {
		k.execs++
		if err = k.p.Reopen(); err == nil {
			err = k.readMaps()
		}
	}
	return err
}

// probe samples one thread, and takes it as it is that the thread may end, execute another
// program, or not stop.
func (k *prober) probe(tid int) error {
	w, err := k.watch(tid)
	if w == nil {
		return err
	}
	return k.met(k.l.Stop(w, &k.copied, k.table))
}

// watch returns what is kept open of a thread, nil if it has ended.
func (k *prober) watch(tid int) (*tracer.Watch, error) {
	w := k.watches[tid]
	if w != nil {
		return w, nil
	}
	w, err := k.p.Watch(tid)
	switch {
	case errors.Is(err, tracer.ErrNoThread):
		k.ended++
		return nil, nil
	case err != nil:
		return nil, err
	}
	k.watches[tid] = w
	return w, nil
}

// met counts what a sample met, and returns what it should not have.
func (k *prober) met(err error) error {
	var not *tracer.NotStoppedError
	var executing *tracer.ExecutingError // an exec that lasts, as it does on a busy machine
	switch {
	case err == nil:
		k.samples++
	case errors.Is(err, tracer.ErrNoThread):
		k.ended++
	case errors.Is(err, tracer.ErrExec):
		k.execs++
	case errors.As(err, &not), errors.As(err, &executing):
		k.stuck++
	default:
		return err
	}
	return nil
}

func (k *prober) String() string {
	return fmt.Sprintf("%d samples, %d met an ended thread, %d another program, %d did not stop", k.samples, k.ended,
		k.execs, k.stuck)
}

// sample opens a process to sample its threads one by one.
func sample(t testing.TB, pid int, opt tracer.SamplerOptions) *prober {
	t.Helper()
	k, err := openSampler(pid, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.close)
	return k
}

// sampleEach samples each thread once, which must succeed, and checks that all was let go.
func (k *prober) sampleEach(t testing.TB) {
	t.Helper()
	if err := k.round(); err != nil {
		t.Fatal(err)
	}
	checkFree(t, k.p.PID())
}

// sampleAll makes rounds until so many were whole, each of which must add a sample of every one of so many
// threads. One that runs may get no CPU in time to stop where others have them all, and ends its round.
func (k *prober) sampleAll(t testing.TB, rounds, threads int) {
	t.Helper()
	for end := time.Now().Add(patience); rounds > 0; {
		samples, stuck := k.samples, k.stuck
		k.sampleEach(t)
		switch {
		case k.stuck == stuck && k.samples != samples+threads:
			t.Fatalf("a round of %d samples, want %d: %v", k.samples-samples, threads, k)
		case k.stuck == stuck:
			rounds--
		case time.Now().After(end):
			t.Fatalf("%d rounds more are wanted: %v", rounds, k)
		}
	}
}

// meanwhile samples over and over while f runs, and once more.
func (k *prober) meanwhile(t testing.TB, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		k.sampleEach(t)
	}
}
