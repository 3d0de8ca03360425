// Package procfs reads what the files of a proc file system say. The parsers take bytes and open nothing; the functions
// that find processes by name, or a process and all that it started, read the files themselves.
//
// It stops nothing and needs no rights: what it may not read of a process does not count. A list is true of the moment
// at which it was made; processes may end before they are sampled, and others begin. No bytes make a parser panic.
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

// Program is a process that runs a program: neither one that has ended nor a thread of the kernel.
type Program struct {
	PID int
	// Names are what it is called, each once and none empty: the kernel's name (comm, the first 15 bytes of its
	// program's name unless it chose another), the last part of its executable's path, and that of its first argument.
	Names []string
}

// Programs lists the programs below root ("/proc") by ascending id. The error says that root cannot be listed.
func Programs(root string) ([]Program, error) {
	ids, err := Processes(root)
	if err != nil {
		return nil, err
	}
	var all []Program
	for _, pid := range ids {
		if p, ok := ReadProgram(root, pid); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// Processes lists the ids of all processes below root, ascending: what has ended and threads of the kernel too.
func Processes(root string) ([]int, error) {
	ids, err := numbers(root)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	return ids, nil
}

// ReadProgram reads what process pid below root is called. It is false if that runs no program.
func ReadProgram(root string, pid int) (Program, bool) {
	dir := filepath.Join(root, strconv.Itoa(pid))
	exe, first, ok := program(dir)
	if !ok {
		return Program{}, false
	}
	p := Program{PID: pid}
	for _, name := range []string{comm(dir), base(exe), base(first)} {
		if name != "" && !slices.Contains(p.Names, name) {
			p.Names = append(p.Names, name)
		}
	}
	return p, true
}

// Named lists the ids of those programs that have the name, byte for byte.
func Named(programs []Program, name string) []int {
	var found []int
	for _, p := range programs {
		if slices.Contains(p.Names, name) {
			found = append(found, p.PID)
		}
	}
	return found
}

// Thread is one thread of a process and the name that the kernel has for it.
type Thread struct {
	TID  int
	Comm string
}

// Threads lists the threads of process pid below root by ascending id, none if it is gone.
func Threads(root string, pid int) []Thread {
	dir := filepath.Join(root, strconv.Itoa(pid), "task")
	tids, _ := numbers(dir)
	var all []Thread
	for _, tid := range tids {
		all = append(all, Thread{tid, comm(filepath.Join(dir, strconv.Itoa(tid)))})
	}
	return all
}

// ThreadCount is how many threads process pid below root has, 0 if it is gone.
func ThreadCount(root string, pid int) int {
	dir, err := os.Open(filepath.Join(root, strconv.Itoa(pid), "task"))
	if err != nil {
		return 0
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	return len(names)
}

// comm is what the kernel calls the process or thread in dir.
func comm(dir string) string {
	return strings.TrimSuffix(string(Read(filepath.Join(dir, "comm"), 64)), "\n")
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

// kernel reports whether a process without arguments is a thread of the kernel, which is its
// descendant: process 2, "kthreadd", or a child of it.
func kernel(dir string) bool {
	st, err := readStat(dir)
	return path.Base(dir) == "2" || err == nil && (st.Parent == 2 || st.State == 'Z' || st.State == 'X')
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

// Cmdline returns the arguments of process pid, nil if they are not known. Source: proc_pid_cmdline(5).
func Cmdline(root string, pid int) []string {
	return ParseStrings(Read(filepath.Join(root, strconv.Itoa(pid), "cmdline"), 1<<20))
}
