package waits

import (
	"fmt"
	"slices"
	"strings"
)

// reach asks for a process whose threads are wanted, unless it is known or known to be gone.
func (s *study) reach(pid int) {
	if s.facts.Process(pid) != nil {
		return
	}
	if _, gone := s.facts.gone[inner{0, pid}]; !gone {
		s.need.Owners = append(s.need.Owners, pid)
	}
}

// maxReached bounds the processes that are read because one wait could be ended by any of them.
const maxReached = 32

// byProcesses makes w a wait that any of the processes may end.
func (s *study) byProcesses(w *Wait, pids []int) {
	slices.Sort(pids)
	pids = slices.Compact(pids)
	w.Mode = Any
	for i, pid := range pids {
		w.Wakers = append(w.Wakers, Waker{PID: pid})
		if i < maxReached {
			s.reach(pid)
		}
	}
	if len(pids) > maxReached && w.Unlisted == "" {
		w.Unlisted = fmt.Sprintf("%d processes could end it, of which %d were looked at", len(pids), maxReached)
	}
}

// anyChild is the name of a wait for whichever child ends first.
const anyChild = "any child"

// wait4 is a wait for children to end. Source: wait4(2).
func (s *study) wait4(c *blocked, w *Wait) {
	pid := c.int(0)
	switch {
	case pid > 0:
		s.oneChild(c, w, pid)
	case pid == -1:
		s.anyChild(c, w, func(ChildProcess) bool { return true }, anyChild)
	case pid == 0:
		// The group of the caller is not asked for: its own children of another group are few.
		s.anyChild(c, w, func(ChildProcess) bool { return true }, "a child of its own process group")
		w.Certainty = Possible
	default:
		s.anyChild(c, w, func(ch ChildProcess) bool { return ch.Group == -pid },
			fmt.Sprintf("a child of process group %d", -pid))
	}
}

// waitid is the same call with more choices. Source: waitid(2).
func (s *study) waitid(c *blocked, w *Wait) {
	const pAll, pPID, pPGID, pPIDFD = 0, 1, 2, 3
	switch id := c.int(1); c.int(0) {
	case pPID:
		s.oneChild(c, w, id)
	case pPGID:
		s.anyChild(c, w, func(ch ChildProcess) bool { return id == 0 || ch.Group == id },
			fmt.Sprintf("a child of process group %d", id))
	case pPIDFD:
		fd := s.file(c.p, id)
		if fd == nil || !fd.Info.HasPID {
			w.Object = Object{Kind: kindChildEnd, Name: "by a pidfd"}
			w.Unlisted = "which process the pidfd means is not known"
			return
		}
		s.oneChild(c, w, fd.Info.PID)
	case pAll:
		s.anyChild(c, w, func(ChildProcess) bool { return true }, anyChild)
	default:
		s.other(c, w)
	}
}

// oneChild is a wait for the end of process pid, as the pid namespace of who waits has it.
func (s *study) oneChild(c *blocked, w *Wait, pid int) {
	w.Object = Object{Kind: kindChildEnd}
	if c.p.Namespace != 0 {
		t, known := s.alive(c.p, uint32(pid))
		if !known || t == nil {
			w.Unlisted = "the child of that id in its pid namespace was not found"
			w.Object.Name = fmt.Sprintf("process %d of its pid namespace", pid)
			return
		}
		pid = t.Process.PID
	}
	w.Object.Key = Key{Class: Child, A: uint64(pid)}
	w.Object.Name = s.processName(pid)
	w.Certainty = Shown
	s.byProcesses(w, []int{pid})
	s.noteEnded(c, w, pid)
}

// noteEnded says that a child has ended already, where that is known: then who waits is about to get it.
func (s *study) noteEnded(c *blocked, w *Wait, pid int) {
	list, ok := s.children(c.p.PID)
	if !ok {
		return
	}
	for _, ch := range list {
		if ch.PID == pid && ch.State == 'Z' {
			w.Note = fmt.Sprintf("process %d has ended, and its parent has not taken notice", pid)
		}
	}
}

