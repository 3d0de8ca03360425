//go:build linux

package tracer

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
	"golang.org/x/sys/unix"
)

// Children lists the processes that threads of this one started and that are still its
// children: those that have ended and were not reaped too, and not those whose parent ended.
//
// The ids are those of the pid namespace that /proc was mounted for, and a process outside
// of it is not listed.
// Source: proc_tid_children(5). Without CONFIG_PROC_CHILDREN all of /proc is searched for the parent's id.
func (p *Process) Children() ([]int, error) {
	tids, err := p.ThreadIDs()
	if err != nil {
		return nil, err
	}
	var out []int
	buf := make([]byte, 0, 1024)
	for _, tid := range tids {
		b, err := procfile.At(p.dir, "task/"+strconv.Itoa(tid)+"/children", buf, procfile.MaxFile)
		switch {
		case err == nil:
			out = procfs.AppendNumbers(out, b)
		case !procfile.Gone(err):
			return nil, err
		case p.present(tid):
			return p.searchChildren()
		}
	}
	return out, nil
}

// ChildrenOf lists the children of process pid like [Process.Children], and needs no right to look
// into it: one of another user may have started ours.
func ChildrenOf(pid int) ([]int, error) {
	p := &Process{pid: pid, root: "/proc"}
	var err error
	dir := p.root + "/" + strconv.Itoa(pid)
	if p.dir, err = procfile.Open(unix.AT_FDCWD, dir, unix.O_RDONLY|unix.O_DIRECTORY); err != nil {
		return nil, err
	}
	defer unix.Close(p.dir)
	return p.Children()
}

// searchChildren reads every process.
func (p *Process) searchChildren() ([]int, error) {
	fd, err := procfile.Open(unix.AT_FDCWD, p.root, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	d := procfile.List{FD: fd}
	d.Reserve(1024)
	all, err := d.IDs(nil)
	if err != nil {
		return nil, err
	}
	var out []int
	buf := make([]byte, 0, 1024)
	for _, pid := range all {
		b, err := procfile.At(fd, strconv.Itoa(pid)+"/stat", buf, 4096)
		if err != nil {
			continue // it has ended
		}
		if st, err := procfs.ParseStat(b); err == nil && st.Parent == p.pid {
			out = append(out, pid)
		}
	}
	return out, nil
}

// ErrNoLastID says that this system does not show the last id that was given.
var ErrNoLastID = errors.New("the last process id cannot be read")

// IDs reads the last id that was given to a process or a thread.
type IDs struct{ file int }

// OpenIDs opens what has the last id. The caller closes it.
//
// It fails where /proc/loadavg is not the kernel's own: lxcfs puts a file of its own there,
// which is up to five seconds old.
// Source: proc_loadavg(5); loadavg_proc_show in linux/fs/proc/loadavg.c.
func OpenIDs() (*IDs, error) { return openIDs("/proc/loadavg") }

func openIDs(path string) (*IDs, error) {
	fd, err := procfile.Open(unix.AT_FDCWD, path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	var fs unix.Statfs_t
	if err = unix.Fstatfs(fd, &fs); err != nil {
		err = &os.PathError{Op: "statfs", Path: path, Err: err}
	} else if fs.Type != unix.PROC_SUPER_MAGIC {
		err = fmt.Errorf("%q: %w", path, ErrNoLastID)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &IDs{fd}, nil
}

// Last is the id that was given last. If it is unchanged, no
// process and no thread was made since in our pid namespace, nor in one below it, as those
// have an id in ours too. Ids that were chosen by clone3(2) with set_tid do not show.
//
// It takes a microsecond.
func (i *IDs) Last() (int, error) {
	var buf [128]byte
	n, err := unix.Pread(i.file, buf[:], 0)
	if err != nil {
		return 0, &os.PathError{Op: "read", Path: "loadavg", Err: err}
	}
	return procfs.ParseLastID(buf[:n])
}

// Close closes the file.
func (i *IDs) Close() error { return unix.Close(i.file) }
