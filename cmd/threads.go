package cmd

import (
	"fmt"
	"os"
	"slices"
)

// unknownThread says that no process has a thread that was asked for.
type unknownThread struct {
	tid  int
	pids ids // the processes, nil for none
}

func (e *unknownThread) Error() string {
	return fmt.Sprintf("thread %d: no process given has this thread", e.tid)
}

func (e *unknownThread) remedy() string {
	if len(e.pids) == 0 {
		return ""
	}
	return "ps -L -p " + e.pids.String() + " lists those that there are."
}

// withThreads reports which of tids no process of pids has, and returns the processes that have one: all of them for no
// tids. One that is not there is among them: why will be reported with it. The error says that there is none.
func (a *app) withThreads(pids, tids ids) (with, unknown ids, err error) {
	if len(tids) == 0 {
		return pids, nil, nil
	}
	with = slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
		return isThere(fmt.Sprintf("/proc/%d", pid)) &&
			!slices.ContainsFunc(tids, func(tid int) bool { return hasTask(pid, tid) })
	})
	unknown = slices.DeleteFunc(slices.Clone(tids), func(tid int) bool {
		return slices.ContainsFunc(pids, func(pid int) bool { return hasTask(pid, tid) })
	})
	if len(with) > 0 {
		return with, unknown, nil
	}
	for _, tid := range unknown {
		a.complain(&unknownThread{tid, pids})
	}
	return nil, unknown, errNothing
}

// known returns the processes to sample that have threads which were asked for, and reports what nothing can be sampled
// of, missing of which there are. What is below them may have such threads, too: with --children they are all sampled.
func (a *app) known(o *samplingOptions) (pids ids, missing int, err error) {
	with, unknown, err := a.withThreads(withChildren(o.pids, o.children), o.tids)
	if err != nil {
		return nil, 0, err
	}
	for _, tid := range unknown {
		a.complain(&unknownThread{tid, o.pids})
	}
	if o.children {
		return o.pids, len(unknown), nil
	}
	return with, len(unknown), nil
}

// hasTask reports whether tid is a thread of process pid now.
func hasTask(pid, tid int) bool { return isThere(fmt.Sprintf("/proc/%d/task/%d", pid, tid)) }

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
