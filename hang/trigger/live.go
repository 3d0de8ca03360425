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

	known map[procfs.Identity]bool // whose command line was read
	asked errand.Owner             // of the stats of Outputs
}

// Usage implements [Source].
//
// Of what children used it has that of those that were waited for, in ticks of 10 ms. It lacks children of who ignores
// SIGCHLD. Source: proc_pid_stat(5), [Kernel].
func (l *Live) Usage() Usage {
	u := Usage{CPU: map[procfs.Identity]time.Duration{}}
	known := map[procfs.Identity]bool{}
	for _, pid := range l.List() {
		st, err := procfs.ReadStat("/proc", pid)
		cpu, cpuErr := l.Kernel.CPUTime(pid)
		if err != nil || cpuErr != nil {
			continue // it has ended
		}
		id := procfs.Identity{PID: pid, Start: st.Start}
		u.CPU[id] = cpu + time.Duration(st.Reaped)*time.Second/procfs.TicksPerSecond
		line := ""
		if !l.known[id] {
			line = strings.Join(procfs.Cmdline("/proc", pid), " ")
			if line != "" {
				u.Commands = append(u.Commands, line)
			}
		}
		known[id] = l.known[id] || st.Flags&procfs.ForkNoExec == 0 // else it has its parent's, and will have another
	}
	l.known = known
	return u
}

// Evidence implements [Source]. What may not be read of a process, as of another user's, is not in it.
func (l *Live) Evidence() Evidence {
	e := Evidence{Network: map[uint64]uint64{}, IO: map[procfs.Identity]uint64{}}
	pids := l.List()
	byNetwork := map[string][]int{}
	for _, pid := range pids {
		st, err := procfs.ReadStat("/proc", pid)
		io, ok := procfs.ParseIO(procfs.Read(fmt.Sprintf("/proc/%d/io", pid), 4096))
		if err == nil && ok {
			e.IO[procfs.Identity{PID: pid, Start: st.Start}] = io.Read + io.Written
		}
		ns, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
		byNetwork[ns] = append(byNetwork[ns], pid)
	}
	for _, members := range byNetwork {
		l.addNetwork(members, e.Network)
	}
	e.Output, _, _ = l.Output()
	return e
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
// moves in steps. Of a pipe without a name and of a socket nothing shows but what those have written who have it
// open: to whatever they wrote it.
func (l *Live) Output() (mark uint64, late time.Duration, ok bool) {
	h := fnv.New64a()
	var hidden []string
	for _, path := range l.Outputs {
		stat := func(func()) (os.FileInfo, error) { return os.Stat(path) }
		info, err := errand.Do(&l.asked, l.asked.Paths(), stat, nil)
		if err != nil {
			continue
		}
		link, _ := os.Readlink(path)
		if strings.HasPrefix(link, "pipe:") || strings.HasPrefix(link, "socket:") {
			hidden = append(hidden, link)
			continue
		}
		if info.Mode()&os.ModeCharDevice != 0 {
			late = terminalStep
		}
		ok = true
		fmt.Fprintln(h, info.Size(), info.ModTime().UnixNano())
	}
	isHidden := func(link string) bool { return slices.Contains(hidden, link) }
	if len(hidden) > 0 {
		for _, pid := range l.List() {
			if !slices.ContainsFunc(procfs.Links("/proc", pid), isHidden) {
				continue
			}
			if io, readable := procfs.ParseIO(procfs.Read(fmt.Sprintf("/proc/%d/io", pid), 4096)); readable {
				ok = true
				fmt.Fprintln(h, pid, io.Written, io.Writes)
			}
		}
	}
	return h.Sum64(), late, ok
}
