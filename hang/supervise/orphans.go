//go:build linux

package supervise

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/fpstack/fpstack/procfs"
	"golang.org/x/sys/unix"
)

// Children lists the children of a process, those of all its threads, the ended ones that were not reaped too.
type Children func(pid int) ([]int, error)

// Orphans are the processes below the command whose parents have ended. The kernel makes them our children, so that
// none leaves the tree, and somebody must reap them.
//
// The command has a process group of its own, and what it starts is in that one or in others. So a child in our group
// is a helper that we started ourselves: it is not in the tree, and who started it waits for it.
//
// Source: PR_SET_CHILD_SUBREAPER(2const).
type Orphans struct {
	children Children
	before   map[procfs.Identity]bool // children that this process had before it started anything
	command  int
}

// AdoptOrphans makes this process the one that orphans below it come to. It is to be called before the command is
// started. Processes that are our children by then, of a shell that became this program, are none of ours.
func AdoptOrphans(children Children) (*Orphans, error) {
	o := &Orphans{children: children, before: map[procfs.Identity]bool{}}
	if all, err := children(os.Getpid()); err == nil {
		for _, pid := range all {
			if st, err := procfs.ReadStat("/proc", pid); err == nil {
				o.before[procfs.Identity{PID: pid, Start: st.Start}] = true
			}
		}
	}
	return o, os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
}

// Living lists the children of this process that have not ended, but those that it had before.
func (o *Orphans) Living() []procfs.Identity {
	var out []procfs.Identity
	all, _ := o.children(os.Getpid())
	for _, pid := range all {
		st, err := procfs.ReadStat("/proc", pid)
		if err != nil || st.State == 'Z' || st.State == 'X' || st.Group == syscall.Getpgrp() {
			continue
		}
		if id := (procfs.Identity{PID: pid, Start: st.Start}); !o.before[id] {
			out = append(out, id)
		}
	}
	return out
}

// Below lists all that runs below this process but for what it had before: parents before their children.
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
	all, _ := o.children(os.Getpid())
	reaped := 0
	for _, pid := range all {
		stat, err := procfs.ReadStat("/proc", pid)
		if err != nil || stat.State != 'Z' || pid == o.command || stat.Group == syscall.Getpgrp() {
			continue
		}
		st, err := procfs.ParseStatus(procfs.Read(filepath.Join("/proc", strconv.Itoa(pid), "status"), 1<<14))
		if err != nil || st.TracerPid > 0 {
			continue
		}
		if got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); err == nil && got == pid {
			reaped++
		}
	}
	return reaped
}
