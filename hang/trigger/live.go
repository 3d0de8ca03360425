package trigger

import (
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fpstack/fpstack/errand"
	"github.com/fpstack/fpstack/procfs"
)

// Kernel tells what the kernel counts of processes and connections.
type Kernel interface {
	// CPUTime is what all threads of process pid have taken, those too that have ended.
	CPUTime(pid int) (time.Duration, error)
	// TCPBytes is how many bytes came and were acknowledged, by the inode of each TCP socket in the network namespace
	// of process pid.
	TCPBytes(pid int) (map[uint64]uint64, error)
}

// Live reads processes of this machine.
type Live struct {
	Kernel Kernel
	// List lists them.
	List func() []int
	// Outputs are the files that they write to, as /proc/self/fd/1.
	Outputs []string
	// Writes is a number that grows with writes to those of Outputs that are pipes or sockets; ok is false of one
	// that it
	// does not know of. nil: of none.
	Writes func(path string) (n uint64, ok bool)

	known map[procfs.Identity]bool // whose command line was read
	asked errand.Owner             // of the stats of Outputs
}

// Usage implements [Source].
//
// Of what children used it has that of those that were waited for, in ticks of 10 ms. It lacks children of who ignores
// SIGCHLD. Source: proc_pid_stat(5), [Kernel].
func (l *Live) Usage() Usage {
	u := Usage{Of: map[procfs.Identity]Used{}, Commands: map[procfs.Identity]string{}}
	known := map[procfs.Identity]bool{}
	for _, pid := range l.List() {
		st, err := procfs.ReadStat("/proc", pid)
		cpu, cpuErr := l.Kernel.CPUTime(pid)
		if err != nil || cpuErr != nil {
			continue // it has ended
		}
		id := procfs.Identity{PID: pid, Start: st.Start}
		u.Of[id] = Used{st.Parent, cpu + time.Duration(st.Reaped)*time.Second/procfs.TicksPerSecond}
		line := ""
		if !l.known[id] {
			line = strings.Join(procfs.Cmdline("/proc", pid), " ")
			if line != "" {
				u.Commands[id] = line
			}
		}
		known[id] = l.known[id] || st.Flags&procfs.ForkNoExec == 0 // else it has its parent's, and will have another
	}
	l.known = known
	return u
}

// Evidence implements [Source]. What may not be read of a process, as of another user's, is not in it.
func (l *Live) Evidence() Evidence {
	e := Evidence{Network: map[uint64]uint64{}}
	var hidden []string
	e.Output, hidden = l.files()
	e.IO = ReadIO(l.List())
	e.Output.add(e.IO, hidden)
	byNetwork := map[string][]int{}
	for id := range e.IO {
		ns, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", id.PID))
		byNetwork[ns] = append(byNetwork[ns], id.PID)
	}
	for _, members := range byNetwork {
		l.addNetwork(members, e.Network)
	}
	return e
}

// ReadIO reads the counts of processes, of those that may be read.
func ReadIO(pids []int) IOs {
	all := IOs{}
	for _, pid := range pids {
		st, err := procfs.ReadStat("/proc", pid)
		io, ok := procfs.ParseIO(procfs.Read(fmt.Sprintf("/proc/%d/io", pid), 4096))
		if err == nil && ok {
			all[procfs.Identity{PID: pid, Start: st.Start}] = IO{Parent: st.Parent, Read: io.Read, Written: io.Written,
				OwnRead: ownRead(pid), Waited: st.ChildFaults}
		}
	}
	return all
}

// ownRead is what the threads of process pid that live have read. Of very many, some are left out.
func ownRead(pid int) (sum uint64) {
	const most = 64
	threads := procfs.Threads("/proc", pid)
	for _, t := range threads[:min(most, len(threads))] {
		io, _ := procfs.ParseIO(procfs.Read(fmt.Sprintf("/proc/%d/task/%d/io", pid, t.TID), 4096))
		sum += io.Read
	}
	return sum
}

// holds reports whether process pid has one of those open.
func holds(pid int, links []string) bool {
	return slices.ContainsFunc(procfs.Links("/proc", pid), func(link string) bool {
		return slices.Contains(links,
			link)
	})
}

// addNetwork adds the bytes of the sockets of processes in one network namespace.
func (l *Live) addNetwork(pids []int, to map[uint64]uint64) {
	var sockets []uint64
	for _, pid := range pids {
		for _, link := range procfs.Links("/proc", pid) {
			if inode, ok := procfs.SocketInode(link); ok {
				sockets = append(sockets, inode)
			}
		}
	}
	if len(sockets) == 0 {
		return
	}
	all, _ := l.Kernel.TCPBytes(pids[0]) // none where that is refused: then the other evidence must do
	for _, inode := range sockets {
		if n, ok := all[inode]; ok {
			to[inode] = n
		}
	}
}

// terminalStep is how seldom the time of change of a terminal moves: less would tell how somebody types.
// Source: tty_update_time in linux/drivers/tty/tty_io.c.
const terminalStep = 8 * time.Second

// Output implements [Source]. A file has a size, and a terminal and a named pipe a time of change; that of a terminal
// moves in steps. Of a pipe without a name what Writes notices shows, else, and of a socket, what those have written
// who have it open: to whatever they wrote it.
func (l *Live) Output() Output {
	out, hidden := l.files()
	if len(hidden) > 0 {
		out.add(ReadIO(l.List()), hidden)
	}
	return out
}

// files reads the outputs that are files, and lists those that are pipes and sockets.
func (l *Live) files() (out Output, hidden []string) {
	h := fnv.New64a()
	for _, path := range l.Outputs {
		stat := func(func()) (os.FileInfo, error) { return os.Stat(path) }
		info, err := errand.Do(&l.asked, l.asked.Paths(), stat, nil)
		if err != nil {
			continue
		}
		link, _ := os.Readlink(path)
		if pipe := strings.HasPrefix(link, "pipe:"); pipe || strings.HasPrefix(link, "socket:") {
			writes, known := l.writes(path)
			if fmt.Fprintln(h, writes); pipe && known {
				out.Seen = true
				continue
			}
			hidden = append(hidden, link) // what is sent to a socket shows by who has it open alone
			continue
		}
		if info.Mode()&os.ModeCharDevice != 0 {
			out.Late = terminalStep
		}
		out.Seen = true
		fmt.Fprintln(h, info.Size(), info.ModTime().UnixNano())
	}
	out.Mark = h.Sum64()
	return out, hidden
}

func (l *Live) writes(path string) (n uint64, ok bool) {
	if l.Writes == nil {
		return 0, false
	}
	return l.Writes(path)
}

// add adds the counts of who may write to pipes and sockets.
func (o *Output) add(io IOs, hidden []string) {
	if len(hidden) == 0 {
		return
	}
	o.IO = io
	for id, c := range io {
		c.Output = holds(id.PID, hidden)
		io[id] = c
		o.Seen = o.Seen || c.Output
	}
}
