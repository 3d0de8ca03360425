package waits

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/text"
)

// Events of poll(2) and epoll(7).
const (
	pollIn  = 0x1
	pollPri = 0x2
	pollOut = 0x4
)

// member is one descriptor of a set that is waited for.
type member struct {
	fd      int
	in, out bool
	inode   uint64 // that it must have, 0 for any
}

const (
	// maxMembers bounds the descriptors of one set that are looked at.
	maxMembers = 256
	// maxStrange is the same for processes that nobody asked for: large sets are those of servers that serve many.
	maxStrange = 16
)

// poll is a wait for descriptors that are listed in memory. Source: poll(2).
func (s *study) poll(c *blocked, w *Wait) {
	w.Object = Object{Kind: kindDescriptors}
	if c.name == "poll" {
		c.milliseconds(c.int(2), w)
	} else {
		c.limit(c.ptr(2), false, w)
	}
	n := int(min(c.args[1]&0xffffffff, maxMembers+1))
	if n == 0 {
		s.nothing(w)
		return
	}
	b, ok := c.r.bytes(c.ptr(0), 8*n)
	if !ok {
		return
	}
	var members []member
	for i := range n {
		events := uint16(u32(b[8*i+4:]))
		if fd := int(int32(u32(b[8*i:]))); fd >= 0 {
			members = append(members, member{fd: fd, in: events&(pollIn|pollPri) != 0, out: events&pollOut != 0})
		}
	}
	s.set(c.p, members, int(c.args[1]&0xffffffff), w)
}

// nothing is a wait for no descriptor: for a time, or for a signal.
func (s *study) nothing(w *Wait) {
	w.Object, w.Mode = Object{Kind: kindTime}, Time
	if !w.Timed {
		w.Object, w.Mode, w.Unlisted = Object{Kind: kindASignal}, Outside, "anybody may send one"
	}
}

// selects is a wait for descriptors that are bits in memory. Source: select(2). The kernel has taken the sets before it
// sleeps, and writes to them when it returns.
func (s *study) selects(c *blocked, w *Wait) {
	w.Object = Object{Kind: kindDescriptors}
	if c.p.Arch == "386" && c.name == "select" { // sys_old_select: all five are in memory
		v, ok := c.r.words(c.ptr(0), 5)
		if !ok {
			return
		}
		for i := range v {
			c.args[i] = uint64(v[i])
		}
	}
	c.limit(c.ptr(4), !strings.HasPrefix(c.name, "pselect"), w)
	const most = 1024
	n := min(max(0, c.int(0)), most)
	size := (n + 63) / 64 * 8
	members := map[int]*member{}
	var order []int
	for i, at := range []uint64{c.args[1], c.args[2], c.args[3]} {
		if at == 0 || n == 0 {
			continue
		}
		b, ok := c.r.bytes(c.ptr(i+1), size)
		if !ok {
			return
		}
		for fd := range n {
			if b[fd/8]>>(fd%8)&1 == 0 {
				continue
			}
			if members[fd] == nil {
				members[fd] = &member{fd: fd}
				order = append(order, fd)
			}
			members[fd].in, members[fd].out = members[fd].in || i != 1, members[fd].out || i == 1
		}
	}
	if len(order) == 0 {
		s.nothing(w)
		return
	}
	slices.Sort(order)
	var list []member
	for _, fd := range order {
		list = append(list, *members[fd])
	}
	s.set(c.p, list, len(list), w)
}

// epoll is a wait for an epoll set. Source: epoll_wait(2).
func (s *study) epoll(c *blocked, w *Wait) {
	w.Object = Object{Kind: kindDescriptors}
	if c.name == "epoll_pwait2" {
		c.limit(c.ptr(3), false, w)
	} else {
		c.milliseconds(c.int(3), w)
	}
	fd := s.file(c.p, c.fd(0))
	switch {
	case fd == nil:
	case fd.Err != nil:
		w.Object.Name, w.Unlisted = fd.Err.Error(), "what its set has may not be read"
	default:
		s.epollSet(c.p, fd, w)
	}
}

