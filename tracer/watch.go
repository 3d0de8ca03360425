//go:build linux

package tracer

import (
	"io/fs"
	"math"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"golang.org/x/sys/unix"
)

// ErrNoThread says that the thread has ended. It is fs.ErrNotExist too.
var ErrNoThread error = noThread{}

type noThread struct{}

func (noThread) Error() string { return "no such thread" }

// of makes err that error where it says that a thread has ended.
func (noThread) of(err error) error {
	if procfile.Gone(err) {
		return ErrNoThread
	}
	return err
}

func (noThread) Is(target error) bool {
	return target == fs.ErrNotExist || target == error(unix.ESRCH)
}

// Watch is what is kept open of one thread between two samples. Its descriptors are dead with
// the thread, also when the id is given again.
//
// It is used by one goroutine at a time.
type Watch struct {
	p      *Process
	tid    int
	inner  int // what the thread is called in its own pid namespace, 0 where that is tid
	worker bool
	blind  bool     // syscall is refused to us: whether it sleeps is known by a stop
	sched  procFile // schedstat, or status where the kernel has none
	call   procFile // syscall
	stat   procFile // opened when it is first wanted
	files  *procfile.Task
	first  procfs.Stat // what stat showed when the Watch was made

	counted [64]byte // room for what schedstat shows: three numbers

	ran      int         // samples that need not check first whether it sleeps
	tp       mem.Addr    // thread pointer, from the last Stop
	hasTP    bool        // else it is unknown
	last     *last       // what the last Stop found, of a thread that was blocked; nil: there was none
	window   window      // of the stack that the last Stop copied
	windowOf *maps.Table // which says that it is quick to read
	arch     *regs.Arch  // of the program that table shows
	table    *maps.Table
}

// last is what the last Stop of a thread gave at which it was blocked.
type last struct {
	regs     regs.Registers
	pacMask  uint64
	call     snapshot.Syscall
	base     Counters
	repaired bool // its EINTR was repaired
}

// Watch opens what is read again and again of thread tid. It takes two descriptors, a third from
// the first Stop on; one when more than an eighth of those allowed are in use, and none when more
// than half are: then each read opens and closes one.
//
// The Watches of one Process are used by one goroutine at a time.
//
// It fails with ErrNoThread or a *PermissionError. The caller closes the Watch, before the
// Process.
func (p *Process) Watch(tid int) (*Watch, error) {
	w := &Watch{p: p, tid: tid, files: &p.files, call: closedFile("syscall"), stat: closedFile("stat")}
	b, err := w.stat.read(w)
	if err != nil {
		return nil, err
	}
	st, err := procfs.ParseStat(b)
	if err != nil {
		return nil, err
	}
	w.first, w.worker = st, st.KernelWorker()
	w.sched = closedFile(p.CountersFile())
	w.blind = p.FilesDenied()
	if p.otherNamespace() {
		if id := p.InnerOf(tid); id != tid {
			w.inner = id
		}
	}
	if err := w.sched.open(w); err != nil {
		return nil, err
	}
	if w.blind || w.sched.fd < 0 || uint64(w.sched.fd) > descriptors()/8 {
		return w, nil
	}
	if err := w.call.open(w); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// CountersFile is the file that has how often a thread was put on a CPU: schedstat, or status where the kernel has
// none. It checks once, and is not to be called by two at that time.
func (p *Process) CountersFile() string {
	if p.counters == "" {
		p.counters = "status"
		if p.hasSchedstat() {
			p.counters = "schedstat"
		}
	}
	return p.counters
}

// First is the state and the name that the thread had when the Watch was made.
func (w *Watch) First() (state byte, comm string) { return w.first.State, w.first.Comm }

// hasSchedstat reports whether this kernel counts how often a thread is put on a CPU, by what
// it says of us.
// Source: proc_pid_schedstat in linux/fs/proc/base.c: "0 0 0" where counting is off.
func (p *Process) hasSchedstat() bool {
	b, err := procfile.Read(p.root+"/self/schedstat", 128)
	if err != nil {
		return false
	}
	c, err := procfs.ParseSchedstat(b)
	return err == nil && c.Switches > 0
}

// PID is the id of the process.
func (w *Watch) PID() int { return w.p.pid }

// TID is the id of the thread.
func (w *Watch) TID() int { return w.tid }

// Process is the process of the thread.
func (w *Watch) Process() *Process { return w.p }

// KernelWorker says that the thread was a worker of the kernel when the Watch was made: it
// has no user code, and need not be sampled.
func (w *Watch) KernelWorker() bool { return w.worker }

// Close closes the descriptors.
func (w *Watch) Close() error {
	for _, f := range []*procFile{&w.sched, &w.call, &w.stat} {
		f.close()
	}
	return nil
}

// State reads what /proc/TID/stat shows: its state (R S D T t Z X I), its name (at most 15
// bytes, any bytes), and when it began, after boot.
func (w *Watch) State() (state byte, comm string, start time.Duration, err error) {
	b, err := w.stat.read(w)
	if err != nil {
		return 0, "", 0, err
	}
	st, err := procfs.ParseStat(b)
	if err != nil {
		return 0, "", 0, err
	}
	return st.State, st.Comm, time.Duration(st.Start) * (time.Second / procfs.TicksPerSecond), nil
}

// state reads the state alone, without allocating.
func (w *Watch) state() (byte, error) {
	b, err := w.stat.read(w)
	if err != nil {
		return 0, err
	}
	return procfs.ParseState(b)
}

// gone says what became of a thread that was lost to us: it ended, or an exec took its id
// or its program.
func (w *Watch) gone() error {
	b, err := w.stat.read(w)
	if Transient(err) {
		return err
	} else if err != nil {
		return ErrNoThread
	}
	// The memory of a process that is killed is gone before its threads are: that is no exec.
	if st, err := procfs.ParseStat(b); err != nil || st.Flags&procfs.Exiting != 0 {
		return ErrNoThread
	}
	if w.p.Replaced() {
		return ErrExec
	}
	return ErrNoThread
}

// procFile is a file in the /proc directory of a thread, kept open if that can be.
type procFile struct {
	name string
	fd   int
}

func closedFile(name string) procFile { return procFile{name, -1} }

// open opens the file to keep it. It is not kept if half of the descriptors that we may have
// are in use, which the number of a new one shows.
func (f *procFile) open(w *Watch) error {
	fd, err := w.p.openTask(w.files, w.tid, f.name)
	if err != nil {
		return err
	}
	if uint64(fd) > descriptors()/2 {
		unix.Close(fd)
		return nil
	}
	f.fd = fd
	return nil
}

// keep opens a file for a moment, and reports whether it was not open and the caller closes it. Without a descriptor
// each read says why.
func (w *Watch) keep(f *procFile) bool {
	if f.fd >= 0 {
		return false
	}
	fd, err := w.p.openTask(w.files, w.tid, f.name)
	if err != nil {
		return false
	}
	f.fd = fd
	return true
}

// descriptors is how many this process may have.
func descriptors() uint64 {
	var most unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &most) != nil {
		return math.MaxUint64
	}
	return uint64(most.Cur)
}

func (f *procFile) close() {
	if f.fd >= 0 {
		unix.Close(f.fd)
	}
	f.fd = -1
}

// read reads the file into the memory of the reader of w.
func (f *procFile) read(w *Watch) ([]byte, error) {
	if f.fd < 0 {
		return w.p.ReadTask(w.files, w.tid, f.name)
	}
	b, err := w.files.From(f.fd, f.name)
	return b, noThread{}.of(err)
}
