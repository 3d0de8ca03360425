//go:build linux

package live

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/waits"
	"golang.org/x/sys/unix"
)

// waitFiles reads what is known of descriptors, file locks and children. It needs no process open, stops nothing, and
// goes through the descriptors of the machine once.
type waitFiles struct {
	root    string
	index   *holderIndex
	sockets map[uint64]*netTables // by network namespace
	mounts  map[int][]procfs.Mount

	everywhere     bool // sockets has all namespaces, within a bound
	maxDescriptors int  // 0 means maxDescriptors
}

// read adds to f what n names.
func (w *waitFiles) read(ctx context.Context, f *waits.Facts, n *waits.FileNeed) error {
	w.mine(&f.Files)
	for _, key := range n.FDs {
		if err := ctx.Err(); err != nil {
			return err
		}
		f.Files.FDs[key] = w.descriptor(f, key)
	}
	if len(n.Links) > 0 {
		w.holders(f, n.Links)
	}
	for _, pid := range n.Own {
		f.Files.Own[pid] = w.own(pid)
	}
	for _, pid := range n.Children {
		f.Files.Children[pid] = w.children(f, pid)
	}
	for _, pid := range n.Mounts {
		f.Files.Mounts[pid] = w.mountsOf(pid)
	}
	for _, pid := range n.States {
		f.Files.States[pid] = w.state(pid)
	}
	if n.Locks && !f.Files.HasLocks {
		f.Files.HasLocks, f.Files.LocksAt = true, time.Now()
		b, err := procfile.Read(w.root+"/locks", maxSocketTable)
		if err != nil {
			f.Problems = append(f.Problems, fmt.Sprintf("file locks cannot be read: %v", err))
		}
		f.Files.Locks = procfs.ParseFileLocks(b)
	}
	return ctx.Err()
}

// mine makes the maps of files.
func (w *waitFiles) mine(files *waits.Files) {
	if files.FDs == nil {
		*files = waits.Files{FDs: map[waits.FDKey]*waits.FD{}, Holders: map[string][]waits.Holder{},
			Own:      map[int]map[string][]waits.Holder{},
			Children: map[int][]waits.ChildProcess{}, Mounts: map[int][]procfs.Mount{},
			States: map[int]waits.ProcessState{}}
	}
	w.begin()
}

// begin makes the maps of what is read once.
func (w *waitFiles) begin() {
	if w.sockets == nil {
		w.sockets, w.mounts = map[uint64]*netTables{}, map[int][]procfs.Mount{}
	}
}

// folder is the directory of /proc that shows the descriptors of process pid: that of a living thread where the leader
// has ended.
func (w *waitFiles) folder(f *waits.Facts, pid int) string {
	dir := filepath.Join(w.root, strconv.Itoa(pid))
	if p := f.Process(pid); p != nil {
		for _, t := range p.Threads {
			if t.State != 'Z' && t.State != 'X' {
				return filepath.Join(dir, "task", strconv.Itoa(t.TID))
			}
		}
	}
	return dir
}

// descriptor reads one descriptor. What it lacks is empty there: it is never nil.
func (w *waitFiles) descriptor(f *waits.Facts, key waits.FDKey) *waits.FD {
	out := &waits.FD{}
	dir := w.folder(f, key.PID)
	path := dir + "/fd/" + strconv.Itoa(key.FD)
	link, err := procfile.Link(unix.AT_FDCWD, path)
	if err != nil {
		if !procfile.Gone(err) {
			out.Err = err
		}
		return out
	}
	out.Link = link
	out.Info = procfs.FDInfo{Flags: -1, MountID: -1, TTY: -1, Fuse: -1}
	if b, err := procfile.Read(dir+"/fdinfo/"+strconv.Itoa(key.FD), procfile.MaxFile); err == nil {
		out.Info = procfs.ParseFDInfo(b)
	}
	var st unix.Stat_t
	if w.statFile(path, link, &st) == nil {
		out.Type, out.Dev, out.Inode, out.Device = fileType(&st), uint64(st.Dev), uint64(st.Ino), uint64(st.Rdev)
	}
	if strings.HasPrefix(link, "anon_inode:") {
		out.Type = waits.AnonymousFile
	}
	out.Read, out.Write = ends(path)
	if out.Info.MountID >= 0 && strings.HasPrefix(link, "/") {
		for _, m := range w.mountsOf(key.PID) {
			if m.ID == out.Info.MountID {
				out.Mount = &m
				break
			}
		}
	}
	if inode, ok := procfs.SocketInode(link); ok {
		out.Type, out.Inode = waits.SocketFile, inode
		out.Socket = w.socket(key.PID, inode)
	}
	return out
}

// maxNamed bounds how many descriptors are named.
const maxNamed = 64 << 10

// Names says what each of the descriptors fds of process pid is, as it is now: a path, "pipe:[123]",
// "anon_inode:[eventpoll]", "tcp 10.0.0.1:80 -> 10.0.0.2:4242 ESTABLISHED". Names are as the kernel gives them and may
// hold any bytes. A descriptor that is not open, or may not be inspected, is not in the result.
func (w *Reader) Names(pid int, fds []int) map[int]string {
	out := make(map[int]string, len(fds))
	w.files.begin()
	for _, fd := range fds[:min(len(fds), maxNamed)] {
		link, err := procfile.Link(unix.AT_FDCWD, fmt.Sprintf("%s/%d/fd/%d", w.root, pid, fd))
		if err != nil {
			continue
		}
		out[fd] = link
		if inode, ok := procfs.SocketInode(link); ok {
			if s := w.files.socket(pid, inode); s != nil && s.Text != "" {
				out[fd] = s.Text
			}
		}
	}
	return out
}

