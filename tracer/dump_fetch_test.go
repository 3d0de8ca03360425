//go:build linux

package tracer

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer/ptrace"
	"golang.org/x/sys/unix"
)

// follow is a Copier that follows three pointers from at, and reads the word that the thread pointer points to.
type follow mem.Addr

func (at follow) Copy(t *snapshot.Thread, f *snapshot.Fetcher) {
	next := mem.Addr(at)
	for range 3 {
		// and one that is not mapped
		f.Fetch(snapshot.Want{Addr: next, Len: ptrace.WordSize}, snapshot.Want{Addr: 0x10, Len: 8})
		v, _ := f.Word(next)
		next = mem.Addr(v)
	}
	if t.HasTP {
		f.Fetch(snapshot.Want{Addr: t.TP, Len: ptrace.WordSize})
	}
}

// checkFollowed checks what follow copied.
func checkFollowed(t *testing.T, way string, th *snapshot.Thread, from mem.Addr) {
	t.Helper()
	if len(th.Shortfalls) > 0 {
		t.Errorf("%s: %v", way, th.Shortfalls)
	}
	m := (&snapshot.Snapshot{}).Reader(th, nil)
	at, v := from, uint64(0)
	for range 3 {
		var err error
		if v, err = mem.Uint(m, at, ptrace.WordSize, th.Arch.Order); err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		at = mem.Addr(v)
	}
	if v<<32 != 0x55667788<<32 {
		t.Errorf("%s: the chain ends in %#x", way, v)
	}
	// On amd64 the first word of a C thread's descriptor is its own address (ELF Handling For Thread-Local Storage,
	// 3.4.6).
	if self, err := mem.Uint(m, th.TP, ptrace.WordSize, th.Arch.Order); runtime.GOARCH == "amd64" &&
		(!th.HasTP || err != nil || mem.Addr(self) != th.TP) {
		t.Errorf("%s: thread pointer %#x (%v) points to %#x, %v", way, uint64(th.TP), th.HasTP, self, err)
	}
}

// TestFetch copies the same words in a dump, in a stop of one thread, and of a sleeper without a stop.
func TestFetch(t *testing.T) {
	c := start(t, "target", "chain")
	var first uint64
	if _, err := fmt.Fscanf(c.out, "0x%x\n", &first); err != nil {
		t.Fatal(err)
	}
	waitState(t, c.pid(), 'S')
	p, copiers := openTarget(t, c.pid()), []snapshot.Copier{follow(first)}
	s := takeSnapshot(t, p, StopOptions{Copiers: copiers})
	checkFollowed(t, "dump", &s.Threads[0], mem.Addr(first))

	w, got := openWatch(t, p, c.pid()), Copy{Copiers: copiers}
	stopOne(t, openSampler(t, SamplerOptions{}), w, &got, mapsOf(t, p))
	checkFollowed(t, "stop", &got.Thread, mem.Addr(first))
	waitState(t, c.pid(), 'S')
	peek(t, w, &got)
	checkFollowed(t, "sleeper", &got.Thread, mem.Addr(first))
	table := mapsOf(t, p)
	if n := testing.AllocsPerRun(20, func() { got.fetch(p.memory.Load(), table) }); n != 0 {
		t.Errorf("%v allocations in a fetch, want 0", n)
	}
}

type copyFunc func(t *snapshot.Thread, f *snapshot.Fetcher)

func (c copyFunc) Copy(t *snapshot.Thread, f *snapshot.Fetcher) { c(t, f) }
func (c copyFunc) String() string                               { return "test" }

func TestCopierThatMisbehaves(t *testing.T) {
	c := start(t, "threads", 3, 1)
	p := openTarget(t, c.pid())
	hold := make(chan bool)
	defer close(hold)
	for name, f := range map[string]copyFunc{
		"panics":       func(*snapshot.Thread, *snapshot.Fetcher) { panic("of the test") },
		"never ends":   func(*snapshot.Thread, *snapshot.Fetcher) { <-hold },
		"wants it all": func(_ *snapshot.Thread, f *snapshot.Fetcher) { f.Fetch(snapshot.Want{Addr: 0, Len: 1 << 30}) },
		"wants a lot": func(_ *snapshot.Thread, f *snapshot.Fetcher) {
			f.Fetch(make([]snapshot.Want, 1<<20)...)
			f.Fetch(many...)
		},
	} {
		s := takeSnapshot(t, p, StopOptions{Copiers: []snapshot.Copier{f}})
		if len(s.Problems) == 0 || len(s.Threads[0].Copied) != 0 || s.Stopped > 10*time.Second {
			t.Errorf("%s: problems %q, %d ranges, stopped %v", name, s.Problems, len(s.Threads[0].Copied), s.Stopped)
		}
		// Where other programs have the CPUs the limit may come before the panic: then it is tried again.
		for try := 0; name == "panics" && try < 50 && strings.Contains(strings.Join(s.Problems, ""),
			"not copied in time"); try++ {
			s = takeSnapshot(t, p, StopOptions{Copiers: []snapshot.Copier{f}})
		}
		if name == "panics" && !strings.Contains(strings.Join(s.Problems, ""), "of the test") {
			t.Errorf("problems %q do not name the cause", s.Problems)
		}
	}
}

