package capture

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/procfs"
)

// backendOf is what a server process of PostgreSQL says in its title that it does. Who holds a lock is in memory that
// has another layout in each version; the title ends in what matters.
// Source: set_ps_display in postgres/src/backend/tcop/postgres.c and storage/lmgr/lock.c.
func backendOf(args []string) hang.Backend {
	if len(args) == 0 || !strings.HasPrefix(args[0], "postgres: ") {
		return hang.NoBackend
	}
	title := strings.TrimRight(args[0], " ")
	switch {
	case strings.HasSuffix(title, " waiting"):
		return hang.BackendWaits
	case strings.HasSuffix(title, " idle in transaction"), strings.HasSuffix(title, " idle in transaction (aborted)"):
		return hang.BackendInTransaction
	}
	return hang.NoBackend
}

// holders are the processes that may hold the locks that backends of list wait for: those of the same server that are
// idle in a transaction.
func holders(list []hang.Process) (all []hang.Process) {
	asked := map[int]bool{}
	for i := range list {
		if p := &list[i]; p.Backend != hang.BackendWaits || asked[p.Parent] {
			continue
		}
		parent := list[i].Parent
		asked[parent] = true
		const most = 4096 // children that are read
		text := procfs.Read(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent), 16*most)
		for _, word := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(word)
			if err != nil || backendOf(procfs.Cmdline("/proc", pid)) != hang.BackendInTransaction ||
				slices.ContainsFunc(list, func(p hang.Process) bool { return p.PID == pid }) {
				continue
			}
			all = append(all, Describe([]int{pid})...)
		}
	}
	return all
}
