//go:build linux

package tracer

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fpstack/fpstack/errand"
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer/osthread"
	"golang.org/x/sys/unix"
)

// Process is a living process of this machine, held by its open directory in /proc.
//
// Its methods may be called from any goroutine; one Snapshot is made at a time.
type Process struct {
	pid      int
	root     string // the proc file system, "/proc"
	opt      Options
	host     *regs.Arch
	dir      int // open /proc/PID: dead with the process, also when the id is given again
	tasks    procfile.List
	ownChild bool

	closing  sync.RWMutex // guards dir against Close, where that does not wait: see aside
	stopping sync.Mutex   // held by a Snapshot; guards tasks, thread
	thread   *osthread.Thread

	forked  atomic.Bool // had not executed a program when memory was opened
	memory  atomic.Pointer[memory]
	errands errand.Owner
	nested  atomic.Int32              // 1 in another pid namespace than ours, -1 in ours, 0 if nobody has asked
	table   atomic.Pointer[readTable] // the mappings last read

	files    procfile.Task // of its Watches
	counters string        // the file of their counters, "" not known yet
}

// PID returns the id that the process was opened by.
func (p *Process) PID() int { return p.pid }

// Close gives up the process. No method may be called afterwards.
func (p *Process) Close() error {
	p.stopping.Lock()
	defer p.stopping.Unlock()
	if p.thread != nil {
		p.thread.End()
		p.thread = nil
	}
	if m := p.memory.Swap(nil); m != nil {
		m.close()
	}
	p.closing.Lock()
	defer p.closing.Unlock()
	unix.Close(p.tasks.FD)
	return unix.Close(p.dir)
}

// ThreadIDs lists the threads of the process.
func (p *Process) ThreadIDs() ([]int, error) {
	ids, err := p.listThreads()
	return ids, p.gone(err)
}

func (p *Process) listThreads() ([]int, error) {
	fd, err := procfile.Open(p.dir, "task", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	d := procfile.List{FD: fd}
	d.Reserve(64)
	ids, err := d.IDs(nil)
	if err == nil && len(ids) == 0 {
		err = unix.ESRCH
	}
	return ids, err
}

// gone turns the errors of files that are no longer there into ErrNoProcess, or into
// ErrExec where only that thread has ended.
func (p *Process) gone(err error) error {
	if err == nil || !procfile.Gone(err) {
		return err
	}
	_, living := p.livingThread()
	switch {
	case living == nil:
		return fmt.Errorf("process %d: %w", p.pid, ErrExec)
	case Transient(living):
		return fmt.Errorf("process %d: %w", p.pid, living)
	}
	return fmt.Errorf("process %d: %w", p.pid, ErrNoProcess)
}

// Maps reads the mappings of the process as they are now.
func (p *Process) Maps() (*maps.Table, error) {
	b, err := p.mapsText(nil)
	if err != nil {
		return nil, err
	}
	return p.parseMaps(b)
}

// readTable is mappings with a hash of their text.
type readTable struct {
	*maps.Table
	text uint64
}

// hashSeed is that of the texts' hashes.
var hashSeed = maphash.MakeSeed()

// parseMaps gives the table that was made last for the same text: that of a process with thousands of threads has
// megabytes, and is read three times for a dump.
func (p *Process) parseMaps(text []byte) (*maps.Table, error) {
	hash := maphash.Bytes(hashSeed, text)
	if last := p.table.Load(); last != nil && last.text == hash {
		return last.Table, nil
	}
	t, err := maps.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", p.pid, err)
	}
	p.table.Store(&readTable{t, hash})
	return t, nil
}

// maxMapsText bounds the text of /proc/PID/maps.
const maxMapsText = 1 << 30

// mapsText reads maps of a living thread: those of a leader that has ended are empty.
func (p *Process) mapsText(buf []byte) ([]byte, error) {
	m := p.memory.Load()
	if cap(buf) == 0 {
		buf = make([]byte, 0, 64<<10)
	}
	b, err := procfile.At(p.dir, "task/"+strconv.Itoa(m.tid)+"/maps", buf, maxMapsText)
	return b, p.gone(err)
}

