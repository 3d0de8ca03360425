//go:build linux && (amd64 || arm64)

package cxx

import (
	"fmt"
	"path/filepath"
	"strconv"
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

// TestKept: a saved dump and a core have the same chains as the process.
func TestKept(t *testing.T) {
	t.Parallel()
	const n = 3
	harness.Need(t, "gcore")
	for _, program := range []string{"tasks-g++-O0", "tasks-clang++-O2"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			want := ofProgram(t, program, n)
			pid := start(t, program, n)
			dir := t.TempDir()
			saved, core := filepath.Join(dir, "saved"), filepath.Join(dir, "core")
			harness.Output(t, fpstack, "-p", strconv.Itoa(pid), "--save="+saved)
			harness.Output(t, "gcore", "-o", core, strconv.Itoa(pid))
			t.Run("saved", func(t *testing.T) { compare(t, read(t, saved), want) })
			t.Run("core", func(t *testing.T) { compare(t, read(t, fmt.Sprintf("%s.%d", core, pid)), want) })
		})
	}
}

// TestWithoutLines: coroutines are listed without debug information, too: with names where there are symbols, else by
// addresses, and in the same chains. Where they wait is then not known.
func TestWithoutLines(t *testing.T) {
	t.Parallel()
	const n = 10
	for _, program := range programs {
		if strings.HasPrefix(program, "tasks-lib-") {
			continue // scripts/build-cxx strips whole programs alone
		}
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			shape := func(d *profile.Dump) map[int]int {
				depths := map[int]int{}
				for i := range d.Fibers {
					depths[len(d.FiberStacks[d.Fibers[i].Stack].Stack.Frames)]++
				}
				return depths
			}
			whole := shape(dump(t, start(t, program, n)))
			named := dump(t, start(t, program+"-nodebug", n))
			if got := shape(named); fmt.Sprint(got) != fmt.Sprint(whole) {
				t.Errorf("with symbols alone chains of %v functions, with all %v", got, whole)
			}
			for i := range named.Fibers {
				for _, x := range named.FiberStacks[named.Fibers[i].Stack].Stack.Frames {
					if x.Func == "" || x.Line != 0 || x.Note == "" {
						t.Errorf("with symbols alone there is %+v", x)
					}
				}
			}
			stripped := dump(t, start(t, program+"-stripped", n))
			for i := range stripped.Fibers {
				for _, x := range stripped.FiberStacks[stripped.Fibers[i].Stack].Stack.Frames {
					if x.Func != "" || x.Line != 0 {
						t.Errorf("without symbols there is %+v", x)
					}
				}
			}
			for depth, k := range shape(stripped) {
				if k > whole[depth] {
					t.Errorf("without symbols there are %d chains of %d functions, with them %d", k, depth,
						whole[depth])
				}
			}
			if got := shape(stripped); got[5] != n || got[3] != n || got[2] != 2*n {
				t.Errorf("without symbols there are chains of %v functions, with them %v", got, whole)
			}
		})
	}
}

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

// lister is the runtime of coroutines.
type lister interface {
	vm.FiberLister
	vm.FiberStacker
	Frames(unwind.Site) []profile.Frame
}

// coroutines is the runtime of coroutines that image shows, nil if it shows none.
func coroutines(set *module.Set, image module.Image) lister {
	runtimes := vm.NewTable(vm.Kinds, nil).Process(image)
	runtimes.Scan(set)
	for _, l := range runtimes.FiberListers() {
		if l, ok := l.(lister); ok && fmt.Sprint(l) == "C++" {
			return l
		}
	}
	return nil
}

// linesOf is the lines of f.
func linesOf(l lister, f *snapshot.Fiber) string {
	var stack unwind.Stack
	l.FiberStack(f.ID, &stack)
	var s []string
	for i := range stack.Frames {
		for _, x := range l.Frames(stack.Frames[i].Site) {
			s = append(s, strconv.Itoa(x.Line))
		}
	}
	return strings.Join(s, " ")
}

// TestEveryReadFails: whichever read of the process fails, or all from one on, a coroutine has the chain that it has,
// or a part of it, and something is said to be missing: never another one.
func TestEveryReadFails(t *testing.T) {
	t.Parallel()
	const n, tries = 2, 60
	for _, program := range []string{"tasks-g++-O0", "tasks-clang++-O2"} {
		p := walked.Open(t, start(t, program, n), walked.Options{})
		s := p.Stop(t)
		listed := func(m *failing) (all []string, err error) {
			image := p.Image()
			image.Memory, image.Scratch, image.Keep = m, m, nil
			l := coroutines(p.Set, image)
			if l == nil {
				return nil, nil
			}
			if present, err := l.OpenFibers(); !present {
				return nil, err
			}
			fibers, err := l.Fibers(s)
			for i := range fibers {
				all = append(all, linesOf(l, &fibers[i]))
			}
			return all, err
		}
		whole := &failing{Reader: p}
		want, err := listed(whole)
		if err != nil || len(want) < 10*n {
			t.Fatalf("%s: %d coroutines, %v", program, len(want), err)
		}
		for _, all := range []bool{false, true} {
			for at := 1; at <= whole.n; at += max(1, whole.n/tries) {
				got, err := listed(&failing{Reader: p, at: at, all: all})
				for _, lines := range got {
					if !isPartOf(lines, want) {
						t.Errorf("%s: read %d fails: a chain that the source cannot make: %s", program, at, lines)
					}
				}
				if len(got) < len(want) && err == nil && all {
					t.Errorf("%s: reads from %d on fail: of %d coroutines there are %d, and it is not said",
						program, at, len(want), len(got))
				}
			}
		}
	}
}

// isPartOf reports whether lines are a piece of one of all.
func isPartOf(lines string, all []string) bool {
	for _, w := range all {
		if strings.Contains(" "+w+" ", " "+lines+" ") {
			return true
		}
	}
	return false
}
