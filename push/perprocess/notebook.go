package perprocess

import (
	"context"
	"sync"
	"time"

	"github.com/fpstack/fpstack/procfs"
)

// renewEvery is how often a [Notebook] looks who its processes are by now.
const renewEvery = 250 * time.Millisecond

// Notebook keeps who processes are that may have ended when their profile is sent. It is for several goroutines at a
// time.
type Notebook struct {
	proc string // a mounted /proc

	mu  sync.Mutex
	who map[procfs.Identity]Identity
}

// NewNotebook returns an empty one, for processes of the /proc that is mounted there.
func NewNotebook(proc string) *Notebook {
	return &Notebook{proc: proc, who: map[procfs.Identity]Identity{}}
}

// Note keeps who process pid is, if it lives.
func (n *Notebook) Note(pid int) {
	start, lives := procfs.Start(n.proc, pid)
	if !lives {
		return
	}
	id := Identify(n.proc, pid)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.who[procfs.Identity{PID: pid, Start: start}] = id
}

// Renew reads again who the processes are, some times a second until ctx ends: a shell becomes what it was told to run.
func (n *Notebook) Renew(ctx context.Context) {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		n.mu.Lock()
		for process := range n.who {
			id := Identify(n.proc, process.PID)
			start, lives := procfs.Start(n.proc, process.PID)
			if id.Exe != "" && lives && start == process.Start {
				n.who[process] = id
			}
		}
		n.mu.Unlock()
	}
}

// Identity is who a process is. Of one that was started meanwhile it may be too late to read it, and its id may be
// another's by now: it has what all that were noted have in common.
func (n *Notebook) Identity(process procfs.Identity) Identity {
	n.mu.Lock()
	defer n.mu.Unlock()
	if id, ok := n.who[process]; ok {
		return id
	}
	var common *Identity
	for _, id := range n.who {
		own := Identity{Service: id.Service, Container: id.Container, Pod: id.Pod, Names: id.Names}
		switch {
		case common == nil:
			common = &own
		case own.Service != common.Service || own.Container != common.Container || own.Pod != common.Pod ||
			own.Names != common.Names:
			return Identity{}
		}
	}
	if common == nil {
		return Identity{}
	}
	return *common
}
