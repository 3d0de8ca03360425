//go:build linux && (amd64 || arm64)

package rust

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// failing is a memory of which read number at fails, counted from 1, and all from there on if all is set.
type failing struct {
	mem.Reader
	at, n int
	all   bool
}

func (f *failing) ReadMem(b []byte, a mem.Addr) (int, error) {
	if f.n++; f.n == f.at || f.all && f.at > 0 && f.n > f.at {
		return 0, &mem.FaultError{Addr: a, Len: len(b), Err: mem.ErrUnmapped}
	}
	return f.Reader.ReadMem(b, a)
}

// lister is the runtime of tokio.
type lister interface {
	vm.FiberLister
	vm.FiberStacker
	Frames(unwind.Site) []profile.Frame
}

// TestEveryReadFails: whichever read of the process fails, or all from one on, a task has the chain that it has, or
// none and says so: never another one.
func TestEveryReadFails(t *testing.T) {
	t.Parallel()
	const n = 2
	tries := harness.Times(60)
	want := chains(t)
	p := walked.Open(t, start(t, "tasks", "current", n), walked.Options{})
	s := p.Stop(t)
	listed := func(m *failing) {
		image := p.Image()
		image.Memory, image.Scratch, image.Keep = m, m, nil
		l := tokio(t, p.Set, image)
		if l == nil {
			return
		}
		if present, _ := l.OpenFibers(); !present {
			return
		}
		fibers, _ := l.Fibers(s)
		for i := range fibers {
			f := &fibers[i]
			if c := chainOf(l, f); c != "" && want[c] == "" {
				t.Errorf("read %d fails: task %d has a chain that the source cannot make: %s", m.at, f.ID, c)
			}
		}
	}
	whole := &failing{Reader: p}
	if listed(whole); whole.n < tries {
		t.Fatalf("%d reads", whole.n)
	}
	for _, all := range []bool{false, true} {
		for at := 1; at <= whole.n; at += max(1, whole.n/tries) {
			listed(&failing{Reader: p, at: at, all: all})
		}
	}
}

// tokio is the runtime of tokio that image shows, nil if it shows none.
func tokio(t *testing.T, set *module.Set, image module.Image) lister {
	t.Helper()
	runtimes := vm.NewTable(vm.Kinds, nil).Process(image)
	runtimes.Scan(set)
	for _, l := range runtimes.FiberListers() {
		if l, ok := l.(lister); ok && fmt.Sprint(l) == "tokio" {
			return l
		}
	}
	return nil
}

// chainOf is the chain of f, as [chain] writes it, "" of one that has no lines, and of a task that comes and goes.
func chainOf(l lister, f *snapshot.Fiber) string {
	var stack unwind.Stack
	l.FiberStack(f.ID, &stack)
	s, lines := strings.TrimSuffix(f.State, "<u64>")+":", false
	for i := range stack.Frames {
		for _, x := range l.Frames(stack.Frames[i].Site) {
			if isPassing(x.Func) {
				return ""
			}
			s += fmt.Sprintf(" %d", x.Line)
			lines = lines || x.Line != 0
		}
	}
	if !lines {
		return ""
	}
	return s
}