// anyChild is a wait for one of those children that mean says.
func (s *study) anyChild(c *blocked, w *Wait, mean func(ChildProcess) bool, name string) {
	w.Object = Object{Kind: kindChildEnd, Name: name}
	list, ok := s.children(c.p.PID)
	if !ok {
		return
	}
	var pids []int
	for _, ch := range list {
		if mean(ch) {
			pids = append(pids, ch.PID)
		}
	}
	if len(pids) == 0 {
		w.Unlisted = "no such child was seen"
		return
	}
	if len(pids) == 1 {
		w.Object.Key = Key{Class: Child, A: uint64(pids[0])}
		w.Object.Name = name + ": " + s.processName(pids[0])
	}
	w.Certainty = Shown
	s.byProcesses(w, pids)
}

// processName is what a person calls a process: its id, and its name if it was read, as it is.
func (s *study) processName(pid int) string {
	if p := s.facts.Process(pid); p != nil && p.Comm != "" {
		return fmt.Sprintf("process %d \"%s\"", pid, p.Comm)
	}
	return fmt.Sprintf("process %d", pid)
}

// vfork is a parent that waits until its child executes a program or ends. Source: vfork(2), CLONE_VFORK in clone(2).
func (s *study) vfork(c *blocked, w *Wait) {
	const cloneVfork = 0x4000
	w.Object = Object{Kind: kindVforkChild}
	flags := uint64(cloneVfork)
	switch c.name {
	case "clone":
		flags = c.args[0]
		if c.p.Arch == "s390x" {
			flags = c.args[1]
		}
	case "clone3":
		b, ok := c.r.bytes(c.ptr(0), 8)
		if !ok {
			return
		}
		flags = u64(b)
	}
	if flags&cloneVfork == 0 {
		s.other(c, w)
		return
	}
	list, ok := s.children(c.p.PID)
	if !ok {
		return
	}
	var pids []int
	for _, ch := range list {
		// Of several children it is the one that has the parent's memory still.
		if p := s.facts.Process(ch.PID); len(list) == 1 || p == nil || p.Space == c.p.Space {
			pids = append(pids, ch.PID)
		}
	}
	if len(pids) == 0 {
		w.Unlisted = "the child was not seen"
		return
	}
	w.Certainty = Shown
	s.byProcesses(w, pids)
	if len(pids) == 1 {
		w.Object.Key = Key{Class: Child, A: uint64(pids[0])}
		w.Object.Name = s.processName(pids[0])
	}
}

// served is a wait for who answers for a file system: a FUSE daemon, an NFS server. It is false for other waits.
// Source: request_wait_answer in linux/fs/fuse/dev.c, rpc_wait_bit_killable in linux/net/sunrpc/sched.c.
func (s *study) served(c *blocked, w *Wait) bool {
	fuse := strings.HasPrefix(c.t.Wchan, "request_wait_answer") || strings.HasPrefix(c.t.Wchan, "__fuse_")
	if !fuse && !strings.HasPrefix(c.t.Wchan, "rpc_wait_bit") {
		return false
	}
	w.Object, w.Mode = Object{Kind: kindFuseAnswer}, Outside
	if !fuse {
		w.Object.Kind, w.Unlisted = kindNfsAnswer, "it is another machine"
	}
	mount, name := s.mountOf(c)
	if mount == nil {
		if w.Unlisted == "" {
			w.Mode, w.Unlisted = Unknown, "on which mount is not known"
		}
		return true
	}
	w.Object.Name = name + ", mounted at " + mount.Point + " from " + mount.Source
	if !fuse {
		return true
	}
	list, ok := s.holders("/dev/fuse")
	if !ok {
		return true
	}
	var daemons []int
	for _, h := range list {
		if h.Info != nil && h.Info.Fuse >= 0 && uint32(h.Info.Fuse) == uint32(mount.Dev) {
			daemons = append(daemons, h.PID)
		}
	}
	if len(daemons) == 0 {
		w.Unlisted = "which process serves it is not shown"
		return true
	}
	w.Unlisted, w.Certainty = "", Shown
	s.byProcesses(w, daemons)
	return true
}
