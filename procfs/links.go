package procfs

import (
	"os"
	"path/filepath"
	"strconv"
)

// Identity is a process for as long as the machine runs: an id is given again, with another start.
type Identity struct {
	PID   int
	Start uint64 // as in [Stat]
}

// maxLinks bounds the descriptors of a process that are read.
const maxLinks = 4096

// Links lists what the descriptors of process pid are open on, as "pipe:[123]" or a path, in no order; none if they may
// not be read. Source: proc_pid_fd(5).
func Links(root string, pid int) []string {
	path := filepath.Join(root, strconv.Itoa(pid), "fd")
	dir, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxLinks)
	var out []string
	for _, name := range names {
		if link, err := os.Readlink(filepath.Join(path, name)); err == nil {
			out = append(out, link)
		}
	}
	return out
}
