//go:build linux

package tracer

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
	"github.com/fpstack/fpstack/snapshot"
	"golang.org/x/sys/unix"
)

// facts are what /proc shows of a thread without stopping it.
type facts struct {
	comm    string
	state   byte // 0 if it could not be read
	worker  bool // a worker of the kernel, with no user code
	syscall *snapshot.Syscall
	kernel  kernelPlace // if it was asked for
}

// readFacts reads those of one thread. It is false if the thread has ended.
func (p *Process) readFacts(tid int, r *procfile.Task) (facts, bool) {
	var f facts
	b, err := p.ReadTask(r, tid, "stat")
	if err != nil {
		return f, !procfile.Gone(err)
	}
	if st, err := procfs.ParseStat(b); err == nil {
		f.comm, f.state, f.worker = st.Comm, st.State, st.KernelWorker()
	}
	if f.state == 'X' || f.state == 'Z' && tid != p.pid {
		return f, false
	}
	if b, err = p.ReadTask(r, tid, "syscall"); err == nil {
		if c, asleep, err := procfs.ParseSyscall(b); err == nil && asleep {
			f.syscall = (*snapshot.Syscall)(&c)
		}
	}
	return f, true
}

// Known is what was read before of a thread that slept in a system call.
type Known struct {
	Comm     string
	State    byte
	Call     procfs.Syscall
	Counters procfs.Schedstat
}

// knownFacts are those of a thread that was read before and has not run since: it is where it was. They take its
// counters alone, a third of the time.
func (p *Process) knownFacts(tid int, known func(tid int) (Known, bool), r *procfile.Task) (f facts, ok bool) {
	if known == nil {
		return f, false
	}
	k, ok := known(tid)
	if !ok || k.Counters.CPU == 0 {
		return f, false
	}
	if now, err := p.TaskCounters(r, tid); err != nil || now != k.Counters {
		return f, false
	}
	return facts{comm: k.Comm, state: k.State, syscall: (*snapshot.Syscall)(&k.Call)}, true
}

// TaskCounters reads the counters of a thread; without schedstat they are its switches alone. It fails with
// ErrNoThread.
func (p *Process) TaskCounters(r *procfile.Task, tid int) (c procfs.Schedstat, err error) {
	file := p.CountersFile()
	b, err := p.ReadTask(r, tid, file)
	if err != nil {
		return c, err
	}
	if file == "schedstat" {
		return procfs.ParseSchedstat(b)
	}
	c.Switches, err = procfs.ParseSwitches(b)
	return c, err
}

// ReadTask reads a file of thread tid. What it returns is valid until r reads again. It fails with ErrNoThread or a
// *PermissionError.
//
// To keep thousands of files open is dearer than to open them twice: each time that the table of descriptors grows,
// which threads share, the kernel waits until no CPU uses the old one (expand_fdtable in linux/fs/file.c).
func (p *Process) ReadTask(r *procfile.Task, tid int, name string) ([]byte, error) {
	fd, err := p.openTask(r, tid, name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b, err := r.From(fd, name)
	return b, noThread{}.of(err)
}

func (p *Process) openTask(r *procfile.Task, tid int, name string) (int, error) {
	fd, e := r.Open(p.dir, tid, name)
	switch e {
	case 0:
		return fd, nil
	case unix.ENOENT, unix.ESRCH:
		return -1, ErrNoThread
	case unix.EACCES, unix.EPERM:
		return -1, permissionError(p.root, p.pid, "open "+name+" of", e)
	}
	return -1, &os.PathError{Op: "open", Path: fmt.Sprintf("task/%d/%s", tid, name), Err: e}
}

// ReadFile reads a file of the process's folder in /proc into buf, which grows up to limit.
func (p *Process) ReadFile(name string, buf []byte, limit int) ([]byte, error) {
	return procfile.At(p.dir, name, buf, limit)
}

// kernelPlace is where in the kernel a thread sleeps.
type kernelPlace struct {
	wchan string
	stack []string // innermost first, nil if it could not be read
}

// readKernel reads it. The error is that of the stack: proc_pid_stack in linux/fs/proc/base.c
// wants CAP_SYS_ADMIN, and some kernels have no such file.
func (p *Process) readKernel(tid int) (kernelPlace, error) {
	var k kernelPlace
	dir := "task/" + strconv.Itoa(tid)
	if b, err := procfile.At(p.dir, dir+"/wchan", nil, 4096); err == nil {
		k.wchan = procfs.ParseWchan(b)
	}
	var err error
	k.stack, err = p.kernelStack(tid)
	return k, err
}

func (p *Process) kernelStack(tid int) ([]string, error) {
	b, err := procfile.At(p.dir, "task/"+strconv.Itoa(tid)+"/stack", nil, 64<<10)
	if err != nil {
		return nil, err
	}
	return procfs.ParseKernelStack(b), nil
}

// KernelStack is where in the kernel the thread waits, innermost first, as "function+0x12/0x34"; it is of no use while
// that runs or is stopped. It takes CAP_SYS_ADMIN, and a kernel with CONFIG_STACKTRACE.
// Source: proc_pid_stack(5), proc_pid_stack in linux/fs/proc/base.c.
func (w *Watch) KernelStack() ([]string, error) {
	stack, err := w.p.kernelStack(w.tid)
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return nil, fmt.Errorf("/proc/%d/stack is for root alone (CAP_SYS_ADMIN)", w.tid)
	case errors.Is(err, unix.ENOENT) && w.exists():
		return nil, errors.New("this kernel has no /proc/PID/stack (CONFIG_STACKTRACE)")
	case procfile.Gone(err):
		return nil, w.gone()
	}
	return stack, err
}

