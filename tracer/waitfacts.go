//go:build linux

package tracer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/fpstack/fpstack/hang/waits"
	"github.com/fpstack/fpstack/procfs"
	"golang.org/x/sys/unix"
)

// WaitFacts reads what [waits.Study] wants to know of processes. It implements [waits.Source], and stops nothing: what
// it reads is in /proc and in the memory of the processes, while they run. It is for one goroutine.
type WaitFacts struct {
	root   string
	open   map[int]*Process
	buf    []byte
	own    uint64 // inode of our pid namespace, 0 if unknown
	owners int    // processes that were read because others wait for them

	spaces     []int  // processes of which each has its own memory, ordered by that
	countersOf string // the file of counters on this system, "" not known yet

	files waitFiles
}

// NewWaitFacts returns one that has read nothing. The caller closes it.
func NewWaitFacts() *WaitFacts {
	w := &WaitFacts{root: "/proc", open: map[int]*Process{}, buf: make([]byte, 0, 4096),
		files: waitFiles{root: "/proc"}}
	w.own = namespaceOf(w.root + "/self/ns/pid")
	return w
}

// Close releases what is kept open of the processes.
func (w *WaitFacts) Close() {
	for _, p := range w.open {
		p.Close()
	}
	clear(w.open)
}

// Uninspected is a process that cannot be inspected.
type Uninspected struct {
	PID int
	Err error // as of Open
}

// Begin reads the threads of those processes for the first time. One that another process traces can be inspected.
func (w *WaitFacts) Begin(ctx context.Context, pids []int) (*waits.Facts, []Uninspected) {
	f := &waits.Facts{Reader: os.Getpid()}
	var not []Uninspected
	for _, pid := range pids {
		err := ctx.Err()
		if err == nil {
			err = w.add(f, pid, true)
		}
		if err != nil {
			not = append(not, Uninspected{pid, err})
		}
	}
	return f, not
}

// add reads process pid. asked says that the user named it.
func (w *WaitFacts) add(f *waits.Facts, pid int, asked bool) error {
	p, err := open(w.root, pid, Options{NoStop: true})
	if err != nil {
		return err
	}
	if old := w.open[p.pid]; old != nil {
		p.Close()
		return nil
	}
	p.counters = w.countersOf
	w.countersOf = p.countersFile()
	out := &waits.Process{PID: p.pid, Asked: asked, Space: p.pid}
	w.describe(p, out)
	if err := w.threads(p, out); err != nil {
		p.Close()
		return err
	}
	w.open[p.pid] = p
	f.Add(out)
	return nil
}

// describe fills in what is known of the process as a whole.
func (w *WaitFacts) describe(p *Process, out *waits.Process) {
	if b, err := readAt(p.dir, "stat", w.buf, 4096); err == nil {
		if st, err := procfs.ParseStat(b); err == nil {
			out.Comm, out.Parent = st.Comm, st.Parent
		}
	}
	table, err := p.Maps()
	if err == nil {
		out.Maps = table
		if arch := archOf(p.host, table); arch != nil {
			out.Arch, out.Word = arch.Name, arch.WordSize
		}
	} else {
		out.Err = err
	}
	out.At, out.Clock = time.Now(), p.monotonic()
	ns := namespaceOf(fmt.Sprintf("%s/%d/ns/pid", w.root, p.pid))
	if ns != w.own && w.own != 0 {
		out.Namespace = ns
	}
	out.Space = w.space(p.pid)
}

// space is the id that stands for the memory of process pid: that of the first that was read of those which share it.
func (w *WaitFacts) space(pid int) int {
	at, same := slices.BinarySearchFunc(w.spaces, pid, compareMemory)
	if same {
		return w.spaces[at]
	}
	w.spaces = slices.Insert(w.spaces, at, pid)
	return pid
}

// compareMemory orders processes by their memory: 0 for two that share it. What has ended comes last.
// Source: kcmp(2); KCMP_VM is 1, and the results 1 and 2 are less and greater.
func compareMemory(a, b int) int {
	const kcmpVM, less = 1, 1
	n, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), kcmpVM, 0, 0, 0)
	switch {
	case errno == 0 && n == 0:
		return 0
	case errno == 0 && n == less:
		return -1
	}
	return 1
}

