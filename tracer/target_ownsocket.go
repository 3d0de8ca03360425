//go:build linux

package tracer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
	"golang.org/x/sys/unix"
)

// Bounds of a search for a socket.
const (
	maxSocketDir = 1 << 16 // entries of the directory
	maxSockets   = 16      // that are tried: those of processes that have ended stay
)

// DialOwn connects to a socket at which the process itself listens: in the directory dir, as the process sees it, and
// of a name for which is holds. conn has that deadline. A socket of another owner, a link, and one at which another
// process listens are refused: a process must not lead us anywhere else. It fails with fs.ErrNotExist if there is none.
//
// Sources: unix(7), SO_PEERCRED: who called listen(2); open(2), O_PATH.
func (p *Process) DialOwn(ctx context.Context, dir string, is func(name string) bool,
	deadline time.Time) (net.Conn, error) {
	root, err := p.openRoot()
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	place, err := openIn(root, dir, 0)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", dir, err)
	}
	defer unix.Close(place)
	names, err := namesIn(place)
	if err != nil {
		return nil, fmt.Errorf("list %q: %w", dir, err)
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	err, tried := fs.ErrNotExist, 0
	for _, name := range names {
		if !is(name) || tried == maxSockets {
			continue
		}
		tried++
		var c net.Conn
		if c, err = p.dialAt(ctx, place, name); err == nil {
			return c, c.SetDeadline(deadline)
		}
		err = fmt.Errorf("connect to %q in %q: %w", name, dir, err)
	}
	return nil, err
}

// namesIn lists a directory that is open for its path alone.
func namesIn(place int) ([]string, error) {
	fd, err := procfile.Open(place, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	d := os.NewFile(uintptr(fd), "")
	defer d.Close()
	names, err := d.Readdirnames(maxSocketDir)
	if len(names) > 0 {
		err = nil
	}
	return names, err
}

// dialAt connects to the socket of that name in an open directory, if it is the process's own.
func (p *Process) dialAt(ctx context.Context, place int, name string) (net.Conn, error) {
	fd, err := procfile.Open(place, name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var file, process unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &file), unix.Fstat(p.dir, &process)); err != nil {
		return nil, err
	}
	switch {
	case file.Mode&unix.S_IFMT != unix.S_IFSOCK:
		return nil, errors.New("it is no socket")
	case file.Uid != process.Uid:
		return nil, fmt.Errorf("it belongs to user %d, the process to %d", file.Uid, process.Uid)
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return nil, plainError(err)
	}
	if pid, err := listener(c); err != nil || pid != p.pid {
		c.Close()
		return nil, errors.Join(err, fmt.Errorf("process %d listens at it", pid))
	}
	return c, nil
}

// plainError is the cause of a failed call of package net, which would name our descriptor.
func plainError(err error) error {
	var call *os.SyscallError
	if errors.As(err, &call) {
		return call.Err
	}
	return err
}

// listener is the process that listens at the other end of c.
func listener(c net.Conn) (int, error) {
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, failed
	}
	return int(cred.Pid), nil
}

// Variable is a variable of the environment that the process was started with, "" if it has none.
func (p *Process) Variable(name string) (string, error) {
	b, err := procfile.At(p.dir, "environ", nil, procfile.MaxFile)
	if err != nil {
		return "", fmt.Errorf("read environment of process %d: %w", p.pid, p.gone(err))
	}
	for _, v := range procfs.ParseStrings(b) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value, nil
		}
	}
	return "", nil
}

// InnerID is the id of the process in its own pid namespace.
func (p *Process) InnerID() int { return p.InnerOf(p.pid) }

// InnerOf is the id of a thread in its own pid namespace; tid where that is not known.
func (p *Process) InnerOf(tid int) int {
	b, err := procfile.At(p.dir, "task/"+strconv.Itoa(tid)+"/status", nil, procfile.MaxFile)
	if err != nil {
		return tid
	}
	if st, err := procfs.ParseStatus(b); err == nil {
		return st.Inner
	}
	return tid
}