// exists reports whether the thread has not ended.
func (w *Watch) exists() bool {
	_, err := w.stat.read(w)
	return err == nil
}

// observe fills in what can be known of a thread that was not stopped: where it is in
// the kernel, and its user stack from the stack pointer that /proc/TID/syscall gives.
func (p *Process) observe(t *snapshot.Thread, w *windows) {
	if f, ok := p.readFacts(t.TID, &procfile.Task{}); ok {
		t.Syscall, t.Comm = f.syscall, f.comm
		if f.state != 't' { // our own attempt must not show
			t.State = f.state
		}
	}
	k, _ := p.readKernel(t.TID)
	t.Wchan, t.KernelStack = k.wchan, k.stack
	if t.Syscall == nil || t.Syscall.SP == 0 || t.KernelWorker {
		return
	}
	win := w.find(t.Syscall.SP, 0)
	data := make([]byte, win.size)
	n, err := p.ReadMem(data, win.start)
	t.Stack = mem.Range{Start: win.start, Data: data[:n]}
	if n == 0 {
		t.StackErr = err
	}
}

// lastComm reads the name of a thread that was found only during the stop.
func (p *Process) lastComm(tid int) string {
	b, err := procfile.At(p.dir, "task/"+strconv.Itoa(tid)+"/comm", nil, 64)
	if err != nil || len(b) == 0 {
		return ""
	}
	return string(b[:len(b)-1]) // ends with a newline
}

// present reports whether a thread that PTRACE_SEIZE refused is there and has not ended.
func (p *Process) present(tid int) bool {
	b, err := procfile.At(p.dir, "task/"+strconv.Itoa(tid)+"/stat", nil, 4096)
	if err != nil {
		return Transient(err) // it was there
	}
	st, err := procfs.ParseStat(b)
	return err == nil && st.State != 'Z' && st.State != 'X' && st.Flags&procfs.Exiting == 0
}

// refusal explains why thread tid, which is there, could not be seized.
func (p *Process) refusal(tid int, e unix.Errno) error {
	if e == unix.EIO || e == unix.ENOSYS || e == unix.EINVAL {
		return &KernelError{Request: "PTRACE_SEIZE", Err: e}
	}
	b, err := procfile.At(p.dir, "task/"+strconv.Itoa(tid)+"/status", nil, procfile.MaxFile)
	if err == nil {
		if st, err := procfs.ParseStatus(b); err == nil && st.TracerPid > 0 {
			return p.traced(st.TracerPid)
		}
	}
	return permissionError(p.root, p.pid, "seize", e)
}
