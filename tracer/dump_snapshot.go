//go:build linux

package tracer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/procfs/procfile"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer/osthread"
)

// maxExecs is how often a Snapshot starts again when the process begins another program.
const maxExecs = 3

// Snapshot stops the threads of the process for a moment and returns what was copied.
//
// A part that could not be had is reported in the Snapshot (NotStopped, StackErr, Problems);
// the error is not nil only if nothing can be shown: ErrNoProcess, ErrExec,
// *ZombieError, *TracedError, *PermissionError, *KernelError, *WordSizeError, or that of
// ctx. All threads run again when it returns, whatever it returns.
//
// Of a process that was opened with NoStop nothing is stopped: Copiers read of threads that sleep, ProcessCopiers are
// left out, and what runs is NotStopped.
func (p *Process) Snapshot(ctx context.Context, opt StopOptions) (*snapshot.Snapshot, error) {
	p.stopping.Lock()
	defer p.stopping.Unlock()
	opt = opt.withDefaults()
	once := p.snapshotOnce
	if p.opt.NoStop {
		once = p.unstoppedOnce
	}
	s, err := once(ctx, opt)
	for try := 0; errors.Is(err, ErrExec) && try < maxExecs; try++ {
		time.Sleep(time.Duration(try) * 5 * time.Millisecond)
		if err = p.openMemory(); err == nil {
			s, err = once(ctx, opt)
		}
	}
	if s != nil {
		p.innerIDs(s)
	}
	return s, err
}

// innerIDs notes what the threads of s are called in their own pid namespace, if that is not ours.
func (p *Process) innerIDs(s *snapshot.Snapshot) {
	if !p.otherNamespace() {
		return
	}
	for i := range s.Threads {
		t := &s.Threads[i]
		if id := p.InnerOf(t.TID); id != t.TID {
			t.Inner = id
		}
	}
}

// otherNamespace reports whether p is known to be in another pid namespace than we are. It stays there.
func (p *Process) otherNamespace() bool {
	if p.nested.Load() == 0 {
		own := procfile.Namespace("/proc/self/ns/pid")
		theirs := procfile.Namespace(fmt.Sprintf("/proc/%d/ns/pid", p.pid))
		if own != theirs && own != 0 && theirs != 0 {
			p.nested.Store(1)
		} else {
			p.nested.Store(-1)
		}
	}
	return p.nested.Load() == 1
}

