//go:build linux

package supervise

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/fpstack/fpstack/procfs"
)

// Jobs lets the shell suspend this program. The signal does nothing once it is released,
// since Go cannot give it its default back; so SIGSTOP takes its place too.
type Jobs struct {
	suspend chan os.Signal // SIGTSTP came
}

// TakeJobs begins to catch SIGTSTP, unless it was ignored: then there is no shell to go
// back to. The caller releases it.
func TakeJobs() *Jobs {
	j := &Jobs{make(chan os.Signal, 1)}
	if !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(j.suspend, syscall.SIGTSTP)
	}
	return j
}

// Release ends the catching.
func (j *Jobs) Release() { signal.Stop(j.suspend) }

// Suspend has a value when the shell wants this program to stop.
func (j *Jobs) Suspend() <-chan os.Signal { return j.suspend }

// Serve calls each, in another goroutine, when the shell wants this program to stop, with what stops it and returns
// when it goes on. The returned function ends that, and releases j.
func (j *Jobs) Serve(each func(stop func())) (release func()) {
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-j.suspend:
				if shellWatches(os.Getpid()) { // else nobody would let us go on
					each(func() { stopSelf(context.Background()) })
				}
			}
		}
	}()
	return func() {
		j.Release()
		close(done)
	}
}

// StopGroup stops the whole process group as Ctrl-Z does, and returns when this program may have
// the terminal again or ctx has ended. Where no shell watches the group it does nothing, as
// the kernel does: nobody would let it go on.
func (j *Jobs) StopGroup(ctx context.Context) {
	if signal.Ignored(syscall.SIGTSTP) || !shellWatches(os.Getpid()) {
		return
	}
	signal.Ignore(syscall.SIGTSTP)
	stopGroup(syscall.SIGTSTP)
	stopSelf(ctx)
	awaitForeground(ctx)
	if ctx.Err() == nil {
		signal.Notify(j.suspend, syscall.SIGTSTP)
	}
}

// stopSelf stops this process and returns when it goes on, or is to end.
func stopSelf(ctx context.Context) {
	goOn := make(chan os.Signal, 1)
	signal.Notify(goOn, syscall.SIGCONT)
	defer signal.Stop(goOn)
	syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	select {
	case <-goOn:
	case <-ctx.Done():
	}
}

// awaitForeground returns when the terminal is ours or the program is to end. A shell's fg
// sends no signal to a job that runs, as after bg: so it looks again and again.
func awaitForeground(ctx context.Context) {
	for !InForeground() {
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}

// InForeground reports whether the terminal listens to our process group: a job in the
// background must not write over what the shell shows. Unknown counts as yes.
func InForeground() bool {
	st, err := procfs.ReadStat("/proc", os.Getpid())
	return err != nil || st.Group == st.Foreground
}

// shellWatches reports whether process pid's group has a parent that may do job control: one of its session in another
// group. Without one the group is orphaned.
// Source: setpgid(2).
func shellWatches(pid int) bool {
	_, ok := aboveGroup(pid)
	return ok
}

// aboveGroup is the nearest process above pid that is in the same session and in another group.
func aboveGroup(pid int) (above int, ok bool) {
	group, session := 0, 0
	for range 1000 { // a chain of parents is shorter
		st, err := procfs.ReadStat("/proc", pid)
		switch {
		case err != nil:
			return 0, false
		case group == 0:
			group, session = st.Group, st.Session
		case st.Session != session:
			return 0, false
		case st.Group != group:
			return pid, true
		}
		pid = st.Parent
	}
	return 0, false
}
