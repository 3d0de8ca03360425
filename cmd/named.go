package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/text"
)

// unnamedError says that no process has a name.
type unnamedError struct {
	name string
	near []string // names that may have been meant
	// orProgram says that a program of that name would have done, too.
	orProgram bool
}

func (e *unnamedError) Error() string {
	text := fmt.Sprintf("no process is named %q", e.name)
	if e.orProgram {
		text = fmt.Sprintf("no process and no program is named %q", e.name)
	}
	if len(e.near) > 0 {
		text += "; did you mean " + strings.Join(e.near, " or ") + "?"
	}
	return text
}

// addNamed adds the processes that have the names to pids, each once; we are none of them. A name that
// no process has is reported and counted; the error says that there is no process at all.
func (a *app) addNamed(pids *ids, names []string) (missing int, err error) {
	if slices.Contains(names, "") {
		return 0, usageError{errors.New("--name: no name given")}
	}
	if len(names) == 0 {
		return 0, nil
	}
	all, err := programs()
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		found := procfs.Named(all, name)
		if len(found) == 0 {
			a.complain(&unnamedError{name: name, near: procfs.Similar(all, name)})
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

// programs lists all that run but for us.
func programs() ([]procfs.Program, error) {
	all, err := procfs.Programs("/proc")
	return slices.DeleteFunc(all, func(p procfs.Program) bool { return p.PID == os.Getpid() }), err
}

// starters are the processes that fpstack was started by, as a shell, sudo and timeout: their arguments have what its
// own have.
func starters() map[int]bool {
	found := map[int]bool{}
	for pid := os.Getppid(); pid > 0 && !found[pid]; {
		found[pid] = true
		st, err := procfs.ReadStat("/proc", pid)
		if err != nil {
			break
		}
		pid = st.Parent
	}
	return found
}

// ranBy says which process has word, with or without an ending, among its first arguments, as an interpreter has its
// script: of several that with fewest before it. It is "" for none.
func ranBy(word string) string {
	all, _ := programs() // without /proc there is none
	name, best, found := filepath.Base(word), maxScript, ""
	above := starters()
	for _, p := range all {
		if above[p.PID] {
			continue
		}
		arguments := procfs.Cmdline("/proc", p.PID)
		for at := 1; at < min(best, len(arguments)); at++ {
			if strings.Contains(arguments[at], "://") {
				continue
			}
			base := filepath.Base(arguments[at])
			if base == name || strings.TrimSuffix(base, filepath.Ext(base)) == name {
				best = at
				found = fmt.Sprintf("Process %d is %q: give its id if you mean that.", p.PID,
					strings.Join(arguments[:at+1], " "))
			}
		}
	}
	return text.Message(found)
}

// maxScript bounds the arguments that are looked at: a script comes before its own.
const maxScript = 8
