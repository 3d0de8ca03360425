package capture

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/procfs"
)

// Describe reads what the kernel shows of processes without a stop, in the order of pids. What has ended is not in it;
// what may not be read of a process is missing.
func Describe(pids []int) []hang.Process {
	d := newDescriber("/proc")
	var all []hang.Process
	for _, pid := range pids {
		if p, ok := d.process(pid); ok {
			all = append(all, p)
		}
	}
	return all
}

// describer reads processes below root.
type describer struct {
	root  string
	boot  time.Time // zero if that is not known
	locks []procfs.FileLock
}

func newDescriber(root string) *describer {
	d := &describer{root: root, locks: procfs.ParseFileLocks(procfs.Read(root+"/locks", 16<<20))}
	for line := range strings.Lines(string(procfs.Read(root+"/stat", 1<<20))) {
		if value, ok := strings.CutPrefix(line, "btime "); ok {
			if s, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil {
				d.boot = time.Unix(s, 0)
			}
		}
	}
	return d
}

// process reads one process. It is false if that is gone.
func (d *describer) process(pid int) (p hang.Process, ok bool) {
	dir := filepath.Join(d.root, strconv.Itoa(pid))
	st, err := procfs.ReadStat(d.root, pid)
	if err != nil {
		return p, false
	}
	p = hang.Process{PID: pid, Parent: st.Parent, Session: st.Session, Name: st.Comm, State: string(st.State),
		Start: st.Start, CPU: ticks(st.CPU), ChildCPU: ticks(st.Reaped)}
	if !d.boot.IsZero() && st.Start > 0 {
		p.Started = d.boot.Add(ticks(st.Start))
	}
	p.Exe, _ = os.Readlink(dir + "/exe")
	p.Dir, _ = os.Readlink(dir + "/cwd")
	p.Args = procfs.Cmdline(d.root, pid)
	p.Backend = backendOf(p.Args)
	p.Threads = len(procfs.Threads(d.root, pid))
	d.status(dir, &p)
	d.variables(dir, &p)
	d.files(dir, &p)
	return p, true
}

func ticks(n uint64) time.Duration { return time.Duration(n) * time.Second / procfs.TicksPerSecond }

// status reads its user and its memory.
func (d *describer) status(dir string, p *hang.Process) {
	text := procfs.Read(dir+"/status", 64<<10)
	if s, err := procfs.ParseStatus(text); err == nil && s.UIDs[0] >= 0 {
		p.User = uint32(s.UIDs[0])
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			p.Memory = kib << 10
		}
	}
}

// variables reads the names in its environment, and the jobserver that make named there.
func (d *describer) variables(dir string, p *hang.Process) {
	for _, v := range procfs.ParseStrings(procfs.Read(dir+"/environ", 1<<20)) {
		name, value, _ := strings.Cut(v, "=")
		p.Variables = append(p.Variables, name)
		if name == "MAKEFLAGS" || name == "CARGO_MAKEFLAGS" {
			p.Jobserver = jobserver(dir, value)
		}
	}
}

// jobserver is the file that the value of MAKEFLAGS names. Source: "POSIX Jobserver Interaction" in the manual of GNU
// make: two descriptors, or since 4.4 a FIFO.
func jobserver(dir, flags string) string {
	for _, word := range strings.Fields(flags) {
		value, ok := strings.CutPrefix(word, "--jobserver-auth=")
		if !ok {
			if value, ok = strings.CutPrefix(word, "--jobserver-fds="); !ok {
				continue
			}
		}
		if path, ok := strings.CutPrefix(value, "fifo:"); ok {
			return path
		}
		fd, _, _ := strings.Cut(value, ",")
		if n, err := strconv.Atoi(fd); err == nil && n >= 0 {
			link, _ := os.Readlink(fmt.Sprintf("%s/fd/%d", dir, n))
			return link
		}
	}
	return ""
}

// mostFiles bounds the descriptors of a process that are read.
const mostFiles = 4096

// files reads what of its open files tells why it waits.
func (d *describer) files(dir string, p *hang.Process) {
	f, err := os.Open(dir + "/fd")
	if err != nil {
		return
	}
	defer f.Close()
	names, _ := f.Readdirnames(mostFiles)
	mounts := sync.OnceValue(func() []procfs.Mount {
		return procfs.ParseMounts(procfs.Read(dir+"/mountinfo", 1<<20))
	})
	for _, name := range names {
		link, err := os.Readlink(dir + "/fd/" + name)
		if err != nil {
			continue
		}
		switch {
		case link == "/dev/fuse":
			p.Fuse = true
		case name == "1":
			p.LastOutput = lastLine(dir + "/fd/1")
		case strings.HasPrefix(link, "/") && len(d.locks) > 0:
			d.lockedBy(dir+"/fdinfo/"+name, link, mounts, p)
		}
	}
	slices.SortFunc(p.LockedFiles, func(a, b hang.LockedFile) int { return strings.Compare(a.Path, b.Path) })
}

// lockedBy adds an open file, whose fdinfo is info, to those of p that others have locked. mounts reads the mounts of
// p.
func (d *describer) lockedBy(info, path string, mounts func() []procfs.Mount, p *hang.Process) {
	fd := procfs.ParseFDInfo(procfs.Read(info, 64<<10))
	if slices.ContainsFunc(fd.Locks, func(l procfs.FileLock) bool { return l.Kind != "POSIX" }) {
		return // the lock is of the open file, which was inherited: this one has it too. Source: flock(2)
	}
	for i := range d.locks {
		l := &d.locks[i]
		if fd.Inode == 0 || l.Inode != fd.Inode || l.Waits || l.PID <= 0 || l.PID == p.PID {
			continue
		}
		for _, m := range mounts() {
			if m.ID == fd.MountID && m.Dev == l.Dev {
				p.LockedFiles = append(p.LockedFiles, hang.LockedFile{Path: path, Holder: l.PID})
				return
			}
		}
	}
}
