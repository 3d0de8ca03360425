package procfs

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// FDInfo is what /proc/PID/fdinfo/FD shows of a descriptor. What the file does not have is -1, nil or false.
//
// Source: proc_pid_fdinfo(5), linux/Documentation/filesystems/proc.rst section 3.8, and the show_fdinfo function of
// each kind of file.
type FDInfo struct {
	Flags   int64      // as open(2) has them
	MountID int        // of a line of mountinfo
	Inode   uint64     // as /proc/locks has it; stat(2) may give another one. 0 before Linux 5.14
	Locks   []FileLock // that this open file carries, taken by whomever
	Eventfd *Eventfd
	Timer   *Timer
	Epoll   []EpollTarget // of an epoll set, at most maxTargets
	Inotify []InotifyWatch
	Signals uint64 // the signals that a signalfd waits for, bit n-1 for signal n; 0: it is none
	// PID is the process of a pidfd as our pid namespace has it: 0 not in it, -1 it has ended. HasPID says that it is
	// one.
	PID    int
	HasPID bool
	TTY    int   // the number below /dev/pts whose master this is
	Fuse   int   // the connection of /dev/fuse: the minor number of the device of what it serves
	Ring   *Ring // of io_uring
	Cut    bool  // there were more targets, watches, locks or operations than are kept
}

// Eventfd is the counter of an eventfd.
type Eventfd struct {
	ID    int64 // the same in each process that has it; -1 before Linux 5.2
	Count uint64
}

// Timer is a timerfd. Times are as the clock of the timer counts.
type Timer struct {
	Left, Interval time.Duration // Left 0: it is not set
}

// EpollTarget is a descriptor that an epoll set watches.
type EpollTarget struct {
	FD     int    // the number that it had when it was added: another file may have it by now
	Events uint32 // EPOLL bits
	Inode  uint64
	Dev    Device // 0 before Linux 4.13
}

// InotifyWatch is a file that an inotify descriptor watches.
type InotifyWatch struct {
	Inode uint64
	Dev   Device
	Mask  uint32
}

// Ring is an io_uring.
type Ring struct {
	Pending []int // the opcodes of operations that wait to be possible
}

// maxTargets bounds what is kept of each list of one descriptor.
const maxTargets = 4096

// ParseFDInfo reads the text of a file below /proc/PID/fdinfo. Lines that it does not understand are left out, as each
// kind of file has its own.
func ParseFDInfo(b []byte) FDInfo {
	f := FDInfo{Flags: -1, MountID: -1, TTY: -1, Fuse: -1}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		if op, ok := ringOp(line); ok && f.Ring != nil {
			f.Ring.Pending = keep(&f, f.Ring.Pending, op)
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if watch, is := strings.CutPrefix(line, "inotify "); is {
			f.inotify(watch)
		} else if ok {
			f.take(key, strings.TrimSpace(value))
		}
	}
	return f
}

// keep appends to a list of f within the bound.
func keep[T any](f *FDInfo, list []T, v T) []T {
	if len(list) == maxTargets {
		f.Cut = true
		return list
	}
	return append(list, v)
}

func (f *FDInfo) take(key, value string) {
	switch key {
	case "flags":
		f.Flags = integer(value, 8, -1)
	case "mnt_id":
		f.MountID = int(integer(value, 10, -1))
	case "ino":
		f.Inode, _ = strconv.ParseUint(value, 10, 64)
	case "lock":
		if l, ok := ParseFileLock(value); ok {
			f.Locks = keep(f, f.Locks, l)
		}
	case "eventfd-count":
		count, err := strconv.ParseUint(value, 16, 64)
		if err == nil {
			f.Eventfd = &Eventfd{ID: -1, Count: count}
		}
	case "eventfd-id":
		if f.Eventfd != nil {
			f.Eventfd.ID = integer(value, 10, -1)
		}
	case "it_value":
		if left, ok := timespec(value); ok {
			f.Timer = &Timer{Left: left}
		}
	case "it_interval":
		if every, ok := timespec(value); ok && f.Timer != nil {
			f.Timer.Interval = every
		}
	case "tfd":
		if t, ok := epollTarget(value); ok {
			f.Epoll = keep(f, f.Epoll, t)
		}
	case "sigmask":
		f.Signals, _ = strconv.ParseUint(value, 16, 64)
	case "Pid":
		f.PID, f.HasPID = int(integer(value, 10, 0)), true
	case "tty-index":
		f.TTY = int(integer(value, 10, -1))
	case "fuse_connection":
		f.Fuse = int(integer(value, 10, -1))
	case "SqMask":
		f.Ring = &Ring{}
	}
}

