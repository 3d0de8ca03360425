package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// errBackground says that the terminal belongs to others now.
var errBackground = errors.New("top is in the background, where it may not draw: bring it to the foreground (fg), or use --once N")

// jobControl lets the shell suspend this program while it draws on the terminal.
type jobControl struct {
	ctx   context.Context
	asked chan os.Signal // SIGTSTP came
}

// takeJobControl begins to catch SIGTSTP, unless it was ignored: then there is no shell to go
// back to.
func takeJobControl(ctx context.Context) *jobControl {
	j := &jobControl{ctx, make(chan os.Signal, 1)}
	if !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(j.asked, syscall.SIGTSTP)
	}
	return j
}

func (j *jobControl) release() { signal.Stop(j.asked) }

// stop stops the whole process group as Ctrl-Z does, and returns when this program may have
// the terminal again or is to end. Where no shell watches the group it does nothing, as
// the kernel does: nobody would let it go on.
//
// Go cannot give SIGTSTP its default back once it was caught, so SIGSTOP takes its place for
// this process.
func (j *jobControl) stop() {
	if signal.Ignored(syscall.SIGTSTP) || !shellWatches(os.Getpid()) {
		return
	}
	goOn := make(chan os.Signal, 1)
	signal.Notify(goOn, syscall.SIGCONT)
	defer signal.Stop(goOn)
	signal.Ignore(syscall.SIGTSTP)
	syscall.Kill(0, syscall.SIGTSTP)
	syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	select {
	case <-goOn:
	case <-j.ctx.Done():
		return
	}
	j.awaitForeground()
	signal.Notify(j.asked, syscall.SIGTSTP)
}

// awaitForeground returns when the terminal is ours or the program is to end. A shell's fg
// sends no signal to a job that runs, as after bg: so it looks again and again.
func (j *jobControl) awaitForeground() {
	for !inForeground() {
		select {
		case <-time.After(300 * time.Millisecond):
		case <-j.ctx.Done():
			return
		}
	}
}

// shellWatches tells whether process pid's group has a parent that does job control: one of
// its session in another group. Without one the group is orphaned.
// Source: setpgid(2), proc_pid_stat(5).
func shellWatches(pid int) bool {
	group, session := 0, 0
	for range 1000 { // a chain of parents is shorter
		ids, err := relations(pid)
		switch {
		case err != nil:
			return false
		case group == 0:
			group, session = ids.group, ids.session
		case ids.session != session:
			return false
		case ids.group != group:
			return true
		}
		pid = ids.parent
	}
	return false
}

// relation is whose child a process is, and what group and session it is in.
type relation struct{ parent, group, session int }

func relations(pid int) (r relation, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return r, err
	}
	var state string
	_, err = fmt.Sscan(string(b[bytes.LastIndexByte(b, ')')+1:]), &state, &r.parent, &r.group, &r.session)
	return r, err
}

// escapeLines is escape for text of several lines.
func escapeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(escape(l), `\t`, "\t")
	}
	return strings.Join(lines, "\n")
}