// statFile fills in st of the file behind a link of /proc. Of what lies on a file system that another process or
// machine answers for nothing is asked: the answer may never come.
func (w *waitFiles) statFile(path, link string, st *unix.Stat_t) error {
	if strings.HasPrefix(link, "/") {
		var fs unix.Statx_t
		// AT_STATX_DONT_SYNC answers from what is in memory. Source: statx(2).
		err := unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC|unix.AT_NO_AUTOMOUNT, unix.STATX_TYPE|
			unix.STATX_INO, &fs)
		if err != nil {
			return err
		}
		st.Mode, st.Ino = uint32(fs.Mode), fs.Ino
		st.Dev = unix.Mkdev(fs.Dev_major, fs.Dev_minor)
		st.Rdev = unix.Mkdev(fs.Rdev_major, fs.Rdev_minor)
		return nil
	}
	return unix.Stat(path, st)
}

func fileType(st *unix.Stat_t) waits.Type {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return waits.RegularFile
	case unix.S_IFDIR:
		return waits.Directory
	case unix.S_IFIFO:
		return waits.PipeFile
	case unix.S_IFSOCK:
		return waits.SocketFile
	case unix.S_IFCHR:
		return waits.CharacterDevice
	case unix.S_IFBLK:
		return waits.BlockDevice
	}
	return waits.OtherType
}

// ends reports what one may do by a descriptor: its link in /proc has the owner's bits for that.
// Source: proc_pid_fd(5), tid_fd_update_inode in linux/fs/proc/fd.c.
func ends(path string) (read, write bool) {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return false, false
	}
	return st.Mode&0o400 != 0, st.Mode&0o200 != 0
}

// mountsOf reads the mounts that process pid sees.
func (w *waitFiles) mountsOf(pid int) []procfs.Mount {
	if list, ok := w.mounts[pid]; ok {
		return list
	}
	b, _ := procfile.Read(fmt.Sprintf("%s/%d/mountinfo", w.root, pid), 16<<20)
	w.mounts[pid] = procfs.ParseMounts(b)
	return w.mounts[pid]
}

// children reads the children of a process.
func (w *waitFiles) children(f *waits.Facts, pid int) []waits.ChildProcess {
	ids, err := tracer.ChildrenOf(pid)
	if err != nil {
		f.Problems = append(f.Problems, fmt.Sprintf("children of process %d cannot be listed: %v", pid, err))
	}
	list := []waits.ChildProcess{}
	for _, id := range ids {
		b, err := procfile.Read(fmt.Sprintf("%s/%d/stat", w.root, id), 4096)
		if err != nil {
			continue
		}
		if st, err := procfs.ParseStat(b); err == nil {
			list = append(list, waits.ChildProcess{PID: id, State: st.State, Group: st.Group, Comm: st.Comm})
		}
	}
	return list
}

// state reads what keeps a whole process from going on.
func (w *waitFiles) state(pid int) waits.ProcessState {
	out := waits.ProcessState{Terminal: -1}
	dir := fmt.Sprintf("%s/%d/", w.root, pid)
	if st, err := procfile.Status(dir + "status"); err == nil && st.TracerPid > 0 {
		out.Tracer = st.TracerPid
		if b, err := procfile.Read(fmt.Sprintf("%s/%d/comm", w.root, st.TracerPid), 64); err == nil {
			out.TracerComm = strings.TrimSuffix(string(b), "\n")
		}
	}
	if b, err := procfile.Read(dir+"stat", 4096); err == nil {
		if st, err := procfs.ParseStat(b); err == nil {
			const firstPTS, lastPTS = 136, 143
			if major := st.Terminal >> 8 & 0xfff; major >= firstPTS && major <= lastPTS {
				out.Terminal = (major-firstPTS)<<20 | st.Terminal&0xff | st.Terminal>>12&0xfff00
			}
			out.Foreground = st.Foreground == st.Group
		}
	}
	out.Frozen = w.frozen(dir)
	return out
}

// frozen is the control group that is frozen with the process in it, "" for none.
// Source: linux/Documentation/admin-guide/cgroup-v2.rst (cgroup.events), cgroup-v1/freezer-subsystem.rst.
func (w *waitFiles) frozen(dir string) string {
	b, err := procfile.Read(dir+"cgroup", procfile.MaxFile)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		for _, place := range []struct{ file, want string }{
			{"/sys/fs/cgroup" + f[2] + "/cgroup.events", "frozen 1"},
			{"/sys/fs/cgroup/unified" + f[2] + "/cgroup.events", "frozen 1"},
			{"/sys/fs/cgroup/freezer" + f[2] + "/freezer.state", "FROZEN"},
		} {
			if strings.HasSuffix(place.file, "freezer.state") && f[1] != "freezer" || f[0] != "0" && f[1] != "freezer" {
				continue
			}
			if b, err := procfile.Read(place.file, 4096); err == nil && strings.Contains(string(b), place.want) {
				return f[2]
			}
		}
	}
	return ""
}
