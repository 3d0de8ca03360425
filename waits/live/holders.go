//go:build linux

package live

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
	"github.com/fpstack/fpstack/waits"
	"golang.org/x/sys/unix"
)

// Bounds of the one pass over all descriptors of the machine.
const (
	maxDescriptors    = 256 << 10
	maxPerProcess     = 64 << 10
	maxDescriptorTime = 2 * time.Second
)

// holderIndex is who has which descriptors, by what they are.
type holderIndex struct {
	byLink map[string][]waits.Holder
	count  int
	hidden []int // processes whose descriptors may not be read
	cut    string
}

// holders looks up who has descriptors of those names.
func (w *waitFiles) holders(f *waits.Facts, links []string) {
	if w.index == nil {
		w.index = w.pass()
	}
	files := &f.Files
	files.Cut, files.Hidden = w.index.cut, w.related(f, w.index.hidden)
	for _, link := range links {
		list := w.index.byLink[link]
		for i := range list {
			h := &list[i]
			path := fmt.Sprintf("%s/%d/fd/%d", w.root, h.PID, h.FD)
			h.Read, h.Write = ends(path)
			if _, pipe := procfs.PipeInode(link); pipe || strings.HasPrefix(link, "socket:[") || h.Info != nil {
				continue
			}
			info := fmt.Sprintf("%s/%d/fdinfo/%d", w.root, h.PID, h.FD)
			if b, err := procfile.Read(info, procfile.MaxFile); err == nil {
				info := procfs.ParseFDInfo(b)
				h.Info = &info
			}
		}
		if list == nil {
			list = []waits.Holder{}
		}
		files.Holders[link] = list
	}
}

// own lists the descriptors of process pid, with the ends of those that are pipes.
func (w *waitFiles) own(pid int) map[string][]waits.Holder {
	root, err := procfile.Open(unix.AT_FDCWD, w.root, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	defer unix.Close(root)
	x := &holderIndex{byLink: map[string][]waits.Holder{}}
	x.process(root, pid)
	for link, list := range x.byLink {
		if _, pipe := procfs.PipeInode(link); !pipe {
			continue
		}
		for i := range list {
			list[i].Read, list[i].Write = ends(fmt.Sprintf("%s/%d/fd/%d", w.root, pid, list[i].FD))
		}
	}
	return x.byLink
}

// related counts those of the processes hidden that may have got descriptors of the processes of f as children and
// parents do: they are below one of them, or in the same session.
func (w *waitFiles) related(f *waits.Facts, hidden []int) int {
	if len(hidden) == 0 {
		return 0
	}
	stat := func(pid int) procfs.Stat {
		b, err := procfile.Read(fmt.Sprintf("%s/%d/stat", w.root, pid), 4096)
		if err != nil {
			return procfs.Stat{}
		}
		st, _ := procfs.ParseStat(b)
		return st
	}
	sessions, asked := map[int]bool{}, map[int]bool{}
	const deep = 1024 // a bound: parents may change while they are read
	for _, p := range f.Processes {
		asked[p.PID] = true
		if session := stat(p.PID).Session; session != 0 {
			sessions[session] = true
		}
	}
	count := 0
	for _, pid := range hidden {
		st := stat(pid)
		related := sessions[st.Session]
		for i := 0; st.Parent > 1 && i < deep && !related; i++ {
			related = asked[st.Parent]
			st = stat(st.Parent)
		}
		if related {
			count++
		}
	}
	return count
}

// pass reads the links of all descriptors of the machine, once.
func (w *waitFiles) pass() *holderIndex {
	x := &holderIndex{byLink: map[string][]waits.Holder{}}
	fd, err := procfile.Open(unix.AT_FDCWD, w.root, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		x.cut = fmt.Sprintf("processes cannot be listed: %v", err)
		return x
	}
	defer unix.Close(fd)
	d := procfile.List{FD: fd}
	d.Reserve(4096)
	pids, err := d.IDs(nil)
	if err != nil {
		x.cut = err.Error()
	}
	end, most := time.Now().Add(maxDescriptorTime), cmp.Or(w.maxDescriptors, maxDescriptors)
	own := os.Getpid()
	for i, pid := range pids {
		switch {
		case pid == own:
			continue
		case x.count >= most:
			x.cut = fmt.Sprintf("there are more than %d descriptors: those of %d processes were not looked at",
				most, len(pids)-i)
			return x
		case time.Now().After(end):
			x.cut = fmt.Sprintf("going through all descriptors took more than %v: those of %d processes were not "+
				"looked at", maxDescriptorTime, len(pids)-i)
			return x
		}
		x.process(fd, pid)
	}
	return x
}

// process adds the descriptors of one process.
func (x *holderIndex) process(root, pid int) {
	dir := strconv.Itoa(pid)
	fd, err := procfile.Open(root, dir+"/fd", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		if errors.Is(err, os.ErrPermission) {
			x.hidden = append(x.hidden, pid)
		}
		return
	}
	defer func() { unix.Close(fd) }()
	d := procfile.List{FD: fd}
	d.Reserve(256)
	numbers, err := d.IDs(nil)
	if errors.Is(err, os.ErrPermission) {
		x.hidden = append(x.hidden, pid)
	}
	if len(numbers) == 0 {
		if living := x.living(root, dir); living >= 0 {
			unix.Close(fd)
			fd = living
			d.FD = fd
			numbers, _ = d.IDs(nil)
		}
	}
	if len(numbers) > maxPerProcess {
		x.cut = fmt.Sprintf("process %d has %d descriptors, of which %d were looked at", pid, len(numbers),
			maxPerProcess)
		numbers = numbers[:maxPerProcess]
	}
	var buf [512]byte
	for _, n := range numbers {
		got, err := unix.Readlinkat(fd, strconv.Itoa(n), buf[:])
		if err != nil || got <= 0 {
			continue
		}
		x.count++
		link := string(buf[:got])
		if got == len(buf) { // a longer path
			if link, err = procfile.Link(fd, strconv.Itoa(n)); err != nil {
				continue
			}
		}
		x.byLink[link] = append(x.byLink[link], waits.Holder{PID: pid, FD: n})
	}
}

// living opens the descriptors of a process by a thread that lives, where its leader has ended; -1 if there is none.
func (x *holderIndex) living(root int, dir string) int {
	b, err := procfile.At(root, dir+"/stat", nil, 4096)
	if err != nil {
		return -1
	}
	if state, err := procfs.ParseState(b); err != nil || state != 'Z' {
		return -1
	}
	fd, err := procfile.Open(root, dir+"/task", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return -1
	}
	defer unix.Close(fd)
	d := procfile.List{FD: fd}
	d.Reserve(64)
	tids, _ := d.IDs(nil)
	for _, tid := range tids {
		if strconv.Itoa(tid) == dir {
			continue
		}
		if at, err := procfile.Open(fd, strconv.Itoa(tid)+"/fd", unix.O_RDONLY|unix.O_DIRECTORY); err == nil {
			return at
		}
	}
	return -1
}
