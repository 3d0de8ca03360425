// Package choose finds the processes that rules choose, from files of /proc alone.
//
// A [Rule] is a choice by name, id, control group, container, pod, unit of systemd or user; a [Scanner] reads /proc
// again and again, and says which processes are chosen now. What it knows of a process it reads again in growing
// distances, as a process may begin another program or be moved to another group.
//
// It stops nothing and needs no rights: what may not be read of a process is unknown, and chooses nothing.
package choose

import (
	"fmt"
	"os/user"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/procfs"
)

// Rule chooses processes: those that every kind of choice with a value allows, by any of its values. Without a value it
// chooses none. Patterns are those of path.Match.
type Rule struct {
	Names      []string // byte for byte, as procfs.Program has them
	PIDs       []int
	Cgroups    []string // patterns of a group or one above it
	Containers []string // ids or the beginning of one, or patterns
	Pods       []string // uids of Kubernetes, or patterns
	Units      []string // of systemd, ".service" may be left out, or patterns
	Users      []int    // effective ids

	// Service is what the processes are called in a store, "": by the name or unit that chose them, or by theirs.
	Service string
	Labels  []string // of what is recorded of them, each "name=value"
}

// leastID is how many digits of the id of a container tell which.
const leastID = 6

// Check reports which value makes no sense.
func (r *Rule) Check() error {
	for _, kind := range []struct {
		name     string
		patterns []string
	}{{"cgroup", r.Cgroups}, {"container", r.Containers}, {"pod-uid", r.Pods}, {"unit", r.Units}} {
		for _, p := range kind.patterns {
			if _, err := path.Match(p, ""); err != nil || p == "" {
				return fmt.Errorf("%s %q: malformed pattern", kind.name, p)
			}
		}
	}
	for _, g := range r.Cgroups {
		if !strings.HasPrefix(g, "/") {
			return fmt.Errorf("cgroup %q: want a path from the root, as /system.slice", g)
		}
	}
	for _, c := range r.Containers {
		if len(c) < leastID && !isPattern(c) {
			return fmt.Errorf("container %q: want %d digits of its id at least, or * for any", c, leastID)
		}
	}
	if slices.Contains(r.Names, "") {
		return fmt.Errorf("name %q: no process has it", "")
	}
	return nil
}

// Empty reports whether r has no choice.
func (r *Rule) Empty() bool {
	return len(r.Names)+len(r.PIDs)+len(r.Cgroups)+len(r.Containers)+len(r.Pods)+len(r.Units)+len(r.Users) == 0
}

// UserID is the id of a user, given as its name or as a number.
func UserID(name string) (int, error) {
	if id, err := strconv.Atoi(name); err == nil && id >= 0 {
		return id, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return 0, fmt.Errorf("find user %q: %w", name, err)
	}
	return strconv.Atoi(u.Uid)
}

func isPattern(s string) bool { return strings.ContainsAny(s, `*?[\`) }

// matches reports whether r chooses a process.
func (r *Rule) matches(p *process) bool {
	if r.Empty() {
		return false
	}
	anyOf := func(n int, of func(i int) bool) bool {
		for i := range n {
			if of(i) {
				return true
			}
		}
		return n == 0
	}
	return anyOf(len(r.PIDs), func(i int) bool { return r.PIDs[i] == p.pid }) &&
		anyOf(len(r.Names), func(i int) bool { return slices.Contains(p.names(), r.Names[i]) }) &&
		anyOf(len(r.Users), func(i int) bool { return r.Users[i] == p.user() }) &&
		anyOf(len(r.Cgroups), func(i int) bool { return inGroup(r.Cgroups[i], p.group().Path) }) &&
		anyOf(len(r.Containers), func(i int) bool { return isID(r.Containers[i], p.group().Container) }) &&
		anyOf(len(r.Pods), func(i int) bool { return isID(r.Pods[i], p.group().Pod) }) &&
		anyOf(len(r.Units), func(i int) bool { return isUnit(r.Units[i], p.group()) })
}

// nameOf is the one of r.Names that p has, "" if there is none.
func (r *Rule) nameOf(p *process) string {
	for _, name := range r.Names {
		if slices.Contains(p.names(), name) {
			return name
		}
	}
	return ""
}

// inGroup reports whether a group, or one above it, is called as pattern says.
func inGroup(pattern, group string) bool {
	pattern = strings.TrimSuffix(pattern, "/")
	for group != "" && group != "/" {
		if ok, _ := path.Match(pattern, group); ok {
			return true
		}
		group = group[:strings.LastIndexByte(group, '/')]
	}
	return pattern == ""
}

// isID reports whether an id begins as wanted, or is as a pattern says.
func isID(wanted, id string) bool {
	if id == "" {
		return false
	}
	ok, _ := path.Match(wanted, id)
	return ok || !isPattern(wanted) && strings.HasPrefix(id, wanted)
}

func isUnit(wanted string, group procfs.Cgroup) bool {
	if group.Unit == "" {
		return false
	}
	if !strings.Contains(wanted, ".") || strings.HasSuffix(wanted, "*") {
		if ok, _ := path.Match(wanted, strings.TrimSuffix(group.Unit, ".service")); ok {
			return true
		}
	}
	ok, _ := path.Match(wanted, group.Unit)
	return ok
}
