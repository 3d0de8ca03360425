//go:build linux

package walked

import (
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// Options say how a process is read; the zero value is for all known runtimes and the names of symbols.
type Options struct {
	Known *vm.Table // nil for a new one of vm.Kinds
	Names resolve.Options
}

// Process is a process that is traced, or one that was recorded: then the tracer's is nil.
type Process struct {
	*tracer.Process
	Set      *module.Set
	Runtimes *vm.Process
	Names    *resolve.Names
	Walker   *unwind.Walker
	opt      Options
	live     mem.Reader // nil for a recorded one
}

// Open traces process pid until the test ends. Where that is not allowed the test is skipped.
func Open(t testing.TB, pid int, opt Options) *Process {
	t.Helper()
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		t.Skipf("process %d cannot be looked into: %v", pid, err)
	}
	t.Cleanup(func() { p.Close() })
	x := &Process{Process: p, opt: opt, live: p}
	x.Forget(t)
	return x
}

// Recorded returns the process of a snapshot whose files open opens.
func Recorded(t testing.TB, s *snapshot.Snapshot, open func(*maps.Mapping) (*module.File, error),
	opt Options) *Process {
	t.Helper()
	x := &Process{opt: opt}
	x.make(t, s.Maps, module.Image{Memory: s.Reader(nil, nil), Mapping: open})
	return x
}

// Forget makes all anew out of the mappings as they are now: nothing is known of the process yet.
func (x *Process) Forget(t testing.TB) {
	t.Helper()
	table, err := x.Maps()
	if err != nil {
		t.Fatal(err)
	}
	x.make(t, table, x.Image())
}

func (x *Process) make(t testing.TB, table *maps.Table, image module.Image) {
	known := x.opt.Known
	if known == nil {
		known = vm.NewTable(vm.Kinds, nil)
	}
	x.Set, x.Runtimes = module.NewSet(table, image), known.Process(image)
	set := x.Set
	t.Cleanup(func() { set.Close() })
	x.Runtimes.Scan(x.Set)
	x.Names = resolve.New(x.Set, x.opt.Names)
	x.Walker = unwind.NewWalker(x.Set, x.Names)
	x.Walker.Use(x.Runtimes)
}

// Stop takes one snapshot of all threads, for which what runtimes need is copied, as for a sample of a recording.
func (x *Process) Stop(t testing.TB) *snapshot.Snapshot {
	t.Helper()
	return x.StopWith(t, x.Runtimes.Copiers())
}

// StopWith is Stop with those Copiers alone, of those threads alone if some are named.
func (x *Process) StopWith(t testing.TB, copiers []snapshot.Copier, tids ...int) *snapshot.Snapshot {
	t.Helper()
	s, err := x.Snapshot(t.Context(), tracer.StopOptions{Copiers: copiers, TIDs: tids})
	if err != nil {
		t.Fatal(err)
	}
	x.Set.Update(s.Maps)
	x.Walker.Renew()
	return s
}

// Walk walks thread number i of s.
func (x *Process) Walk(s *snapshot.Snapshot, i int) unwind.Stack {
	th := &s.Threads[i]
	return x.Walker.Walk(th, s.Reader(th, x.live), unwind.Options{})
}

// Stack walks and names thread number i of s.
func (x *Process) Stack(s *snapshot.Snapshot, i int) profile.Stack {
	walked := x.Walk(s, i)
	return x.Names.Stack(&walked)
}

// Stacks walks and names the threads of s.
func (x *Process) Stacks(s *snapshot.Snapshot) []profile.Stack {
	stacks := make([]profile.Stack, len(s.Threads))
	for i := range s.Threads {
		stacks[i] = x.Stack(s, i)
	}
	return stacks
}

// Pause lets a process run for a while that is not always the same, but so for each i.
func Pause(i int) { time.Sleep(time.Duration(500+i*7919%1500) * time.Microsecond) }