func integer(s string, base int, unknown int64) int64 {
	n, err := strconv.ParseInt(s, base, 64)
	if err != nil {
		return unknown
	}
	return n
}

// timespec reads "(4, 999962214)", seconds and nanoseconds.
func timespec(s string) (time.Duration, bool) {
	var seconds, nanoseconds int64
	n, _ := fmt.Sscanf(s, "(%d, %d)", &seconds, &nanoseconds)
	if n != 2 || seconds < 0 || seconds > int64(1<<63-1)/int64(time.Second)-1 {
		return 0, false
	}
	return time.Duration(seconds)*time.Second + time.Duration(nanoseconds), true
}

// epollTarget reads "5 events:       19 data:                5  pos:0 ino:40e sdev:10".
// Source: ep_show_fdinfo in linux/fs/eventpoll.c.
func epollTarget(s string) (EpollTarget, bool) {
	fd, rest, _ := strings.Cut(s, " ")
	n, err := strconv.Atoi(fd)
	v := words(rest)
	events, err2 := strconv.ParseUint(v["events"], 16, 32)
	if err != nil || err2 != nil {
		return EpollTarget{}, false
	}
	inode, _ := strconv.ParseUint(v["ino"], 16, 64)
	dev, _ := strconv.ParseUint(v["sdev"], 16, 32)
	return EpollTarget{FD: n, Events: uint32(events), Inode: inode, Dev: Device(dev)}, true
}

// inotify reads "wd:1 ino:3c4a3 sdev:fe00000 mask:2 ignored_mask:0 …".
// Source: inotify_fdinfo in linux/fs/notify/fdinfo.c.
func (f *FDInfo) inotify(s string) {
	v := words(s)
	inode, err := strconv.ParseUint(v["ino"], 16, 64)
	dev, err2 := strconv.ParseUint(v["sdev"], 16, 32)
	mask, err3 := strconv.ParseUint(v["mask"], 16, 32)
	if err == nil && err2 == nil && err3 == nil {
		f.Inotify = keep(f, f.Inotify, InotifyWatch{Inode: inode, Dev: Device(dev), Mask: uint32(mask)})
	}
}

// words reads "name:value" pairs, with blanks before the value or not.
func words(s string) map[string]string {
	out := map[string]string{}
	key := ""
	for _, w := range strings.Fields(s) {
		if k, v, ok := strings.Cut(w, ":"); ok {
			key, w = k, v
		}
		if w != "" && key != "" {
			out[key] = w
		}
	}
	return out
}

// ringOp reads "  op=22, task_works=0", a line below PollList.
// Source: io_uring_show_fdinfo in linux/io_uring/fdinfo.c.
func ringOp(line string) (int, bool) {
	digits, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "op=")
	digits, _, _ = strings.Cut(digits, ",")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil
}

// Device is the number of a device as the kernel has it inside: 12 bits major, 20 bits minor.
// Source: linux/include/linux/kdev_t.h.
type Device uint32

// MakeDevice joins the two numbers.
func MakeDevice(major, minor uint32) Device { return Device(major<<20 | minor&(1<<20-1)) }

// String is "fe:00" as /proc/locks shows it.
func (d Device) String() string { return fmt.Sprintf("%02x:%02x", uint32(d)>>20, uint32(d)&(1<<20-1)) }