func (p *Process) snapshotOnce(ctx context.Context, opt StopOptions) (*snapshot.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	s, err := p.prepare(ctx, opt)
	if err != nil {
		return nil, err
	}
	defer s.copier.close()
	if p.thread == nil {
		p.thread = osthread.Start()
	}
	s.use(p.thread, s)
	if err := p.thread.Do(s.run); err != nil {
		s.dirty = true
		s.problem(err.Error())
	}
	if s.dirty {
		p.thread.End()
		p.thread = nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.exec {
		return nil, fmt.Errorf("process %d: %w", p.pid, ErrExec)
	}
	if err := s.nothing(); err != nil {
		return nil, err
	}
	return s.result(), nil
}

// prepare reads what /proc shows before the stop, and makes all that the stop will need.
func (p *Process) prepare(ctx context.Context, opt StopOptions) (*stop, error) {
	text, err := p.mapsText(nil)
	if err != nil {
		return nil, err
	}
	table, err := p.parseMaps(text)
	if err != nil {
		return nil, err
	}
	if len(table.All()) == 0 { // a program that is being replaced, or ended
		return nil, fmt.Errorf("process %d: %w", p.pid, ErrExec)
	}
	s := &stop{engine: engine{clock: time.Now()}, p: p, opt: opt, ctx: ctx, memory: p.memory.Load(), table: table,
		first: text, straggling: straggling,
		copier: startCopier(), windows: windows{table: table, initial: p.memory.Load().initial, limit: p.opt.StackLimit,
			total: p.opt.StackTotal}}
	if opt.Core != nil { // which is to have all threads, however long that takes
		s.straggling = opt.MaxPause
	}
	if len(opt.ProcessCopiers) > 0 {
		s.monotonic, s.gatherer = p.Monotonic(), &snapshot.Gatherer{}
		s.gatherer.Ready(opt.ProcessCopiers)
	}
	if err := s.listFacts(); err != nil {
		s.copier.close()
		return nil, err
	}
	s.leaveOut()
	n := len(s.threads) + len(s.left) + 64
	s.ids = make([]int, 0, n)
	p.tasks.Reserve(n)
	room := s.windows.estimate(s.threads) + 64<<10
	if len(opt.Copiers) > 0 {
		room += fetchRoom(len(s.threads)) + pagesRoom
	}
	s.arena = newArena(room)
	if len(opt.Copiers) > 0 {
		s.pages = s.arena.take(pagesRoom)
	}
	s.text, s.again = make([]byte, 0, len(text)+4096), make([]byte, 0, len(text)+4096)
	return s, nil
}

// listFacts lists the threads wanted with what /proc shows of each, those that run last.
func (s *stop) listFacts() error {
	ids := s.opt.TIDs
	if ids == nil {
		var err error
		if ids, err = s.p.ThreadIDs(); err != nil {
			return err
		}
	}
	s.known = make(map[int]bool, 2*len(ids)+64)
	room := len(ids) + len(ids)/16 + 64
	s.threads, s.spare = make([]dumped, 0, room), make([]registers, room)
	for _, tid := range ids {
		s.add(tid)
	}
	s.p.CountersFile() // is known from here on
	procfile.InTurns(len(s.threads), func(i int, r *procfile.Task) {
		t := &s.threads[i]
		var ok bool
		if t.facts, ok = s.p.knownFacts(t.tid, s.opt.Known, r); ok {
			return
		}
		if t.facts, ok = s.p.readFacts(t.tid, r); !ok {
			t.phase = ended
		}
	})
	for i := range s.threads {
		t := &s.threads[i]
		if t.phase == ended {
			s.missing++
		} else if s.opt.KernelStacks {
			s.readKernel(t)
		}
	}
	slices.SortStableFunc(s.threads, func(a, b dumped) int {
		return cmp.Compare(runs(&a), runs(&b))
	})
	return nil
}

// leaveOut takes those threads out of the list for whose stacks there will be no room, as far as is known from
// where they slept last. One is always left in.
func (s *stop) leaveOut() {
	room := s.windows.total
	at := 0
	for i := range s.threads {
		t := &s.threads[i]
		if t.phase == listed {
			if room -= s.windows.expect(t); room < 0 && at > 0 {
				s.left = append(s.left, t.tid)
				continue
			}
		}
		s.threads[at] = *t
		at++
	}
	clear(s.threads[at:])
	s.threads = s.threads[:at]
}

// readKernel reads where in the kernel a thread waits. Of one that runs the file says nothing true.
func (s *stop) readKernel(t *dumped) {
	if t.state == 'R' || t.state == 0 {
		return
	}
	var err error
	if t.kernel, err = s.p.readKernel(t.tid); err != nil && !procfile.Gone(err) {
		s.problem(fmt.Sprintf("kernel stacks cannot be read: %v", err))
	}
}

func runs(t *dumped) int {
	if t.state == 'R' {
		return 1
	}
	return 0
}

// nothing is the error of a stop in which no thread can be shown.
func (s *stop) nothing() error {
	var first error
	for i := range s.threads {
		t := &s.threads[i]
		switch {
		case t.regs.Arch != nil || t.phase == running || t.worker:
			return nil
		case t.err != nil && first == nil:
			first = t.err
		case t.phase != ended && t.err == nil && t.state != 'Z':
			return nil
		}
	}
	if first != nil {
		return first
	}
	if err := s.p.check(); err != nil {
		return err
	}
	if s.opt.TIDs == nil || s.memory.replaced(s.table.All()[0].Start) {
		return fmt.Errorf("process %d: %w", s.p.pid, ErrExec)
	}
	return fmt.Errorf("process %d has none of the threads %v: %w", s.p.pid, s.opt.TIDs, ErrNoProcess)
}

// result makes the Snapshot when all run again.
func (s *stop) result() *snapshot.Snapshot {
	whole := s.whole()
	out := &snapshot.Snapshot{Process: s.p.describe(), Host: s.p.host, Time: s.clock.Add(s.begun),
		Stopped: max(0, s.end-s.begun), Rolling: s.opt.Rolling, Problems: s.problems, Late: s.late, Left: s.left,
		Whole: whole}
	if s.monotonic > 0 {
		out.Clock = s.monotonic + s.begun
	}
	out.Maps, out.Changed = s.tables()
	out.Threads = make([]snapshot.Thread, 0, len(s.threads))
	w := windows{table: out.Maps, initial: s.windows.initial, limit: openWindow, total: max(0, s.windows.total)}
	for i := range s.threads {
		t := &s.threads[i]
		if t.phase == ended && t.regs.Arch == nil {
			out.Exited++
			continue
		}
		if t.phase == released && t.crowded {
			out.Left = append(out.Left, t.tid)
			continue
		}
		th := t.describe()
		if t.interrupted > 0 {
			th.Time = s.clock.Add(t.interrupted)
		}
		if th.Comm == "" {
			th.Comm = s.p.lastComm(t.tid)
		}
		if th.Registers == nil {
			th.Arch = archOf(s.p.host, out.Maps)
			s.p.observe(&th, &w)
		}
		out.Threads = append(out.Threads, th)
	}
	out.SortThreads()
	return out
}

// Arch is the architecture of the program that table shows; nil if the kernel has none that is known.
func (p *Process) Arch(table *maps.Table) *regs.Arch { return archOf(p.host, table) }

// archOf tells a 32-bit program of a 64-bit kernel by its mappings: all lie below 4 GiB.
func archOf(host *regs.Arch, table *maps.Table) *regs.Arch {
	compat := host.Compat()
	if compat == nil {
		return host
	}
	for _, m := range table.All() {
		if m.End > 1<<32 && m.Path != "[vsyscall]" {
			return host
		}
	}
	return compat
}
