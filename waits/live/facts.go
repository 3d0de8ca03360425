//go:build linux

// Package live reads from /proc and from memory what package waits wants to know of processes of this machine, while
// they run: nothing is stopped.
//
// A [Reader] has what is read once of a machine, as who has which descriptors, and belongs to one goroutine. It decides
// nothing: whose wait it is, and who could end it, is worked out by package waits.
package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/waits"
	"golang.org/x/sys/unix"
)

// Reader reads what [waits.Study] wants to know of processes. It implements [waits.Source], and stops nothing: what
// it reads is in /proc and in the memory of the processes, while they run. It is for one goroutine.
type Reader struct {
	root   string
	open   map[int]*tracer.Process
	buf    []byte
	own    uint64 // inode of our pid namespace, 0 if unknown
	owners int    // processes that were read because others wait for them

	spaces []int // processes of which each has its own memory, ordered by that
	files  waitFiles
}

// New returns one that has read nothing. The caller closes it.
func New() *Reader {
	w := &Reader{root: "/proc", open: map[int]*tracer.Process{}, buf: make([]byte, 0, 4096),
		files: waitFiles{root: "/proc"}}
	w.own = procfile.Namespace(w.root + "/self/ns/pid")
	return w
}

// Close releases what is kept open of the processes.
func (w *Reader) Close() {
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
func (w *Reader) Begin(ctx context.Context, pids []int) (*waits.Facts, []Uninspected) {
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
func (w *Reader) add(f *waits.Facts, pid int, asked bool) error {
	p, err := tracer.Open(pid, tracer.Options{NoStop: true})
	if err != nil {
		return err
	}
	if old := w.open[p.PID()]; old != nil {
		p.Close()
		return nil
	}
	out := &waits.Process{PID: p.PID(), Asked: asked, Space: p.PID()}
	w.describe(p, out)
	if err := w.threads(p, out); err != nil {
		p.Close()
		return err
	}
	w.open[p.PID()] = p
	f.Add(out)
	return nil
}

// describe fills in what is known of the process as a whole.
func (w *Reader) describe(p *tracer.Process, out *waits.Process) {
	if b, err := p.ReadFile("stat", w.buf, 4096); err == nil {
		if st, err := procfs.ParseStat(b); err == nil {
			out.Comm, out.Parent = st.Comm, st.Parent
		}
	}
	if b, err := p.ReadFile("status", w.buf, procfile.MaxFile); err == nil {
		if st, err := procfs.ParseStatus(b); err == nil {
			out.Caught = st.Caught
		}
	}
	if b, err := p.ReadFile("timers", w.buf, 4096); err == nil { // CONFIG_CHECKPOINT_RESTORE
		out.Timers = len(b) > 0
	}
	table, err := p.Maps()
	if err == nil {
		out.Maps = table
		if arch := p.Arch(table); arch != nil {
			out.Arch, out.Word = arch.Name, arch.WordSize
		}
	} else {
		out.Err = err
	}
	out.At, out.Clock = time.Now(), p.Monotonic()
	ns := procfile.Namespace(fmt.Sprintf("%s/%d/ns/pid", w.root, p.PID()))
	if ns != w.own && w.own != 0 {
		out.Namespace = ns
	}
	out.Space = w.space(p.PID())
}

// space is the id that stands for the memory of process pid: that of the first that was read of those which share it.
func (w *Reader) space(pid int) int {
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

// threads reads each thread of p for the first time.
func (w *Reader) threads(p *tracer.Process, out *waits.Process) error {
	ids, err := p.ThreadIDs()
	if err != nil {
		return err
	}
	slices.Sort(ids)
	all := make([]waits.Thread, len(ids))
	failed := make([]error, len(ids))
	p.CountersFile() // is known from here on
	procfile.InTurns(len(ids), func(i int, r *procfile.Task) {
		t := &all[i]
		t.TID, t.Inner = ids[i], ids[i]
		failed[i] = readWaiting(p, out.Arch, t, r)
		if failed[i] == nil && t.State != 0 && out.Namespace != 0 {
			t.Inner = p.InnerOf(ids[i])
		}
	})
	out.Threads = make([]*waits.Thread, 0, len(ids))
	for i, err := range failed {
		switch {
		case err == nil && all[i].State != 0:
			out.Threads = append(out.Threads, &all[i])
		case err != nil && !procfile.Gone(err):
			out.Err = err
		}
	}
	return nil
}

// Read implements [waits.Source].
func (w *Reader) Read(ctx context.Context, f *waits.Facts, n waits.Need) error {
	for _, tid := range n.Owners {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.owner(f, tid)
	}
	if err := w.asleep(ctx, f, n.Asleep); err != nil {
		return err
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
func (w *Reader) owner(f *waits.Facts, tid int) {
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
	case errors.Is(err, tracer.ErrSelf): // it is named, and nobody need know more
		f.Uninspected(0, tid)
	default:
		f.Uninspected(0, tid)
		f.Problem(err.Error())
	}
}

// hasNoThreads reports whether err says that a process has ended.
func hasNoThreads(err error) bool {
	var zombie *tracer.ZombieError
	return errors.Is(err, tracer.ErrNoProcess) || errors.As(err, &zombie)
}

// inner reads the processes of the pid namespace of process pid, which may have threads of those ids there. That a
// thread is gone is known only where all of them were read.
func (w *Reader) inner(f *waits.Facts, pid int, ids []int) {
	p := f.Process(pid)
	if p == nil {
		return
	}
	pids := w.files.pids()
	whole := len(pids) > 0 // else they could not be listed
	for _, other := range pids {
		if f.Process(other) != nil {
			continue
		}
		switch procfile.Namespace(fmt.Sprintf("%s/%d/ns/pid", w.root, other)) {
		case 0: // of another user, or gone
			whole = whole && !w.mayHave(other, ids)
		case p.Namespace:
			if w.owners >= maxOwners {
				whole = false
				f.Problem("more processes share a pid namespace with one that waits than are looked at")
				break
			}
			w.owners++
			if err := w.add(f, other, false); err != nil && !hasNoThreads(err) {
				whole = false
				f.Problem(err.Error())
			}
		}
	}
	for _, id := range ids {
		switch {
		case f.ThreadInside(p, id) != nil:
		case whole:
			f.Gone(p.Namespace, id)
		default:
			f.Uninspected(p.Namespace, id)
		}
	}
}

// mayHave reports whether a thread of process pid has one of the ids in a pid namespace of its own.
func (w *Reader) mayHave(pid int, ids []int) bool {
	threads, err := os.ReadDir(fmt.Sprintf("%s/%d/task", w.root, pid))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	for _, t := range threads {
		st, err := procfile.Status(fmt.Sprintf("%s/%d/task/%s/status", w.root, pid, t.Name()))
		if err == nil && st.Inner != st.PID && slices.Contains(ids, st.Inner) {
			return true
		}
	}
	return false
}
