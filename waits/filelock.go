package waits

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/fpstack/fpstack/procfs"
)

// posixLock is what /proc/locks calls a lock of fcntl(2).
const posixLock = "POSIX"

// wanted is the lock that a thread waits for.
type wanted struct {
	kinds       []string // of locks that can be in its way
	own         int      // the process whose own locks are not, 0 for none
	write       bool
	first, last uint64
}

// flock is a wait for the lock of an open file. Source: flock(2).
func (s *study) flock(c *blocked, w *Wait) {
	const exclusive = 2
	s.fileLock(c, w, wanted{kinds: []string{"FLOCK"}, write: c.args[1]&exclusive != 0, last: math.MaxUint64})
}

// fcntl is a wait for a lock on a range of a file. Source: fcntl(2), "Advisory record locking".
func (s *study) fcntl(c *blocked, w *Wait) {
	const setLockWait, setLockWait64, ofdSetLockWait = 7, 14, 38
	want := wanted{kinds: []string{posixLock, "OFDLCK"}, last: math.MaxUint64, own: c.p.PID}
	switch c.int(1) {
	case setLockWait, setLockWait64:
	case ofdSetLockWait:
		want.own = 0
	default:
		s.other(c, w)
		return
	}
	// struct flock: l_type, l_whence, 16 bits each; l_start and l_len of one word, 64 bits in struct flock64.
	b, ok := c.r.bytes(c.ptr(2), 24)
	if !ok {
		w.Object = Object{Kind: kindFileLock}
		return
	}
	const writeLock = 1
	want.write = uint16(u32(b)) == writeLock
	var start, length int64
	switch wide := c.p.Word == 8; {
	case wide:
		start, length = int64(u64(b[8:])), int64(u64(b[16:]))
	case c.int(1) == setLockWait:
		start, length = int64(int32(u32(b[4:]))), int64(int32(u32(b[8:])))
	default:
		start, length = int64(u64(b[4:])), int64(u64(b[12:]))
	}
	fromStart := u32(b)>>16 == 0 // SEEK_SET; of others the place in the file counts, which may have moved
	if fromStart && start >= 0 && length >= 0 {
		want.first = uint64(start)
		if length > 0 {
			want.last = uint64(start) + uint64(length) - 1
		}
	}
	s.fileLock(c, w, want)
}

// fileLock is a wait for a lock on a file: those who hold one in its way must give it back.
func (s *study) fileLock(c *blocked, w *Wait, want wanted) {
	w.Object = Object{Kind: kindFileLock}
	fd := s.file(c.p, c.fd(0))
	if !s.facts.Files.HasLocks {
		s.need.Files.Locks = true
	}
	if fd == nil {
		return
	}
	w.Object.Name = fd.Link + rangeName(want.first, want.last)
	w.Object.Key = Key{Class: File, A: fd.Dev, B: fd.Inode}
	if want.first != 0 || want.last != math.MaxUint64 {
		w.Object.Key = Key{FileRange, fd.Dev, fd.Inode, want.first}
	}
	list, ok := s.holders(fd.Link)
	if !ok || !s.facts.Files.HasLocks {
		return
	}
	var pids []int
	for i := range s.facts.Files.Locks {
		if l := &s.facts.Files.Locks[i]; want.inTheWay(l) && lies(l, fd) {
			w.Evidence = append(w.Evidence, lockName(l))
			pids = append(pids, s.lockHolders(l, list, w)...)
		}
	}
	if len(w.Evidence) == 0 {
		w.Unlisted = "no lock in its way was seen"
		return
	}
	s.byHolders(w, pids)
	w.Mode, w.Certainty = All, Shown
	if len(w.Wakers) == 1 {
		w.Mode = One
		w.Certainty = s.sureOfProcess(c.t, w.Wakers[0].PID, s.facts.Files.LocksAt)
	}
	if len(pids) == 0 {
		w.Mode, w.Unlisted = Unknown, "who holds it was not seen"
	}
}

// sureOfProcess is how certain it is that process pid had at one moment what was read after the moment at, while t
// waited for it: proven if neither t nor any thread of the process ran around it.
func (s *study) sureOfProcess(t *Thread, pid int, at time.Time) Certainty {
	p := s.facts.Process(pid)
	if p == nil || p.Err != nil || !t.still(at) || len(p.Threads) == 0 {
		return Shown
	}
	for _, other := range p.Threads {
		if !other.still(at) {
			return Shown
		}
	}
	return Proven
}

// still reports whether the thread did not run around the moment at.
func (t *Thread) still(at time.Time) bool {
	return t.Unmoved() && t.First.At.Before(at) && at.Before(t.Last.At)
}

// inTheWay reports whether l must be given back before the wanted lock can be had.
func (w *wanted) inTheWay(l *procfs.FileLock) bool {
	return !l.Waits && slices.Contains(w.kinds, l.Kind) && (l.Write || w.write) && l.Overlaps(w.first, w.last) &&
		(w.own == 0 || l.PID != w.own || l.Kind != posixLock)
}

// lies reports whether l is a lock on the file of fd. The list has the file system's own numbers, which stat may not
// show.
func lies(l *procfs.FileLock, fd *FD) bool {
	inode := fd.Info.Inode
	if inode == 0 {
		inode = fd.Inode
	}
	return l.Inode == inode && (fd.Mount == nil || fd.Mount.Dev == l.Dev)
}

// lockHolders are the processes that have l. That of fcntl belongs to a process; the others belong to an open file,
// which children inherit, and are found by their descriptors.
func (s *study) lockHolders(l *procfs.FileLock, list []Holder, w *Wait) []int {
	if l.Kind == posixLock {
		if l.PID <= 0 {
			w.Unlisted = "who holds it is in another pid namespace"
			return nil
		}
		return []int{l.PID}
	}
	var pids []int
	for _, h := range list {
		if h.Info != nil && slices.ContainsFunc(h.Info.Locks, func(have procfs.FileLock) bool {
			return have.Kind == l.Kind && have.Inode == l.Inode && have.First == l.First && have.Last == l.Last
		}) {
			pids = append(pids, h.PID)
		}
	}
	if l.PID > 0 && len(pids) > 0 && !slices.Contains(pids, l.PID) {
		w.Note = fmt.Sprintf("process %d took it and does not have it any more: it was inherited", l.PID)
	}
	if len(pids) == 0 && l.PID > 0 {
		pids = []int{l.PID}
	}
	return pids
}

func lockName(l *procfs.FileLock) string {
	how := "read"
	if l.Write {
		how = "write"
	}
	by := ""
	if l.PID > 0 {
		by = fmt.Sprintf(" of process %d", l.PID)
	}
	return fmt.Sprintf("%s %s lock%s%s", l.Kind, how, by, rangeName(l.First, l.Last))
}

func rangeName(first, last uint64) string {
	switch {
	case first == 0 && last == math.MaxUint64:
		return ""
	case last == math.MaxUint64:
		return fmt.Sprintf(" from byte %d", first)
	}
	return fmt.Sprintf(" bytes %d to %d", first, last)
}