// epollSet is a wait for one of the descriptors of an epoll set.
func (s *study) epollSet(p *Process, fd *FD, w *Wait) {
	w.Object.Kind, w.Object.Name = kindDescriptors, ""
	var members []member
	for _, t := range fd.Info.Epoll {
		members = append(members, member{fd: t.FD, in: t.Events&(pollIn|pollPri) != 0, out: t.Events&pollOut != 0,
			inode: t.Inode})
	}
	n := len(members)
	if fd.Info.Cut {
		n++
	}
	if n == 0 {
		w.Object.Name = "an epoll set with no descriptor"
		w.Mode, w.Wakers = Any, []Waker{{PID: p.PID}}
		w.Unlisted = "a thread must add one"
		return
	}
	s.set(p, members, n, w)
}

// set is a wait for one of several descriptors, of which there are n. What ends the wait for one ends it.
func (s *study) set(p *Process, members []member, n int, w *Wait) {
	limit := maxMembers
	if !p.Asked {
		limit = maxStrange
	}
	w.Object.Name = text.Count(n, "descriptor")
	if n > limit || len(members) > limit {
		w.Mode, w.Unlisted = Outside, fmt.Sprintf("which are not looked at, as they are more than %d", limit)
		return
	}
	w.Mode, w.Certainty = Any, Proven
	var names []string
	var pids []int
	waits := false
	for _, m := range members {
		one := Wait{TID: w.TID}
		fd := s.file(p, m.fd)
		switch {
		case fd == nil:
			waits = true
			continue
		case m.inode != 0 && fd.Inode != m.inode && fd.Info.Inode != m.inode:
			one.Object, one.Unlisted = Object{Name: fmt.Sprintf("%d (not the file that was added)", m.fd)},
				"a descriptor of its set is another file by now"
		case fd.Type == AnonymousFile && strings.Contains(fd.Link, "eventpoll"):
			one.Object, one.Unlisted = Object{Name: "another epoll set"}, "sets in sets are not followed"
		case !m.in && !m.out:
			one.Object.Name = fd.Link // errors alone
		default:
			s.ofSet = true
			s.onFile(p, fd, m.in, &one)
			s.ofSet = false
		}
		names = append(names, memberName(&m, fd, &one))
		if len(w.Set) < maxParts {
			w.Set = append(w.Set, Part{m.fd, one.Object, one.Peer, one.Listens, one.onlyBy(p.PID), one.Made,
				one.Wakers, one.Socket})
		}
		s.merge(w, &one, &pids)
	}
	if waits {
		return
	}
	const shown = 8
	if len(names) > shown {
		names = append(names[:shown], fmt.Sprintf("… %d more", len(names)-shown))
	}
	w.Object.Name = strings.Join(names, ", ")
	slices.Sort(pids)
	for _, pid := range slices.Compact(pids) {
		w.Wakers = append(w.Wakers, Waker{PID: pid})
	}
	if len(w.Wakers) == 0 && !w.Timed {
		w.Mode = Outside
	}
}

// onlyBy reports whether nobody but process pid could end w.
func (w *Wait) onlyBy(pid int) bool {
	return w.Mode == Any && w.Unlisted == "" && len(w.Wakers) > 0 &&
		!slices.ContainsFunc(w.Wakers, func(to Waker) bool { return to.PID != pid })
}

// memberName names a descriptor of a set.
func memberName(m *member, fd *FD, one *Wait) string {
	name := one.Object.Name
	if name == "" {
		name = one.Object.Kind.Noun
	}
	if fd != nil && fd.Link != "" && fd.Type != SocketFile && name == "" {
		name = fd.Link
	}
	return fmt.Sprintf("%d<%s>", m.fd, name)
}

// merge adds to w what could end one of the waits that it is made of.
func (s *study) merge(w, one *Wait, pids *[]int) {
	for _, to := range one.Wakers {
		*pids = append(*pids, to.PID)
	}
	if one.Timed {
		if one.HasLeft && (!w.HasLeft || one.Left < w.Left) {
			w.Left, w.HasLeft = one.Left, true
		}
		w.Timed = true
	}
	if one.Unlisted != "" && w.Unlisted == "" {
		w.Unlisted = one.Unlisted
	}
	w.Listens, w.near = w.Listens || one.Listens, w.near || one.near
	if one.Note != "" && w.Note == "" {
		w.Note = one.Note
	}
	w.Certainty = min(w.Certainty, one.Certainty)
}
