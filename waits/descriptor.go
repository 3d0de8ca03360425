package waits

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// onDescriptor is a wait until one can read from a descriptor, or write to it.
func (s *study) onDescriptor(c *blocked, number int, reading bool, w *Wait) {
	w.Object = Object{Kind: kindDescriptor, Name: strconv.Itoa(number)}
	if fd := s.file(c.p, number); fd != nil {
		s.onFile(c.p, fd, reading, w)
	}
}

// onFile fills in a wait at the file fd of process p.
func (s *study) onFile(p *Process, fd *FD, reading bool, w *Wait) {
	w.Object.Name = fd.Link
	switch {
	case fd.Err != nil:
		w.Object, w.Unlisted = Object{Kind: kindDescriptor, Name: fd.Err.Error()}, "what it is may not be read"
		return
	case fd.Link == "":
		w.Unlisted = "it is not open any more"
		return
	}
	switch fd.Type {
	case PipeFile:
		s.onPipe(p, fd, reading, w)
	case SocketFile:
		s.onSocket(p, fd, reading, w)
	case CharacterDevice:
		s.onDevice(p, fd, reading, w)
	case AnonymousFile:
		s.onAnonymous(p, fd, reading, w)
	default:
		w.Object.Kind, w.Mode = kindFile, Outside
		w.Object.Key = Key{Class: File, A: fd.Dev, B: fd.Inode}
		w.Unlisted = "what its file system waits for is not shown"
	}
}

// onPipe is a wait for data in a pipe, or for room in it: who has the other end can end it.
func (s *study) onPipe(p *Process, fd *FD, reading bool, w *Wait) {
	w.Object.Kind, w.Object.Key = kindPipeData, Key{Class: Pipe, A: fd.Inode}
	end, other := "write end", func(h Holder) bool { return h.Write }
	if !reading {
		w.Object.Kind = kindPipeRoom
		end, other = "read end", func(h Holder) bool { return h.Read }
	}
	if s.byItself(p, fd, w, other) {
		w.Note = "the process itself has the " + end
		return
	}
	list, ok := s.holders(fd.Link)
	if !ok {
		return
	}
	var pids []int
	own := false
	for _, h := range list {
		if other(h) {
			pids = append(pids, h.PID)
			own = own || h.PID == p.PID
		}
	}
	s.byHolders(w, pids)
	switch others := slices.ContainsFunc(pids, func(pid int) bool { return pid != p.PID }); {
	case len(pids) == 0 && w.Unlisted == "":
		w.Unlisted = "nobody was seen who has its " + end
	case own && !others:
		w.Note = "only the process itself has the " + end
		if reading && fd.Write {
			w.Note = "only the process itself has the " + end + ", by a descriptor for both"
		}
	case own && reading:
		w.Note = "it holds a write end itself, so that it does not see the end of the data when the others close theirs"
	}
}

// byItself makes w a wait that p itself may end, as it has a descriptor of the same name that is the other end; it is
// false where all holders are to be looked for: see [Facts.Near]. While that is not known w is left as it is.
func (s *study) byItself(p *Process, fd *FD, w *Wait, other func(Holder) bool) bool {
	if !s.ofSet || !s.facts.Near {
		return false
	}
	list, ok := s.own(p, fd.Link)
	if ok && !slices.ContainsFunc(list, other) {
		return false
	}
	if w.near = true; ok {
		s.byProcesses(w, []int{p.PID})
	}
	return true
}

// byHolders makes w a wait that any process in pids may end, as far as all holders were seen.
func (s *study) byHolders(w *Wait, pids []int) {
	if files := &s.facts.Files; files.Cut != "" {
		w.Unlisted = files.Cut
	} else if files.Hidden > 0 {
		w.Unlisted = fmt.Sprintf("the descriptors of %s may not be read", text.Count(files.Hidden, "process"))
	}
	s.byProcesses(w, pids)
}

