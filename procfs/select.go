// Package procfs reads what the files of a proc file system say. The parsers take bytes and open nothing; the functions
// that find processes by name, or a process and all that it started, read the files themselves.
//
// It stops nothing and needs no rights: what it may not read of a process does not count. A list is true of the moment
// at which it was made; processes may end before they are looked at, and others begin. No bytes make a parser panic.
//
// Source: proc(5), and what each parser names.
package procfs

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Named lists the ids of the processes below root ("/proc") that bear the name, ascending. A
// process bears three: what the kernel calls it (comm, the first 15 bytes of its program's name
// unless it chose another), the last part of its executable's path, and that of the first
// of its arguments. One of them is equal to name, byte for byte.
//
// Processes that have ended and threads of the kernel run no program: they bear none. The error
// says that root cannot be listed.
func Named(root, name string) ([]int, error) {
	ids, err := numbers(root)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []int
	for _, pid := range ids {
		if bears(filepath.Join(root, strconv.Itoa(pid)), name) {
			found = append(found, pid)
		}
	}
	return found, nil
}

// bears tells whether the process in dir has the name.
func bears(dir, name string) bool {
	exe, first, ok := program(dir)
	if !ok {
		return false
	}
	comm := strings.TrimSuffix(string(Read(filepath.Join(dir, "comm"), 64)), "\n")
	return name != "" && (comm == name || base(exe) == name || base(first) == name)
}

// program returns the executable and the first argument of the process in dir, of a living
// thread where the leader has ended. It is false if neither is there.
func program(dir string) (exe, first string, ok bool) {
	if exe, first, ok = names(dir); ok {
		return exe, first, ok
	}
	tids, _ := numbers(filepath.Join(dir, "task"))
	for _, tid := range tids {
		if exe, first, ok = names(filepath.Join(dir, "task", strconv.Itoa(tid))); ok {
			return exe, first, ok
		}
	}
	return "", "", false
}

func names(dir string) (exe, first string, ok bool) {
	exe, err := os.Readlink(filepath.Join(dir, "exe"))
	exe = strings.TrimSuffix(exe, " (deleted)")
	line := Read(filepath.Join(dir, "cmdline"), 64<<10)
	arg, _, _ := bytes.Cut(line, []byte{0})
	// The link of another user's process is there, and cannot be read.
	return exe, string(arg), len(line) > 0 || err == nil || os.IsPermission(err) && !kernel(dir)
}

// kernel tells whether a process without arguments is a thread of the kernel, which is its
// descendant: process 2, "kthreadd", or a child of it.
func kernel(dir string) bool {
	stat := Read(filepath.Join(dir, "stat"), 4096)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return path.Base(dir) == "2" || len(fields) > 1 && (fields[1] == "2" || fields[0] == "Z" || fields[0] == "X")
}

// base is the last part of a path, "" of "".
func base(file string) string {
	if file == "" {
		return ""
	}
	return path.Base(file)
}

// Read returns at most limit bytes of a file, none if it cannot be read.
func Read(file string, limit int64) []byte {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, limit))
	return b
}

// numbers lists the entries of dir that are numbers, ascending.
func numbers(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var ids []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 {
			ids = append(ids, n)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// maxTree bounds a tree: the kernel gives no more ids (PID_MAX_LIMIT in linux/threads.h).
const maxTree = 1 << 22

// Tree returns the processes and all below them, each once: a parent before its children, and these
// with all that is below them before what comes next. children lists those of one process; what it
// cannot list has none.
func Tree(pids []int, children func(pid int) ([]int, error)) []int {
	var out []int
	seen := map[int]bool{}
	waiting := slices.Clone(pids)
	slices.Reverse(waiting) // the last is the next
	for len(waiting) > 0 && len(out) < maxTree {
		pid := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		if seen[pid] {
			continue
		}
		seen[pid] = true
		out = append(out, pid)
		below, err := children(pid)
		if err != nil {
			continue
		}
		for _, child := range slices.Backward(below) {
			waiting = append(waiting, child)
		}
	}
	return out
}
