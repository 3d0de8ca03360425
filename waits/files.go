package waits

import (
	"cmp"
	"slices"
	"time"

	"github.com/fpstack/fpstack/procfs"
)

// Files is what is known of descriptors, of who holds the other ends, and of file locks and children. What a map has no
// entry for was not read.
type Files struct {
	FDs      map[FDKey]*FD
	Holders  map[string][]Holder         // of descriptors by what they are, FD.Link, over all processes of this machine
	Own      map[int]map[string][]Holder // of one process, as Holders
	Locks    []procfs.FileLock           // of /proc/locks
	HasLocks bool                        // they were read
	LocksAt  time.Time                   // before that
	Children map[int][]ChildProcess      // by process
	Mounts   map[int][]procfs.Mount
	States   map[int]ProcessState
	// Cut says why not all descriptors of this machine were gone through: then a list of holders may lack some. "" if
	// all were.
	Cut string
	// Hidden is how many processes have descriptors that may not be read, of those below the processes of the Facts and
	// in their sessions: others have descriptors of these only if they were passed to them.
	Hidden int
}

// FDKey is a descriptor of a process.
type FDKey struct{ PID, FD int }

// Type is what sort of file a descriptor is.
type Type uint8

// The types of files. Source: inode(7).
const (
	OtherType Type = iota
	RegularFile
	Directory
	PipeFile // a FIFO too
	SocketFile
	CharacterDevice
	BlockDevice
	AnonymousFile // eventfd, epoll and their like
)

// FD is what is known of one descriptor.
type FD struct {
	Link       string // "pipe:[123]", "/var/lib/x", "anon_inode:[eventfd]"; any bytes. "" if it is not open
	Err        error  // why it could not be read; nil if it was, or if it is not open
	Type       Type
	Dev, Inode uint64 // as stat(2) has them
	Device     uint64 // of a device
	Read       bool   // by this descriptor one may read
	Write      bool   // or write
	Info       procfs.FDInfo
	Mount      *procfs.Mount // nil if unknown
	Socket     *Endpoint     // of a socket, nil if unknown
}

// Endpoint is a socket and its other end.
type Endpoint struct {
	Family    string // "tcp", "tcp6", "udp", "udp6", "unix stream", …; "" if no table has it
	Inode     uint64
	Text      string // for a person, as "tcp 127.0.0.1:80 -> 127.0.0.1:4242 ESTABLISHED"; any bytes
	Listening bool
	Address   string // that it listens at or was bound to: "127.0.0.1:80", a path, "@name"; "" if none
	State     string // of TCP
	Unread    uint32 // bytes that nobody has read from it
	// Peer is the inode of its other end on this machine; 0 if there is none, or if PeerErr says why it is not known.
	Peer    uint64
	PeerErr string
	// Accepts is the inode of the socket that has not accepted this one yet, 0 for none. Then Peer is 0.
	Accepts    uint64
	PeerUnread uint32 // bytes that the other end has not read
	Remote     string // the address of its other end where that is not on this machine
	// Made says that this end asked for the connection: at the address of the other end somebody listens.
	Made bool
	// PeerAddress is the address of its other end, wherever that is: "10.0.0.7:5432", a path; "" if it has none.
	PeerAddress string
}

// Holder is a descriptor of a process, found by what it is.
type Holder struct {
	PID, FD     int
	Read, Write bool
	Info        *procfs.FDInfo // of eventfds, devices and locked files; nil for others
}

// ChildProcess is a child of a process.
type ChildProcess struct {
	PID   int
	State byte // Z for one that has ended and was not waited for
	Group int
	Comm  string
}

// ProcessState is what keeps a whole process from going on.
type ProcessState struct {
	Tracer     int // 0 for none
	TracerComm string
	Frozen     string // the control group that is frozen, "" for none
	Terminal   int    // number of its controlling terminal below /dev/pts, -1 for none or another one
	Foreground bool   // its process group is the terminal's foreground group
}

// FileNeed is what is to be read next of descriptors, sockets and file locks.
type FileNeed struct {
	FDs      []FDKey
	Links    []string // whose Holders are wanted
	Own      []int    // processes whose own descriptors are wanted
	Locks    bool
	Children []int // of processes
	Mounts   []int // of processes
	States   []int // of processes
}

func (n *FileNeed) empty() bool {
	return len(n.FDs)+len(n.Links)+len(n.Own)+len(n.Children)+len(n.Mounts)+len(n.States) == 0 && !n.Locks
}

// tidy sorts what is needed and keeps each once.
func (n *FileNeed) tidy() {
	slices.SortFunc(n.FDs, func(a, b FDKey) int { return cmp.Or(a.PID-b.PID, a.FD-b.FD) })
	n.FDs = slices.Compact(n.FDs)
	slices.Sort(n.Links)
	n.Links = slices.Compact(n.Links)
	for _, list := range []*[]int{&n.Own, &n.Children, &n.Mounts, &n.States} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// file returns what is known of a descriptor, nil if it was not read yet: then it is asked for.
func (s *study) file(p *Process, fd int) *FD {
	key := FDKey{p.PID, fd}
	if got := s.facts.Files.FDs[key]; got != nil {
		return got
	}
	s.need.Files.FDs = append(s.need.Files.FDs, key)
	return nil
}

// holders returns who has a descriptor of that name. It is false if that was not read yet: then it is asked for.
func (s *study) holders(link string) ([]Holder, bool) {
	list, ok := s.facts.Files.Holders[link]
	if !ok {
		s.need.Files.Links = append(s.need.Files.Links, link)
	}
	return list, ok
}

// own returns who of p itself has a descriptor of that name, false if that was not read yet: then it is asked for.
func (s *study) own(p *Process, link string) ([]Holder, bool) {
	all, ok := s.facts.Files.Own[p.PID]
	if !ok {
		s.need.Files.Own = append(s.need.Files.Own, p.PID)
	}
	return all[link], ok
}

// children returns the children of a process, false if they were not read yet: then they are asked for.
func (s *study) children(pid int) ([]ChildProcess, bool) {
	list, ok := s.facts.Files.Children[pid]
	if !ok {
		s.need.Files.Children = append(s.need.Files.Children, pid)
	}
	return list, ok
}