// describe reads what /proc shows of the whole process.
func (p *Process) describe() snapshot.Process {
	d := snapshot.Process{PID: p.pid}
	parent, forked := 0, false
	if b, err := procfile.At(p.dir, "stat", nil, 4096); err == nil {
		if st, err := procfs.ParseStat(b); err == nil {
			d.Comm, parent, forked = st.Comm, st.Parent, st.Flags&procfs.ForkNoExec != 0
		}
	}
	if b, err := procfile.At(p.dir, "cmdline", nil, procfile.MaxFile); err == nil && len(b) > 0 {
		d.Cmdline = strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	}
	if parent > 0 {
		d.Role = procfs.Role(d.Cmdline, procfs.Cmdline("/proc", parent), parent, forked)
	}
	d.Exe, _ = p.exe()
	return d
}

// exe is the path of the executable, through a living thread.
func (p *Process) exe() (string, error) {
	return procfile.Link(p.dir, "task/"+strconv.Itoa(p.memory.Load().tid)+"/exe")
}

// openMemory opens the memory of the process again: that of the program it runs now.
func (p *Process) openMemory() error {
	tid, err := p.livingThread()
	switch {
	case Transient(err):
		return fmt.Errorf("process %d: %w", p.pid, err)
	case err != nil:
		return fmt.Errorf("process %d: %w", p.pid, ErrNoProcess)
	}
	m := &memory{tid: tid, dir: p.dir}
	if m.fd, err = procfile.Open(p.dir, "task/"+strconv.Itoa(tid)+"/mem", unix.O_RDONLY); err != nil {
		if m.call, err = p.withoutFile(tid, err); err != nil {
			return err
		}
	}
	if b, err := procfile.At(p.dir, "task/"+strconv.Itoa(tid)+"/stat", nil, 4096); err == nil {
		at, _ := procfs.StackStart(b)
		m.initial = mem.Addr(at)
	}
	if old := p.memory.Swap(m); old != nil {
		old.close()
	}
	return nil
}

// withoutFile opens the memory where its file could not be opened because of refusal.
func (p *Process) withoutFile(tid int, refusal error) (*callMemory, error) {
	switch {
	case procfile.Gone(refusal) && !p.present(tid):
		return nil, p.gone(refusal)
	case Transient(refusal):
		return nil, fmt.Errorf("open memory of process %d: %w", p.pid, refusal)
	}
	call, err := openCallMemory(p.dir, tid)
	switch {
	case procfile.Gone(err):
		return nil, p.gone(err)
	case errors.Is(err, os.ErrPermission), errors.Is(err, unix.ENOSYS):
		e := permissionError(p.root, p.pid, "open memory of", unix.EACCES)
		e.CallRefused = callRefused() == 0 // not by what refuses ptrace
		return nil, e
	case err != nil:
		return nil, fmt.Errorf("read memory of process %d: %w", p.pid, err)
	}
	return call, nil
}

// FilesDenied reports whether the files that /proc gives to the user of the process alone are refused to us. What they
// show is done without then: see Open.
func (p *Process) FilesDenied() bool {
	m := p.memory.Load()
	return m != nil && m.call != nil
}

// livingThread is the leader, or if that has ended a thread which has not. While a thread
// execs it takes over the id of the ended leader, and one listing can miss it under both. It fails with ESRCH if
// there is none, or as a listing does.
func (p *Process) livingThread() (int, error) {
	if p.present(p.pid) { // to list all threads takes longer, the more there are
		return p.pid, nil
	}
	for range 4 {
		tids, err := p.listThreads()
		if err != nil && !procfile.Gone(err) {
			return 0, err
		}
		for _, tid := range tids {
			if p.present(tid) {
				return tid, nil
			}
		}
	}
	return 0, unix.ESRCH
}
