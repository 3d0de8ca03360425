//go:build linux

package tracer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs/procfile"
	"github.com/fpstack/fpstack/snapshot"
	"golang.org/x/sys/unix"
)

const (
	// fetchTime bounds the CPU time of all Copiers together in one stop, with what they read.
	fetchTime = 25 * time.Millisecond
	// fetchDelay bounds how long they hold the threads if others use the CPU meanwhile.
	fetchDelay = 100 * time.Millisecond
)

// stoppedMemory is the memory of stopped threads as Copiers read it. It reads by /proc/PID/mem, one call a piece: the
// call that reads several, process_vm_readv, sleeps on a page that userfaultfd serves, and nothing wakes it. Pages of
// files that are not in memory are left out: somebody may have to bring them while the threads wait.
type stoppedMemory struct {
	*memory
	table *maps.Table
	entry [8]byte // of pagemap
}

// ReadPieces implements [snapshot.PieceReader].
func (m *stoppedMemory) ReadPieces(pieces []snapshot.Piece) error {
	for i := range pieces {
		p := &pieces[i]
		p.Got = 0
		ready := m.ready(p.Addr, len(p.Data))
		if ready == 0 {
			continue
		}
		n, err := m.quickRead(p.Data[:ready], p.Addr)
		if n == 0 && err == nil {
			return ErrExec
		}
		p.Got = max(n, 0)
	}
	return nil
}

// ready is how many of the n bytes at addr can be read without waiting for a file.
func (m *stoppedMemory) ready(addr mem.Addr, n int) int {
	last := addr + mem.Addr(n) - 1
	for at := addr; ; {
		mapping := m.table.FindFrom(at)
		if mapping == nil || mapping.Start > last {
			return n
		}
		at = max(at, mapping.Start)
		for mapping.Inode != 0 && at <= last && at-mapping.Start < mapping.End-mapping.Start {
			if !m.present(at) {
				return int(at - addr)
			}
			at = at&^(kernelPage-1) + kernelPage
		}
		if at = mapping.End; at-1 >= last {
			return n
		}
	}
}

// present reports whether the page at addr is in memory, or in swap: a file that must be read is neither.
func (m *stoppedMemory) present(addr mem.Addr) bool {
	m.openPages()
	if m.pages < 0 {
		return false
	}
	n, err := rawPread(m.pages, m.entry[:], uint64(addr/kernelPage)*8)
	return err == nil && n == 8 && present(m.entry)
}

// present reads an entry of pagemap.
// Source: linux/Documentation/admin-guide/mm/pagemap.rst, bits 63 and 62.
func present(entry [8]byte) bool { return binary.NativeEndian.Uint64(entry[:])>>62 != 0 }

// kernelPage is the page size that pagemap counts in.
var kernelPage = mem.Addr(os.Getpagesize())

// openPages opens what has which pages are in memory, once.
func (m *memory) openPages() {
	m.pagesOnce.Do(func() {
		var err error
		if m.pages, err = procfile.Open(m.dir, "task/"+strconv.Itoa(m.tid)+"/pagemap", unix.O_RDONLY); err != nil {
			m.pages = -1
		}
	})
}

// fetch lets the Copiers of c copy what they need of its thread.
func (c *Copy) fetch(m *memory, table *maps.Table) {
	if len(c.Copiers) == 0 {
		return
	}
	c.stopped.memory, c.stopped.table = m, table
	c.fetcher.Run(c.Copiers, &c.Thread, &c.stopped)
}

// fetchRoom is the memory that is made ready for what the Copiers copy of n threads, bytes: a dump of a JVM takes
// 2.4 kB a thread.
func fetchRoom(n int) int { return 32<<10 + n*3<<10 }