// onDevice is a wait at a terminal or another device.
func (s *study) onDevice(p *Process, fd *FD, reading bool, w *Wait) {
	w.Object.Kind, w.Mode = kindDevice, Outside
	w.Unlisted = "what ends it depends on the device"
	w.Object.Key = Key{Class: File, A: fd.Dev, B: fd.Inode}
	const ttyMajor, consoleMajor, firstPTS, lastPTS = 4, 5, 136, 143
	major, minor := fd.Device>>8&0xfff, fd.Device&0xff|fd.Device>>12&0xfff00
	slave, master := kindTerminalInput, kindMasterInput
	if !reading {
		slave, master = kindTerminalRoom, kindMasterRoom
	}
	switch {
	case fd.Info.TTY >= 0:
		w.Object.Kind = master
		w.Object.Name = fmt.Sprintf("/dev/pts/%d", fd.Info.TTY)
		if list, ok := s.holders(w.Object.Name); ok {
			w.Unlisted = "a process may open the terminal"
			s.otherSide(w, list, "other side")
		}
	case major >= firstPTS && major <= lastPTS:
		w.Object.Kind = slave
		s.masterSide(w, int(major-firstPTS)<<20|int(minor), reading)
	case major == ttyMajor || major == consoleMajor && minor <= 1:
		w.Object.Kind = slave
		w.Unlisted = "a person types there"
		if st, ok := s.state(p.PID); ok && major == consoleMajor && minor == 0 && st.Terminal >= 0 {
			w.Object.Name = fmt.Sprintf("/dev/tty, which is /dev/pts/%d", st.Terminal)
			s.masterSide(w, st.Terminal, reading)
		}
	}
}

// masterSide names who has the master side of terminal number pts.
func (s *study) masterSide(w *Wait, pts int, reading bool) {
	w.Unlisted = "a person types there"
	if !reading {
		w.Unlisted = "the terminal may be stopped by Ctrl-S"
	}
	list, ok := s.holders("/dev/ptmx")
	if !ok {
		return
	}
	list = slices.DeleteFunc(slices.Clone(list), func(h Holder) bool { return h.Info == nil || h.Info.TTY != pts })
	s.otherSide(w, list, "master side")
}

