package cmd

import (
	"fmt"
	"os"
	"slices"

	"github.com/fpstack/fpstack/procfs"
)

// unnamedError says that no process bears a name.
type unnamedError struct{ name string }

func (e *unnamedError) Error() string { return fmt.Sprintf("no process is named %q", e.name) }

// addNamed adds the processes that bear the names to pids, each once; we are none of them. A name that
// nobody bears is told and counted; the error says that there is no process at all.
func (a *app) addNamed(pids *ids, names []string) (missing int, err error) {
	for _, name := range names {
		if name == "" {
			return 0, usageError{fmt.Errorf("--name: no name given")}
		}
	}
	for _, name := range names {
		found, err := procfs.Named("/proc", name)
		if err != nil {
			return missing, err
		}
		found = slices.DeleteFunc(found, func(pid int) bool { return pid == os.Getpid() })
		if len(found) == 0 {
			a.complain(&unnamedError{name})
			missing++
		}
		for _, pid := range found {
			if !slices.Contains(*pids, pid) {
				*pids = append(*pids, pid)
			}
		}
	}
	if missing > 0 && len(*pids) == 0 {
		return missing, errNothing
	}
	return missing, nil
}