// fetch lets the Copiers copy what they need of the stopped threads from index from on. They run on the copier: the
// threads are released in time, whatever they do.
func (s *stop) fetch(from int) {
	n := len(s.threads) - from
	of, threads := make([]int, 0, n), make([]snapshot.Thread, 0, n)
	for i := from; i < len(s.threads); i++ {
		if t := &s.threads[i]; t.phase == stopped && t.regs.Arch != nil && !t.crowded {
			of, threads = append(of, i), append(threads, t.describe())
		}
	}
	first, rest := snapshot.Rounds(s.opt.Copiers)
	f := fetching{threads: threads}
	f.m.stoppedMemory, f.m.room = stoppedMemory{memory: s.memory, table: s.table}, s.pages
	room := s.arena.take(fetchRoom(len(threads)))
	err := s.copier.do(func() { f.run(first, rest, room) }, min(fetchDelay, s.opt.MaxPause))
	got, more := f.take()
	switch {
	case err != nil && !errors.Is(err, errNotInTime):
		s.problem(err.Error())
	case got < len(threads):
		s.problem(fmt.Sprintf("memory that runtimes asked for was not copied in time for %d of %d threads",
			len(threads)-got, len(threads)))
	case len(rest) > 0 && more < len(threads):
		s.problem(fmt.Sprintf("%d of %d threads ran again before it was copied what they wait for: that was read later",
			len(threads)-more, len(threads)))
	}
	for k := range got {
		t := &s.threads[of[k]]
		t.copied, t.shortfalls = threads[k].Copied, threads[k].Shortfalls
		for _, short := range t.shortfalls {
			s.problem(short.String())
		}
	}
}

// fetching is threads of which Copiers copy, on a thread that may be given up.
type fetching struct {
	m       pages
	threads []snapshot.Thread
	more    []snapshot.Thread // the first of threads, with what the second round added
	// done and doneMore count threads and more that are copied: they are not touched any more.
	done, doneMore atomic.Int32
}

// run lets first copy of each thread, then rest, as far as the time goes.
func (g *fetching) run(first, rest []snapshot.Copier, room []byte) {
	runtime.LockOSThread() // its CPU time counts
	defer runtime.UnlockOSThread()
	f, began := snapshot.Fetcher{Used: threadTime, Still: true}, threadTime()
	start := time.Now()
	late := func() bool { return time.Since(start) > fetchTime && threadTime()-began > fetchTime }
	f.Use(room)
	for i := range g.threads {
		if late() {
			return
		}
		f.Run(first, &g.threads[i], &g.m)
		f.Keep()
		g.done.Add(1)
	}
	if len(rest) == 0 {
		return
	}
	g.more = slices.Clone(g.threads)
	for i := range g.more {
		if late() {
			return
		}
		f.RunMore(rest, &g.more[i], &g.m)
		f.Keep()
		g.doneMore.Add(1)
	}
}

// take puts what was copied into threads, and returns of how many of them, the first ones, the first copied, and how
// many the rest.
func (g *fetching) take() (got, more int) {
	if more = int(g.doneMore.Load()); more > 0 {
		copy(g.threads, g.more[:more])
	}
	return int(g.done.Load()), more
}

// gatherGrace is how much later than its own bound a ProcessCopier is given up: one read may sleep.
const gatherGrace = 5 * time.Millisecond

// gather lets the ProcessCopiers copy what they need of the stopped process, on the copier.
func (s *stop) gather() {
	read, bound := 0, s.opt.ProcessTime
	if bound <= 0 {
		read, bound = snapshot.GatherRead, snapshot.GatherBudget.Time
	}
	bound = min(bound, s.opt.MaxPause-(s.now()-s.since))
	if bound <= 0 {
		s.problem("memory of the whole process was not copied within the longest pause")
		return
	}
	g := s.gatherer
	g.Budget = snapshot.Budget{Bytes: snapshot.GatherBudget.Bytes, Time: bound}
	g.Read, g.Until = read, time.Now().Add(bound)
	m, copiers := stoppedMemory{memory: s.memory, table: s.table}, s.opt.ProcessCopiers
	switch err := s.copier.do(func() { g.Run(copiers, &m) }, bound+gatherGrace); {
	case errors.Is(err, errNotInTime):
		g.End()
		s.cutShort = true
		s.problem(fmt.Sprintf("not all memory that was wanted of the whole process was copied within %v", bound))
	case err != nil:
		s.problem(err.Error())
	default:
		s.gathered = true
	}
}

// threadTime is the CPU time of the calling thread.
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // which every kernel has
	return time.Duration(t.Nano())
}

// settling is how long ProcessCopiers that were not done in time are waited for when all threads run again: their
// reads fail, and what they had read before is kept.
const settling = time.Second

// whole is what the ProcessCopiers copied.
func (s *stop) whole() []mem.Range {
	if !s.gathered && !(s.cutShort && s.copier.await(settling)) {
		return nil
	}
	ranges, short := s.gatherer.Copied()
	for _, why := range short {
		if !errors.Is(why.Why, snapshot.ErrSpent) { // what is missing then is counted by who knows what it is
			s.problem(why.String())
		}
	}
	return ranges
}