// namespaceOf is the inode of the namespace that the link names, 0 if it cannot be read.
func namespaceOf(link string) uint64 {
	var st unix.Stat_t
	if unix.Stat(link, &st) != nil {
		return 0
	}
	return uint64(st.Ino)
}

// threads reads each thread of p for the first time.
func (w *WaitFacts) threads(p *Process, out *waits.Process) error {
	ids, err := p.ThreadIDs()
	if err != nil {
		return err
	}
	slices.Sort(ids)
	all := make([]waits.Thread, len(ids))
	failed := make([]error, len(ids))
	p.countersFile() // is known from here on
	inTurns(len(ids), func(i int, r *taskReader) {
		t := &all[i]
		t.TID, t.Inner = ids[i], ids[i]
		failed[i] = readWaiting(p, out.Arch, t, r)
		if failed[i] == nil && t.State != 0 && out.Namespace != 0 {
			t.Inner = innerID(p, ids[i])
		}
	})
	out.Threads = make([]*waits.Thread, 0, len(ids))
	for i, err := range failed {
		switch {
		case err == nil && all[i].State != 0:
			out.Threads = append(out.Threads, &all[i])
		case err != nil && !isGone(err):
			out.Err = err
		}
	}
	return nil
}

// innerID is the id of a thread in its own pid namespace.
func innerID(p *Process, tid int) int {
	b, err := readAt(p.dir, "task/"+strconv.Itoa(tid)+"/status", nil, maxProcFile)
	if err != nil {
		return tid
	}
	if st, err := procfs.ParseStatus(b); err == nil {
		return st.Inner
	}
	return tid
}

// Read implements [waits.Source].
func (w *WaitFacts) Read(ctx context.Context, f *waits.Facts, n waits.Need) error {
	for _, tid := range n.Owners {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.owner(f, tid)
	}
	for pid, ids := range n.Inner {
		w.inner(f, pid, ids)
	}
	for pid, lines := range n.Lines {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.lines(f.Process(pid), lines)
	}
	return w.files.read(ctx, f, &n.Files)
}

// maxOwners bounds the processes that are read because others wait for them.
const maxOwners = 256

// owner reads the process of a thread that holds something.
func (w *WaitFacts) owner(f *waits.Facts, tid int) {
	if f.Thread(tid) != nil {
		return
	}
	if w.owners >= maxOwners {
		f.Uninspected(0, tid)
		f.Problem("more processes hold what is waited for than are looked at")
		return
	}
	w.owners++
	err := w.add(f, tid, false)
	switch {
	case f.Thread(tid) != nil:
	case err == nil || hasNoThreads(err):
		f.Gone(0, tid)
	case errors.Is(err, ErrSelf): // it is named, and nobody need know more
		f.Uninspected(0, tid)
	default:
		f.Uninspected(0, tid)
		f.Problem(err.Error())
	}
}

// hasNoThreads reports whether err says that a process has ended.
func hasNoThreads(err error) bool {
	var zombie *ZombieError
	return errors.Is(err, ErrNoProcess) || errors.As(err, &zombie)
}

// inner reads the processes of the pid namespace of process pid that have threads of those ids there.
func (w *WaitFacts) inner(f *waits.Facts, pid int, ids []int) {
	p := f.Process(pid)
	entries, err := os.ReadDir(w.root)
	if err != nil || p == nil {
		return
	}
	for _, e := range entries {
		other, ok := procfs.Number([]byte(e.Name()))
		if !ok || f.Process(other) != nil || namespaceOf(w.root+"/"+e.Name()+"/ns/pid") != p.Namespace {
			continue
		}
		if len(w.open) > maxOwners {
			break
		}
		_ = w.add(f, other, false) // it may be gone
	}
	for _, id := range ids {
		if f.ThreadInside(p, id) == nil {
			f.Gone(p.Namespace, id)
		}
	}
}
