//go:build linux

package tracer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/fpstack/fpstack/errand"
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
	"golang.org/x/sys/unix"
)

// LogError says why a file that the target writes, or somebody in its place, is not read.
type LogError struct{ Why string }

func (e *LogError) Error() string { return "not read: " + e.Why }

// live is [module.Image.Live]. What it returns may be used when the Process is closed: then its files cannot be opened.
func (p *Process) live() (*module.Live, error) {
	v, err := p.aside()
	if err != nil {
		return nil, err
	}
	defer unix.Close(v.dir)
	out := &module.Live{Log: p.openLog, MappedLog: p.openMappedLog}
	status, err := v.status()
	if err != nil {
		return nil, err
	}
	out.PID = status.Inner
	b, err := procfile.At(v.dir, "stat", nil, 4096)
	if err != nil {
		return nil, err
	}
	stat, err := procfs.ParseStat(b)
	if err != nil {
		return nil, err
	}
	var ahead time.Duration // 0 before Linux 5.5
	if b, err := procfile.At(v.dir, "timens_offsets", nil, 4096); err == nil {
		ahead = procfs.ParseMonotonicOffset(b)
	}
	if b, err := procfile.Read(p.root+"/self/timens_offsets", 4096); err == nil {
		ahead -= procfs.ParseMonotonicOffset(b)
	}
	booted, err := clock(unix.CLOCK_BOOTTIME)
	if err != nil {
		return nil, err
	}
	age := booted - time.Duration(stat.Start)*(time.Second/procfs.TicksPerSecond)
	out.Began = time.Now().Add(-age)
	out.Monotonic = func(t time.Time) time.Duration {
		now, err := clock(unix.CLOCK_MONOTONIC)
		if err != nil {
			return 0
		}
		return now - time.Since(t) + ahead
	}
	out.Start = out.Monotonic(out.Began)
	return out, nil
}

func clock(id int32) (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		return 0, fmt.Errorf("read clock %d: %w", id, err)
	}
	return time.Duration(ts.Nano()), nil
}

// aside is p with a descriptor of its own for the directory in /proc, so that Close does not have to wait for a file
// that is being opened. The caller closes dir.
func (p *Process) aside() (*Process, error) {
	p.closing.RLock()
	defer p.closing.RUnlock()
	m := p.memory.Load()
	if m == nil {
		return nil, fmt.Errorf("process %d: %w", p.pid, ErrNoProcess)
	}
	dir, err := unix.FcntlInt(uintptr(p.dir), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", p.pid, err)
	}
	v := &Process{pid: p.pid, root: p.root, dir: dir, tasks: procfile.List{FD: -1}}
	v.memory.Store(m)
	return v, nil
}

func (p *Process) status() (procfs.Status, error) {
	b, err := procfile.At(p.dir, "status", nil, procfile.MaxFile)
	if err != nil {
		return procfs.Status{}, p.gone(err)
	}
	return procfs.ParseStatus(b)
}

// openLog is [module.Live.Log].
func (p *Process) openLog(path string) (module.Log, error) {
	return p.log(p.errands.Paths(), path, func(v *Process) (int, error) {
		root, err := v.openRoot()
		if err != nil {
			return -1, err
		}
		defer unix.Close(root)
		fd, err := openIn(root, path, unix.RESOLVE_NO_SYMLINKS)
		if errors.Is(err, unix.ELOOP) {
			err = &LogError{"its path has a symbolic link"}
		}
		return fd, err
	})
}

// openMappedLog is [module.Live.MappedLog].
func (p *Process) openMappedLog(m *maps.Mapping) (module.Log, error) {
	return p.log(errand.Device(m.Dev), p.inView(m.Path), func(v *Process) (int, error) { return v.findObject(m) })
}

// log opens the file at path, in the view of the process, that find opens for its path alone (O_PATH).
func (p *Process) log(of errand.FileSystem, path string, find func(*Process) (int, error)) (module.Log, error) {
	f, err := ask(&p.errands, of, func(func()) (module.Log, error) {
		v, err := p.aside()
		if err != nil {
			return nil, err
		}
		defer unix.Close(v.dir)
		return v.findLog(path, func() (int, error) { return find(v) })
	}, func(f module.Log) { f.Close() })
	if errors.Is(err, errand.ErrNoAnswer) {
		err = fmt.Errorf("open %q: %w", path, err)
	}
	return f, err
}

// findLog opens the file at path, in the view of the process, that find opens for its path alone (O_PATH).
func (p *Process) findLog(path string, find func() (int, error)) (module.Log, error) {
	f, err := p.checkLog(path, find)
	if err == nil {
		return f, nil
	}
	if _, ended := p.livingThread(); ended != nil && !Transient(ended) { // its view is gone: mountinfo gives EINVAL
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return nil, fmt.Errorf("open %q: %w", path, err)
}

func (p *Process) checkLog(path string, find func() (int, error)) (*log, error) {
	mounts, err := procfile.At(p.dir, "mountinfo", nil, maxMapsText)
	if err != nil {
		return nil, err
	}
	if m, ok := procfs.Served(procfs.ParseMounts(mounts), path); ok {
		return nil, &LogError{fmt.Sprintf("it lies in a file system of type %s, for which another process answers",
			m.Type)}
	}
	fd, err := find()
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	status, err := p.status()
	if err != nil {
		return nil, err
	}
	var named, opened unix.Stat_t
	if err := unix.Fstat(fd, &named); err != nil {
		return nil, err
	}
	if err := mayRead(&named, &status); err != nil {
		return nil, err
	}
	f, err := reopen(fd)
	if err != nil {
		return nil, err
	}
	if err = unix.Fstat(f, &opened); err == nil {
		err = mayRead(&opened, &status)
	}
	if err == nil && (opened.Dev != named.Dev || opened.Ino != named.Ino) {
		err = ErrReplaced
	}
	if err != nil {
		unix.Close(f)
		return nil, err
	}
	return &log{fd: f}, nil
}

// mayRead refuses what somebody else may have put in the place of a file of the process: root would read for a user
// what that may not read. A device or a pipe is not even opened.
func mayRead(st *unix.Stat_t, process *procfs.Status) error {
	switch effective := process.UIDs[1]; {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return &LogError{"it is no regular file"}
	case st.Uid != 0 && int(st.Uid) != effective:
		return &LogError{fmt.Sprintf("it belongs to user %d, the process runs as user %d", st.Uid, effective)}
	case st.Nlink > 1:
		return &LogError{"it has several names (hard links)"}
	}
	return nil
}

// log is a [module.Log].
type log struct{ fd int }

// ReadAt implements io.ReaderAt.
func (l *log) ReadAt(b []byte, at int64) (int, error) {
	done := 0
	for done < len(b) {
		n, err := unix.Pread(l.fd, b[done:], at+int64(done))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return done, fmt.Errorf("read at %#x: %w", at+int64(done), err)
		case n == 0:
			return done, io.EOF
		default:
			done += n
		}
	}
	return done, nil
}

// Stat implements module.Log.
func (l *log) Stat() (module.LogStat, error) {
	var st unix.Stat_t
	if err := unix.Fstat(l.fd, &st); err != nil {
		return module.LogStat{}, err
	}
	return module.LogStat{Size: st.Size, Dev: uint64(st.Dev), Inode: uint64(st.Ino),
		Changed: time.Unix(st.Mtim.Unix())}, nil
}

// Close implements io.Closer.
func (l *log) Close() error { return unix.Close(l.fd) }
