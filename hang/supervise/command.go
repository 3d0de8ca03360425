//go:build linux

package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/fpstack/fpstack/procfs"
)

// Options are what a command gets that it would not have without us.
type Options struct {
	// Files are its standard input, output and error; nil: ours.
	Files []uintptr
	// Env is its environment; nil: [Environment].
	Env []string
	// Around calls start, which makes the process, and puts back before it what the command is to have as usual
	// and we changed for us: a new process inherits that from the thread that makes it. nil: nothing.
	Around func(start func())
	// Group gives it a process group of its own, so that signals to our group are not signals to it.
	Group bool
	// Terminal is put into the hands of that group if ours has it. nil: there is none.
	Terminal *Terminal
}

// Command is a command that was started. Its methods may be called by any goroutine.
type Command struct {
	process *os.Process
	group   bool          // it has a process group of its own
	ended   chan struct{} // closed when it has ended
	status  int           // valid when ended is closed
	death   syscall.Signal
	err     error // as status
}

// Start starts argv and returns when its program has taken over. A file without #! that the kernel does not know is run
// by /bin/sh, as execvp(3) does. The error is a *StartError.
//
// Files beyond standard error are inherited as they are. Signals that were ignored when
// this program began stay ignored if they are SIGHUP or SIGINT; the others are at their default,
// because Go's runtime takes those over before any of our code runs.
func Start(argv []string, opt Options) (*Command, error) {
	path, err := exec.LookPath(argv[0])
	if err != nil && !errors.Is(err, exec.ErrDot) { // a shell too runs what PATH finds in "."
		return nil, newStartError(argv[0], err)
	}
	pidfd := -1
	attr := &syscall.ProcAttr{Env: opt.Env, Files: opt.Files,
		Sys: &syscall.SysProcAttr{PidFD: &pidfd, Setpgid: opt.Group}}
	if opt.Group && opt.Terminal != nil && opt.Terminal.Ours() {
		attr.Sys.Foreground, attr.Sys.Ctty = true, opt.Terminal.fd
	}
	if attr.Env == nil {
		attr.Env = Environment()
	}
	if attr.Files == nil {
		attr.Files = []uintptr{0, 1, 2}
	}
	var pid int
	start := func() {
		pid, _, err = syscall.StartProcess(path, argv, attr)
		if errors.Is(err, syscall.ENOEXEC) {
			pid, _, err = syscall.StartProcess("/bin/sh", append([]string{"/bin/sh", path}, argv[1:]...), attr)
		}
	}
	if opt.Around != nil {
		opt.Around(start)
	} else {
		start()
	}
	if err != nil {
		return nil, newStartError(argv[0], err)
	}
	p, err := os.FindProcess(pid) // it cannot fail: a child that has ended is there until it is reaped
	if err != nil {
		return nil, newStartError(argv[0], err)
	}
	if attr.Sys.Foreground {
		opt.Terminal.lent = true
	}
	c := &Command{process: p, group: opt.Group, ended: make(chan struct{})}
	go c.reap(pidfd)
	return c, nil
}

// Environment is the one that this program was given, to the byte. os.Environ leaves out what has
// a name twice and what is empty.
func Environment() []string {
	if all := procfs.ParseStrings(procfs.Read("/proc/self/environ", maxEnvironment)); len(all) > 0 {
		return all
	}
	return os.Environ()
}

// maxEnvironment is far beyond what execve(2) takes.
const maxEnvironment = 1 << 30

// PID is the id of its process, which belongs to it until Ended is closed.
func (c *Command) PID() int { return c.process.Pid }

// Ended is closed when the command has ended and was reaped.
func (c *Command) Ended() <-chan struct{} { return c.ended }

// Wait waits for the end of the command. The status is what a shell says: its own, or 128 and the signal that ended
// it. The error says that it could not be waited for; the status is [Failed] then.
func (c *Command) Wait() (status int, err error) {
	<-c.ended
	return c.status, c.err
}

// Death is the signal that ended it, 0 if none did. It is valid when Ended is closed.
func (c *Command) Death() syscall.Signal { return c.death }

// Signal sends s to the command alone, as who has its id would.
func (c *Command) Signal(s syscall.Signal) error { return c.process.Signal(s) }

// SignalGroup sends s to the command's process group, as a terminal and a shell do, if it has one of its own.
func (c *Command) SignalGroup(s syscall.Signal) error {
	select {
	case <-c.ended: // its group may be empty by now, and the id that of somebody else's
		return os.ErrProcessDone
	default:
	}
	if c.group {
		return os.NewSyscallError("kill", syscall.Kill(-c.process.Pid, s))
	}
	return c.process.Signal(s)
}

// Heeds reports whether the command has a handler for s, or ignores it: then s does not end it.
func (c *Command) Heeds(s syscall.Signal) bool { return heeds(c.PID(), s) }

// heeds reports whether process pid has a handler for s, blocks it or ignores it.
func heeds(pid int, s syscall.Signal) bool {
	st, err := procfs.ParseStatus(procfs.Read(fmt.Sprintf("/proc/%d/status", pid), 1<<14))
	return err == nil && (st.Caught|st.Ignored|st.Blocked)>>(uint(s)-1)&1 != 0
}

// Gone reports whether it has ended, reaped or not, or is ending: what takes a while where it has much memory.
func (c *Command) Gone() bool {
	st, err := procfs.ReadStat("/proc", c.process.Pid)
	return err != nil || st.State == 'Z' || st.State == 'X' || st.Flags&procfs.Exiting != 0
}

// End asks the command to end, as a terminal that closes would, and waits so long. It fails if the command goes on.
func (c *Command) End(patience time.Duration) error {
	select {
	case <-c.ended:
		return nil
	default:
	}
	c.process.Signal(syscall.SIGTERM)
	select {
	case <-c.ended:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("process %d still runs after SIGTERM", c.process.Pid)
	}
}

// reap takes the status of the child when it has ended, and not before: a wait for the end of a process
// that some thread of ours traces takes the stops which that thread is waiting for, and shows them as
// an end (docs/dev/findings.md). os.Process.Wait would.
func (c *Command) reap(pidfd int) {
	defer close(c.ended)
	pid := c.process.Pid
	awaitEnd(pid, pidfd)
	var w syscall.WaitStatus
	_, err := syscall.Wait4(pid, &w, 0, nil)
	for err == syscall.EINTR {
		_, err = syscall.Wait4(pid, &w, 0, nil)
	}
	switch {
	case err != nil:
		c.status, c.err = Failed, fmt.Errorf("wait for process %d: %w", pid, err)
	case w.Signaled():
		c.status, c.death = 128+int(w.Signal()), w.Signal()
	default:
		c.status = w.ExitStatus()
	}
}

// awaitEnd returns when process pid, a child, has ended and can be reaped. pidfd, which it closes, is
// readable then and at no stop before (pidfd_open(2)); it is -1 where the kernel has none.
func awaitEnd(pid, pidfd int) {
	const often = 10 * time.Millisecond // where there is nothing to wait on
	if pidfd >= 0 {
		awaitReadable(pidfd, func() bool { return isZombie(pid) })
	}
	for !isZombie(pid) {
		time.Sleep(often)
	}
}

// isZombie reports whether a child has ended and waits to be reaped. A leader whose threads live on
// looks like that too; a wait for it blocks until they have ended, and nobody stops it.
func isZombie(pid int) bool {
	st, err := procfs.ReadStat("/proc", pid)
	return err != nil || st.State == 'Z' || st.State == 'X' // gone, or no /proc to read
}
