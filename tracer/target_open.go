//go:build linux

package tracer

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
	"github.com/fpstack/fpstack/regs"
	"golang.org/x/sys/unix"
)

// Open prepares to inspect process pid. It stops nothing. The id of a thread counts as the
// process that it belongs to.
//
// With CAP_SYS_PTRACE alone, the files that /proc gives to the user of another's process are refused: mem, syscall, fd,
// map_files and others (proc(5)). Its memory is read by process_vm_readv(2) then, system calls are read from
// registers, which takes a stop, descriptors stay without a name, and mapped files that were deleted without symbols:
// see FilesDenied.
//
// It fails with ErrNoProcess, ErrSelf, ErrCoreDump, *KernelThreadError, *ZombieError,
// *TracedError or *PermissionError. The caller closes the Process.
func Open(pid int, opt Options) (*Process, error) { return open("/proc", pid, opt) }

func open(root string, pid int, opt Options) (*Process, error) {
	if pid == os.Getpid() {
		return nil, fmt.Errorf("process %d: %w", pid, ErrSelf)
	}
	if st, err := procfile.Status(root + "/" + strconv.Itoa(pid) + "/status"); err == nil && st.TGID > 0 {
		pid = st.TGID
	}
	p := &Process{pid: pid, root: root, opt: opt.withDefaults(), dir: -1, tasks: procfile.List{FD: -1}}
	for try := 0; ; try++ {
		err := p.open()
		if err == nil {
			return p, nil
		}
		for _, fd := range []*int{&p.dir, &p.tasks.FD} {
			if *fd >= 0 {
				unix.Close(*fd)
			}
			*fd = -1
		}
		if !errors.Is(err, ErrExec) || try == maxExecs {
			return nil, err
		}
		time.Sleep(time.Duration(try) * time.Millisecond)
	}
}

func (p *Process) open() (err error) {
	if p.pid <= 0 {
		return fmt.Errorf("process %d: %w", p.pid, ErrNoProcess)
	}
	if p.host, err = hostArch(); err != nil {
		return err
	}
	dir := p.root + "/" + strconv.Itoa(p.pid)
	if p.dir, err = procfile.Open(unix.AT_FDCWD, dir, unix.O_RDONLY|unix.O_DIRECTORY); err != nil {
		return p.notListed(err)
	}
	if err := p.check(); err != nil {
		return err
	}
	if p.tasks.FD, err = procfile.Open(p.dir, "task", unix.O_RDONLY|unix.O_DIRECTORY); err != nil {
		return p.gone(err)
	}
	return p.openMemory()
}

// check refuses what cannot be stopped or must not be.
func (p *Process) check() error {
	b, err := procfile.At(p.dir, "stat", nil, 4096)
	if err != nil {
		return p.gone(err)
	}
	stat, err := procfs.ParseStat(b)
	if err != nil {
		return err
	}
	p.ownChild = stat.Parent == os.Getpid()
	p.forked.Store(stat.Flags&procfs.ForkNoExec != 0)
	if stat.KernelThread() {
		return &KernelThreadError{PID: p.pid, Comm: stat.Comm}
	}
	if b, err = procfile.At(p.dir, "status", nil, procfile.MaxFile); err != nil {
		return p.gone(err)
	}
	status, err := procfs.ParseStatus(b)
	if err != nil {
		return err
	}
	switch {
	case status.TGID == os.Getpid():
		return fmt.Errorf("process %d: %w", p.pid, ErrSelf)
	case status.CoreDumping && !p.opt.NoStop:
		return fmt.Errorf("process %d: %w", p.pid, ErrCoreDump)
	case status.TracerPid > 0 && !p.opt.NoStop:
		return p.traced(status.TracerPid)
	case stat.State == 'Z' || stat.State == 'X':
		if _, err := p.livingThread(); err != nil && !Transient(err) {
			return &ZombieError{PID: p.pid, Parent: stat.Parent, Comm: stat.Comm}
		}
	}
	if p.opt.NoStop {
		return nil
	}
	return p.checkMutual()
}

// checkMutual refuses a process that traces us: both would be stopped for good.
func (p *Process) checkMutual() error {
	own, err := procfile.Status(p.root + "/self/status")
	if err != nil || own.TracerPid <= 0 {
		return nil // not traced, or no way to know
	}
	if own.TracerPid == p.pid || unix.Faccessat(p.dir, "task/"+strconv.Itoa(own.TracerPid), 0, 0) == nil {
		return &TracedError{PID: p.pid, Tracer: own.TracerPid, Mutual: true}
	}
	return nil
}

func (p *Process) traced(tracer int) error {
	e := &TracedError{PID: p.pid, Tracer: tracer}
	if b, err := procfile.Read(p.root+"/"+strconv.Itoa(tracer)+"/stat", 4096); err == nil {
		if st, err := procfs.ParseStat(b); err == nil {
			e.Name = st.Comm
		}
	}
	return e
}

// notListed tells a process that is not there from one that /proc hides (hidepid).
func (p *Process) notListed(err error) error {
	kill := unix.Kill(p.pid, 0)
	switch {
	case errors.Is(err, os.ErrPermission):
		return permissionError(p.root, p.pid, "open", err)
	case !procfile.Gone(err):
		return fmt.Errorf("open process %d: %w", p.pid, err)
	case kill == nil || errors.Is(kill, unix.EPERM):
		e := permissionError(p.root, p.pid, "open", unix.EPERM)
		e.Hidden = true
		return e
	}
	return p.gone(err)
}

// hostArch is the architecture of the kernel, which a 32-bit build may differ from.
func hostArch() (*regs.Arch, error) {
	name := runtime.GOARCH
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		switch machine := unix.ByteSliceToString(u.Machine[:]); {
		case machine == "x86_64" && name == "386":
			name = "amd64"
		case machine == "aarch64" && name == "arm":
			name = "arm64"
		}
	}
	a, ok := regs.Lookup(name)
	if !ok {
		return nil, fmt.Errorf("architecture %s is not supported", name)
	}
	return a, nil
}
