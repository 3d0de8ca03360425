//go:build linux

package manners

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
	"golang.org/x/sys/unix"
)

// TestAllAreStopped reads a counter of a process that makes threads all the time, twice, while
// all of its threads are said to be stopped at one instant: it must not move.
func TestAllAreStopped(t *testing.T) {
	c := start(t, "churn", "6")
	p := open(t, c.pid)
	lived := counterOf(t, p, "lived")
	n, good, late := rounds(200, 2000), 0, 0
	for good < n && late < 10*n {
		moves := make(chan [2]uint64, 64) // one for each time that threads are stopped
		snap := takeSnapshot(t, p, holding(func() {
			before, ok := lived()
			time.Sleep(time.Millisecond)
			if after, again := lived(); ok && again {
				moves <- [2]uint64{before, after}
			}
		}))
		if snap.Late > 0 || len(snap.Problems) > 0 || slices.ContainsFunc(snap.Threads, missing) {
			late++ // the snapshot says that not all were stopped at one instant
			continue
		}
		good++
		select {
		case m := <-moves:
			if m[0] != m[1] {
				t.Errorf("the counter went from %d to %d", m[0], m[1])
			}
		default:
			t.Error("the counter could not be read")
		}
	}
	t.Logf("%d snapshots of all threads, %d more that said that some threads stopped later", good, late)
	if good < n {
		t.Errorf("only %d snapshots of %d found all threads stopped, want %d", good, good+late, n)
	}
	endChurn(t, c)
}

// missing reports whether a thread was shown without having been stopped.
func missing(th snapshot.Thread) bool { return th.Registers == nil }

// counterOf returns what reads a variable of a process while its threads are stopped.
func counterOf(t *testing.T, p *tracer.Process, name string) func() (uint64, bool) {
	t.Helper()
	at := addressOf(t, p, name)
	return func() (uint64, bool) {
		var b [8]byte
		n, err := p.ReadMem(b[:], at)
		return binary.LittleEndian.Uint64(b[:]), n == len(b) && err == nil
	}
}

// addressOf finds a variable of the executable of a process.
func addressOf(t *testing.T, p *tracer.Process, name string) mem.Addr {
	t.Helper()
	exe := fmt.Sprintf("/proc/%d/exe", p.PID())
	path, err := os.Readlink(exe)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	table, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name != name {
			continue
		}
		for _, m := range table.All() {
			if m.Path == path && m.Offset == 0 { // a PIE, linked at 0
				return m.Start + mem.Addr(s.Value)
			}
		}
	}
	t.Fatalf("no variable %q in %s", name, path)
	return 0
}

// endChurn ends a churn, which must still be well.
func endChurn(t *testing.T, c *target) {
	t.Helper()
	checkFree(t, c.pid)
	unix.Kill(c.pid, unix.SIGTERM)
	if line := c.next(t, patience); !strings.HasPrefix(line, "churned ") {
		t.Errorf("target said %q", line)
	}
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("target: %v", err)
	}
}

// usage is what this program holds on to.
type usage struct{ descriptors, goroutines, threads int }

func ownUsage() usage {
	fds, _ := os.ReadDir("/proc/self/fd")
	tasks, _ := filepath.Glob("/proc/self/task/*")
	return usage{len(fds), runtime.NumGoroutine(), len(tasks)}
}

// TestNoLeak makes many stops in batches of a process whose threads come and go. None of
// them stays a zombie, and this program holds on to nothing.
func TestNoLeak(t *testing.T) {
	c := start(t, "churn", "4")
	p := open(t, c.pid)
	once := func(i int) {
		opt := tracer.StopOptions{Rolling: true, Batch: 1 + i%8}
		if _, err := p.Snapshot(t.Context(), opt); err != nil && !errors.Is(err, tracer.ErrExec) {
			t.Fatal(err)
		}
	}
	for i := range 50 {
		once(i)
	}
	before := ownUsage()
	n := rounds(1000, 10000)
	for i := range n {
		once(i)
	}
	var after usage
	eventually(t, func() (string, bool) { // ended goroutines and threads take a moment
		after = ownUsage()
		grown := after.descriptors > before.descriptors || after.goroutines > before.goroutines ||
			after.threads > before.threads+8
		return fmt.Sprintf("%+v before %d stops, %+v after", before, n, after), !grown
	})
	eventually(t, func() (string, bool) {
		zombies := 0
		for _, dir := range taskDirs(c.pid) {
			if stateIn(dir) == 'Z' {
				zombies++
			}
		}
		return fmt.Sprintf("%d zombies: %s", zombies, threadStates(c.pid)), zombies == 0
	})
	eventually(t, func() (string, bool) { // those that are on their way out are listed as long as they wait for a CPU
		tasks := len(threadIDs(c.pid)) // main, 4 makers, and what they made
		return fmt.Sprintf("%d threads are listed: %s", tasks, threadStates(c.pid)), tasks <= 16
	})
	t.Logf("%d stops: %+v before, %+v after", n, before, after)
	endChurn(t, c)
}
