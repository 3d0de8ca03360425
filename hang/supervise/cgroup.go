//go:build linux

package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fpstack/fpstack/procfs"
)

// cgroup is a control group that processes are moved to in order to end: at once, whoever they belong to, and without
// a way out, as what they start is in it too. A nil *cgroup is none, and its methods do nothing.
//
// The command is not in it while it runs: limits of memory and of CPU that runtimes look up in their own cgroup are
// those of the cgroup that fpstack was started in.
//
// Source: Documentation/admin-guide/cgroup-v2.rst of Linux; cgroup.kill is there since 5.14.
type cgroup struct{ dir string }

// newCgroup makes one below ours. It is nil where we have no right to that, or the kernel no such thing.
func newCgroup() *cgroup {
	above := ownCgroup()
	if above == "" {
		return nil
	}
	g := &cgroup{filepath.Join(above, fmt.Sprintf("fpstack-%d", os.Getpid()))}
	if os.Mkdir(g.dir, 0o755) != nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(g.dir, "cgroup.kill")); err != nil {
		g.remove()
		return nil
	}
	return g
}

// ownCgroup is the folder of our cgroup of version 2, "" if it does not show.
func ownCgroup() string {
	own := ""
	for line := range strings.Lines(string(procfs.Read("/proc/self/cgroup", 1<<16))) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			own = path
		}
	}
	if own == "" || strings.Contains(own, "..") { // outside of our view
		return ""
	}
	for _, m := range procfs.ParseMounts(procfs.Read("/proc/self/mountinfo", 1<<20)) {
		if m.Type != "cgroup2" {
			continue
		}
		if below, ok := strings.CutPrefix(own, strings.TrimSuffix(m.Root, "/")); ok {
			return filepath.Join(m.Point, below)
		}
	}
	return ""
}

// kill moves the processes that list lists into it, again until there are no others, and ends all of it. Meanwhile
// they stand still: who starts processes all the time is followed.
func (g *cgroup) kill(list func() []int) {
	if g == nil {
		return
	}
	const rounds = 100
	g.write("cgroup.freeze", "1")
	var in []int
	for range rounds {
		moved := 0
		for _, pid := range list() {
			if !slices.Contains(in, pid) && g.write("cgroup.procs", strconv.Itoa(pid)) {
				in = append(in, pid)
				moved++
			}
		}
		if moved == 0 {
			break
		}
	}
	g.write("cgroup.kill", "1")
	g.write("cgroup.freeze", "0")
}

func (g *cgroup) write(file, value string) bool {
	f, err := os.OpenFile(filepath.Join(g.dir, file), os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = f.WriteString(value)
	return err == nil
}

// remove removes it, if it becomes empty soon.
func (g *cgroup) remove() {
	if g == nil {
		return
	}
	for range 20 {
		if err := os.Remove(g.dir); err == nil || os.IsNotExist(err) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