// TestCopiedBeforeTheEnd: where a Copier does not end with one thread, what was copied of those before is kept.
func TestCopiedBeforeTheEnd(t *testing.T) {
	c := start(t, "threads", 3, 1)
	p := openTarget(t, c.pid())
	hold := make(chan bool)
	defer close(hold)
	calls := 0
	copier := copyFunc(func(th *snapshot.Thread, f *snapshot.Fetcher) {
		if calls++; calls == 3 {
			<-hold
		}
		sp, _ := th.Registers.SP()
		f.Fetch(snapshot.Want{Addr: sp - 4096, Len: 8}) // below the copied stack
	})
	s := takeSnapshot(t, p, StopOptions{Copiers: []snapshot.Copier{copier}})
	var copied int
	for i := range s.Threads {
		copied += len(s.Threads[i].Copied)
	}
	problems := strings.Join(s.Problems, "; ")
	if !strings.Contains(problems, "not copied in time") {
		t.Fatalf("problems %q do not say that the Copier was given up", problems)
	}
	if want := fmt.Sprintf("for %d of %d threads", len(s.Threads)-copied, len(s.Threads)); copied > 2 ||
		!strings.Contains(problems, want) {
		t.Errorf("%d ranges are kept, problems %q; want at most 2, and %q", copied, problems, want)
	}
	if copied == 0 {
		t.Log("the CPU was taken from the Copier before its first thread")
	}
}

// TestLastComesLast: where a Copier of what frames do not need does not end, the frames of all threads are copied.
func TestLastComesLast(t *testing.T) {
	c := start(t, "threads", 3, 1)
	p := openTarget(t, c.pid())
	hold := make(chan bool)
	defer close(hold)
	below := func(n mem.Addr) copyFunc {
		return func(th *snapshot.Thread, f *snapshot.Fetcher) {
			sp, _ := th.Registers.SP()
			f.Fetch(snapshot.Want{Addr: sp - n, Len: 8}) // below the copied stack
		}
	}
	calls := 0
	last := copyFunc(func(th *snapshot.Thread, f *snapshot.Fetcher) {
		if calls++; calls == 2 {
			<-hold
		}
		below(2048)(th, f)
	})
	s := takeSnapshot(t, p, StopOptions{Copiers: []snapshot.Copier{snapshot.Last{Copier: last}, below(4096)}})
	problems, ranges := strings.Join(s.Problems, "; "), 0
	for i := range s.Threads {
		ranges += len(s.Threads[i].Copied)
	}
	if strings.Contains(problems, "not copied in time") {
		t.Skipf("the CPU was taken from the Copiers: %s", problems)
	}
	n := len(s.Threads)
	if want := fmt.Sprintf("%d of %d threads ran again", n-(ranges-n), n); ranges < n || ranges > n+1 ||
		!strings.Contains(problems, want) {
		t.Errorf("%d ranges of %d threads, problems %q; want %d or %d, and %q", ranges, n, problems, n, n+1, want)
	}
}

// many are more ranges than a Copier may have, at no memory.
var many = func() (wants []snapshot.Want) {
	for i := range 2 * snapshot.CopyBudget.Ranges {
		wants = append(wants, snapshot.Want{Addr: mem.Addr(16 * i), Len: 8})
	}
	return wants
}()

// TestReady: of pages of files those are read that are in memory.
func TestReady(t *testing.T) {
	page := os.Getpagesize()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, make([]byte, 4*page), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, 4*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(b)
	if err := unix.Madvise(b, unix.MADV_RANDOM); err != nil { // neighbours are not mapped with a page
		t.Fatal(err)
	}
	b[0], b[page] = 1, 1
	dir, err := unix.Open("/proc/self", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	text, err := os.Open("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	table, err := maps.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	m := stoppedMemory{memory: &memory{fd: -1, dir: dir, tid: os.Getpid()}, table: table}
	start := mem.Addr(uintptr(unsafe.Pointer(&b[0])))
	stack := mem.Addr(uintptr(unsafe.Pointer(&dir)))
	for _, row := range []struct {
		name    string
		addr    mem.Addr
		n, want int
	}{
		{"in memory", start, 2 * page, 2 * page}, {"the end is not", start + mem.Addr(page), page + 8, page},
		{"none is", start + mem.Addr(2*page), 8, 0}, {"no file", stack, 8, 8}, {"not mapped", 8, 16, 16},
		{"last of the address space", 1<<64 - 8, 8, 8},
	} {
		if got := m.ready(row.addr, row.n); got != row.want {
			t.Errorf("%s: %d bytes of %d, want %d", row.name, got, row.n, row.want)
		}
	}
	m.pagesOnce.Do(func() {})
	unix.Close(m.pages)
}

// gatherFunc is a ProcessCopier.
type gatherFunc func(g *snapshot.Gatherer)

func (f gatherFunc) CopyProcess(g *snapshot.Gatherer) { f(g) }
func (f gatherFunc) Room() int                        { return 0 }

// TestGatheredBeforeTheEnd: what a ProcessCopier that is not done in time has read before is kept, and nothing that it
// wants later.
func TestGatheredBeforeTheEnd(t *testing.T) {
	c := start(t, "threads", 3, 1)
	p := openTarget(t, c.pid())
	table, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	at := table.All()[0].Start
	copier := gatherFunc(func(g *snapshot.Gatherer) {
		g.Gather([]snapshot.Want{{Addr: at, Len: 8}})
		time.Sleep(300 * time.Millisecond)
		if _, ok := g.Gather([]snapshot.Want{{Addr: at + 1024, Len: 8}}); ok {
			t.Error("a read is made when the threads run again")
		}
	})
	s := takeSnapshot(t, p, StopOptions{ProcessCopiers: []snapshot.ProcessCopier{copier}, ProcessTime: 50e6})
	if len(s.Whole) != 1 || s.Whole[0].Start != at || len(s.Whole[0].Data) != 8 {
		t.Errorf("copied: %v, want 8 bytes at %#x", s.Whole, uint64(at))
	}
	if text := strings.Join(s.Problems, "; "); !strings.Contains(text, "not all memory that was wanted") {
		t.Errorf("problems %q do not say that it was not done in time", text)
	}
}
