package capture

import (
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/procfs"
)

// programs are what processes ran at one time, by id: each has another stack, as its kernel chose.
type programs map[int]program

type program struct {
	start, stack uint64 // of the process, ticks after boot; of its first stack, 0 where that is not shown
	name         string
	ended        bool // nothing of it runs any more
}

// programsOf reads what processes run. What is gone is not in it.
func programsOf(pids []int) programs {
	all := programs{}
	for _, pid := range pids {
		text := procfs.Read(fmt.Sprintf("/proc/%d/stat", pid), 4096)
		st, err := procfs.ParseStat(text)
		if err != nil {
			continue
		}
		p := program{start: st.Start, name: st.Comm}
		p.stack, _ = procfs.StackStart(text)
		p.ended = !anyLives([]int{pid})
		all[pid] = p
	}
	return all
}

// since adds to a which processes execute another program than before, and which of the roots have ended.
func (now programs) since(before programs, roots []int, a *hang.Activity) {
	for pid, was := range before {
		is, there := now[pid]
		same := there && is.start == was.start
		switch {
		case same && is.stack != 0 && was.stack != 0 && is.stack != was.stack:
			a.Executed = append(a.Executed, hang.Executed{PID: pid, Name: was.name, Now: is.name})
		case slices.Contains(roots, pid) && !was.ended && (!same || is.ended):
			a.Ended = append(a.Ended, hang.Ended{PID: pid, Name: was.name})
		}
	}
	slices.SortFunc(a.Executed, func(x, y hang.Executed) int { return x.PID - y.PID })
	slices.SortFunc(a.Ended, func(x, y hang.Ended) int { return x.PID - y.PID })
}
