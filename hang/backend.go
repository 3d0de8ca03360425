package hang

import "github.com/fpstack/fpstack/profile"

// Backend is what a server process of a database says that it does.
type Backend string

// What backends say.
const (
	NoBackend            Backend = ""
	BackendWaits         Backend = "waits"          // for a lock that another one holds
	BackendInTransaction Backend = "in-transaction" // it holds its locks until its client goes on
)

// holderOf is the one backend that may hold the lock that process pid waits for: of several it is not known which.
func (j *judging) holderOf(pid int) (holder int, ok bool) {
	p := j.processes[pid]
	if p == nil || p.Backend != BackendWaits {
		return 0, false
	}
	for _, q := range j.processes {
		if q.Parent == p.Parent && q.Backend == BackendInTransaction {
			if ok {
				return 0, false
			}
			holder, ok = q.PID, true
		}
	}
	return holder, ok
}

// lockOf reports whether n is waited for as the one that may hold a lock of a database.
func (j *judging) lockOf(n *node) bool {
	if n.from == nil {
		return false
	}
	holder, ok := j.holderOf(n.from.pid)
	return ok && holder == n.pid
}

// idleInTransaction says of s, a backend that may hold what others wait for, that its client does not go on.
func (j *judging) idleInTransaction(s *sink) {
	if p := j.processes[s.pid]; p != nil && p.Backend == BackendInTransaction && j.lockOf(s.node) {
		s.rank, s.kind, s.does = rankOutside, Waiting, "is idle in a transaction"
	}
}

// backendWakers is whom a thread of a backend waits for that waits for a lock; nil where that is not known.
func (j *judging) backendWakers(pid int) []profile.Waker {
	if holder, ok := j.holderOf(pid); ok {
		return []profile.Waker{{PID: holder}}
	}
	return nil
}