// otherSide notes who has the other side of a terminal.
func (s *study) otherSide(w *Wait, list []Holder, side string) {
	var names []string
	for _, h := range list {
		if name := s.processName(h.PID); !slices.Contains(names, name) && len(names) < 4 {
			s.reach(h.PID)
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		w.Note = "its " + side + " is held by " + strings.Join(names, ", ")
	}
}

// state returns what is known of a whole process, false if it was not read yet: then it is asked for.
func (s *study) state(pid int) (ProcessState, bool) {
	st, ok := s.facts.Files.States[pid]
	if !ok {
		s.need.Files.States = append(s.need.Files.States, pid)
	}
	return st, ok
}

// onAnonymous is a wait at an eventfd, a timer and their like.
func (s *study) onAnonymous(p *Process, fd *FD, reading bool, w *Wait) {
	i := &fd.Info
	kind := strings.TrimSuffix(strings.TrimPrefix(fd.Link, "anon_inode:["), "]")
	kind = strings.TrimPrefix(kind, "anon_inode:")
	w.Object.Kind, w.Object.Name = Kind{profile.SortEvent, kind}, ""
	switch {
	case i.Eventfd != nil:
		s.onEventfd(p, fd, reading, w)
	case i.Timer != nil:
		w.Mode, w.Timed, w.Left, w.HasLeft = Time, true, i.Timer.Left, i.Timer.Left > 0
		if i.Timer.Left <= 0 {
			w.Mode, w.Timed = Any, false
			w.Wakers, w.Note = []Waker{{PID: p.PID}}, "the timer is not set"
			w.Unlisted = "another process that has the timer may set it"
		}
	case i.Signals != 0:
		w.Object.Name, w.Mode, w.Unlisted = "for "+signalNames(i.Signals), Outside, "anybody may send a signal"
		w.Object.Kind, w.awaited = Kind{profile.SortSignal, kind}, i.Signals&ordinary
	case i.HasPID:
		s.onPidfd(i.PID, w)
	case i.Ring != nil:
		onRing(fd, w)
	case kind == "inotify":
		w.Object.Kind = Kind{profile.SortWatch, kind}
		w.Object.Name, w.Mode = text.Count(len(i.Inotify), "watch"), Outside
		w.Unlisted = "anybody may change a file that it watches"
	case kind == "eventpoll":
		s.epollSet(p, fd, w)
	case kind == "userfaultfd":
		w.Mode, w.Wakers = Any, []Waker{{PID: p.PID}}
		w.Object.Name, w.Unlisted = "for a page that is missed", "which process misses pages there is not shown"
	default:
		w.Mode, w.Unlisted = Outside, "what ends it is not shown"
	}
}

// ioUring is the name of what lets the kernel write to an eventfd.
const (
	ioUring      = "anon_inode:[io_uring]"
	kernelWrites = "the kernel may write to it"
)

// onEventfd is a wait for an eventfd: each process that has it may write to it, or read from it.
func (s *study) onEventfd(p *Process, fd *FD, reading bool, w *Wait) {
	e := fd.Info.Eventfd
	w.Object.Kind = kindEventfd
	w.Evidence = append(w.Evidence, fmt.Sprintf("its counter is %d", e.Count))
	if e.ID < 0 {
		s.byProcesses(w, []int{p.PID})
		w.Unlisted = "this kernel does not show who else has it"
		return
	}
	w.Object.Key = Key{Class: Event, A: uint64(e.ID)}
	w.Object.Name = fmt.Sprintf("eventfd-id %d", e.ID)
	if s.byItself(p, fd, w, func(Holder) bool { return true }) {
		if rings, _ := s.own(p, ioUring); len(rings) > 0 || !reading {
			w.Unlisted = kernelWrites
		}
		return
	}
	list, ok := s.holders(fd.Link)
	if !ok {
		return
	}
	pids := []int{p.PID}
	for _, h := range list {
		if h.Info != nil && h.Info.Eventfd != nil && h.Info.Eventfd.ID == e.ID {
			pids = append(pids, h.PID)
		}
	}
	s.byHolders(w, pids)
	if w.Unlisted == "" {
		w.Unlisted = kernelWrites
		if len(s.facts.Files.Holders[ioUring]) == 0 && reading {
			w.Unlisted = ""
		}
	}
}

// onPidfd is a wait for the end of the process that a pidfd means.
func (s *study) onPidfd(pid int, w *Wait) {
	w.Object = Object{Kind: kindProcessEnd, Key: Key{Class: Child, A: uint64(max(0, pid))}}
	switch {
	case pid > 0:
		w.Object.Name, w.Certainty = s.processName(pid), Shown
		s.byProcesses(w, []int{pid})
	case pid == 0:
		w.Unlisted = "it is in another pid namespace"
	default:
		w.Mode, w.Note = Time, "the process has ended"
	}
}

// signalNames lists the signals of a mask, at most eight.
func signalNames(mask uint64) string {
	var names []string
	for n := 1; n <= 64; n++ {
		if mask>>(n-1)&1 == 0 {
			continue
		}
		if len(names) == 8 {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprintf("signal %d", n))
	}
	return strings.Join(names, ", ")
}

// onSocket is a wait at a socket: for data from its other end, for room there, for a connection.
func (s *study) onSocket(p *Process, fd *FD, reading bool, w *Wait) {
	w.Object.Kind, w.Object.Key = kindSocketKindOther, Key{Class: Socket, A: fd.Inode}
	k := fd.Socket
	if k == nil {
		w.Unlisted = "its other end is not known"
		return
	}
	if k.Text != "" {
		w.Object.Name = k.Text
	}
	w.Peer, w.Made, w.Socket = k.PeerAddress, k.Made, k
	switch {
	case k.Listening:
		w.Object.Kind, w.Mode, w.Listens = kindConnection, Outside, true
		w.Unlisted = "anybody may connect to it"
	case k.PeerErr != "":
		w.Object.Kind, w.Unlisted = socketKind(reading), k.PeerErr
	case k.Remote != "":
		w.Object.Kind, w.Mode = socketKind(reading), Outside
		w.Unlisted = "its other end, " + k.Remote + ", is not on this machine"
	case k.Accepts != 0:
		w.Object.Kind = kindAcceptance
		s.bySocket(w, k.Accepts)
	case k.Peer == 0:
		w.Object.Kind, w.Mode = socketKind(reading), Outside
		w.Unlisted = "anybody may send to it"
	default:
		w.Object.Kind = socketKind(reading)
		if k.PeerUnread > 0 {
			w.Evidence = append(w.Evidence, fmt.Sprintf("its other end has %s that it has not read",
				text.Count(k.PeerUnread, "byte")))
		}
		s.bySocket(w, k.Peer)
	}
}

func socketKind(reading bool) Kind {
	if reading {
		return kindSocketData
	}
	return kindSocketRoom
}

// bySocket makes w a wait for who has the socket of that inode.
func (s *study) bySocket(w *Wait, inode uint64) {
	list, ok := s.holders(fmt.Sprintf("socket:[%d]", inode))
	if !ok {
		return
	}
	var pids []int
	for _, h := range list {
		pids = append(pids, h.PID)
	}
	s.byHolders(w, pids)
	if len(pids) == 0 && w.Unlisted == "" {
		w.Unlisted = "nobody was seen who has its other end"
	}
}
