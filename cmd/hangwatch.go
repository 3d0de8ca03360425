package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/hang/supervise"
	"github.com/fpstack/fpstack/hang/trigger"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/text"
)

// watchOptions are the flags of hang that say when it begins.
type watchOptions struct {
	on      bool
	limits  trigger.Limits
	idleCPU share
}

// usualIdle is the --idle of a --watch that has no limit.
const usualIdle = time.Minute

func (o *watchOptions) register(f *pflag.FlagSet) {
	o.idleCPU = 0.01
	f.BoolVar(&o.on, "watch", false, "wait until they are idle, or another of these limits is reached")
	f.Var((*seconds)(&o.limits.Idle), "idle", "with --watch: they are idle for this `TIME`; no CPU, no data, no "+
		"output; 1m where there is no limit")
	f.Var(&o.idleCPU, "idle-cpu", "with --watch: a process that uses less than this `SHARE` of a CPU is idle")
	f.Var((*seconds)(&o.limits.Silent), "idle-output", "with --watch: they write nothing for this `TIME`")
	f.Var((*seconds)(&o.limits.Deadline), "deadline", "with --watch: judge after this `TIME` at the latest")
}

// settle fills in the limit that is meant where none is given.
func (o *watchOptions) settle() {
	o.limits.IdleCPU = float64(o.idleCPU)
	if o.on && o.limits.Idle == 0 && o.limits.Silent == 0 && o.limits.Deadline == 0 {
		o.limits.Idle = usualIdle
	}
}

// errAllEnded says that there is nothing left to wait for.
var errAllEnded = errors.New("every process has ended before a limit was reached")

// awaitTrigger waits until a limit of processes is reached. It attaches to nothing.
func (a *app) awaitTrigger(ctx context.Context, o *watchOptions, pids []int, children bool) (hang.Trigger, error) {
	live := &trigger.Live{Kernel: kernel{}, List: func() []int { return withChildren(pids, children) }}
	var began []procfs.Identity
	for _, pid := range pids {
		if st, err := procfs.ReadStat("/proc", pid); err == nil {
			began = append(began, procfs.Identity{PID: pid, Start: st.Start})
		}
		for _, fd := range []int{1, 2} {
			live.Outputs = append(live.Outputs, fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
		}
	}
	writes := supervise.WatchWrites(live.Outputs)
	defer writes.Close()
	live.Writes = writes.Count
	w := trigger.New(o.limits, time.Now(), live, func(line string) {
		fmt.Fprintf(a.stderr, "fpstack: %s\n", text.Message(line))
	})
	for {
		now := time.Now()
		if t, ok := w.Check(now); ok {
			return t, nil
		}
		if !slices.ContainsFunc(began, lives) {
			return hang.Trigger{}, errAllEnded
		}
		select {
		case <-ctx.Done():
			return hang.Trigger{}, errNothing
		case <-time.After(w.Next(now)):
		}
	}
}

// lives reports whether a process is still there, and is the same: its first thread may have ended before others.
func lives(id procfs.Identity) bool {
	st, err := procfs.ReadStat("/proc", id.PID)
	return err == nil && st.Start == id.Start && (st.State != 'Z' || len(procfs.Threads("/proc", id.PID)) > 1)
}
