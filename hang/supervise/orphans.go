//go:build linux

package supervise

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/fpstack/fpstack/procfs"
	"golang.org/x/sys/unix"
)

// Children lists the children of a process, those of all its threads, the ended ones that were not reaped too.
type Children func(pid int) ([]int, error)

// Orphans are the processes below the command, in whatever group or session. The kernel makes those whose parents have
// ended our children, so that none leaves the tree, and somebody must reap them.
//
// A child of ours is one of them unless we had it before, or started it as a [Orphans.Helper]: who started that waits
// for it. Any goroutine may call the methods.
//
// Source: PR_SET_CHILD_SUBREAPER(2const).
type Orphans struct {
	children Children
	command  int

	mu     sync.Mutex               // held while a helper is started and while children are sorted out
	others map[procfs.Identity]bool // children that are none of them
}

// AdoptOrphans makes this process the one that orphans below it come to. It is to be called before the command is
// started. Processes that are our children by then, of a shell that became this program, are none of ours.
func AdoptOrphans(children Children) (*Orphans, error) {
	o := &Orphans{children: children, others: map[procfs.Identity]bool{}}
	if all, err := children(os.Getpid()); err == nil {
		for _, pid := range all {
			o.except(pid)
		}
	}
	return o, os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
}

// except makes a process none of them.
func (o *Orphans) except(pid int) {
	if st, err := procfs.ReadStat("/proc", pid); err == nil {
		o.others[procfs.Identity{PID: pid, Start: st.Start}] = true
	}
}

// Helper calls start, which starts a program of our own and gives its id: that is no part of the tree. The caller waits
// for it afterwards.
func (o *Orphans) Helper(start func() (pid int, err error)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	pid, err := start()
	if err == nil {
		o.except(pid) // it is there, ended or not, until it is waited for
	}
	return err
}

// sorted gives each child of this process that is one of them to each.
func (o *Orphans) sorted(each func(id procfs.Identity, st *procfs.Stat)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all, _ := o.children(os.Getpid())
	for _, pid := range all {
		st, err := procfs.ReadStat("/proc", pid)
		if id := (procfs.Identity{PID: pid, Start: st.Start}); err == nil && !o.others[id] {
			each(id, &st)
		}
	}
}

// Living lists the children of this process that have not ended, but those that are none of them.
func (o *Orphans) Living() []procfs.Identity {
	var out []procfs.Identity
	o.sorted(func(id procfs.Identity, st *procfs.Stat) {
		if st.State != 'Z' && st.State != 'X' {
			out = append(out, id)
		}
	})
	return out
}

// Below lists all that runs below this process but for what is none of them: parents before their children.
func (o *Orphans) Below() []int {
	var roots []int
	for _, id := range o.Living() {
		roots = append(roots, id.PID)
	}
	return procfs.Tree(roots, o.children)
}

// Follow says that c is the command: who started it reaps it.
func (o *Orphans) Follow(c *Command) { o.command = c.PID() }

// Reap reaps the orphans that have ended, and counts them.
//
// A child is reaped by its id, when it is a zombie that nobody traces. From then on nobody can attach to it, so that
// this never takes a stop that a tracer of this process waits for.
func (o *Orphans) Reap() int {
	reaped := 0
	o.sorted(func(id procfs.Identity, stat *procfs.Stat) {
		if stat.State != 'Z' || id.PID == o.command {
			return
		}
		st, err := procfs.ParseStatus(procfs.Read(filepath.Join("/proc", strconv.Itoa(id.PID), "status"), 1<<14))
		if err != nil || st.TracerPid > 0 {
			return
		}
		if got, err := syscall.Wait4(id.PID, nil, syscall.WNOHANG, nil); err == nil && got == id.PID {
			reaped++
		}
	})
	return reaped
}
