package procfs

import (
	"math"
	"strconv"
	"strings"
)

// FileLock is a lock on a file, or a wait for one: a line of /proc/locks, or a line "lock:" of fdinfo.
type FileLock struct {
	Number int    // of the lock in the listing; those that wait for it have the same
	Waits  bool   // not held: somebody is blocked by the lock of that number
	Kind   string // "POSIX", "FLOCK", "OFDLCK", "LEASE", "DELEG", "ACCESS"
	Write  bool   // exclusive
	PID    int    // the process that took it; -1 for OFDLCK; 0 if it is in no pid namespace that we see
	Dev    Device // of the file system inside the kernel: stat(2) may give another one
	Inode  uint64
	// First and Last are the bytes that it covers; Last math.MaxUint64: to the end, however far that moves.
	First, Last uint64
}

// Overlaps reports whether two locks cover a byte in common.
func (l *FileLock) Overlaps(first, last uint64) bool { return l.First <= last && first <= l.Last }

// ParseFileLock reads "1: POSIX  ADVISORY  WRITE 18438 fe:00:9978364 0 EOF", with "-> " before the kind in the line of
// one that waits.
//
// Source: lock_get_status in linux/fs/locks.c, proc_locks(5).
func ParseFileLock(line string) (FileLock, bool) {
	f := strings.Fields(line)
	l := FileLock{}
	if len(f) > 1 && f[1] == "->" {
		l.Waits = true
		f = append(f[:1:1], f[2:]...)
	}
	if len(f) != 8 {
		return FileLock{}, false
	}
	number, err := strconv.Atoi(strings.TrimSuffix(f[0], ":"))
	pid, err2 := strconv.Atoi(f[4])
	place := strings.Split(f[5], ":")
	if err != nil || err2 != nil || len(place) != 3 {
		return FileLock{}, false
	}
	major, err := strconv.ParseUint(place[0], 16, 12)
	minor, err2 := strconv.ParseUint(place[1], 16, 20)
	inode, err3 := strconv.ParseUint(place[2], 10, 64)
	first, err4 := strconv.ParseUint(f[6], 10, 64)
	last, err5 := uint64(math.MaxUint64), error(nil)
	if f[7] != "EOF" {
		last, err5 = strconv.ParseUint(f[7], 10, 64)
	}
	if err != nil || err2 != nil || err3 != nil || err4 != nil || err5 != nil {
		return FileLock{}, false
	}
	l.Number, l.Kind, l.Write, l.PID = number, f[1], f[3] == "WRITE", pid
	l.Dev, l.Inode, l.First, l.Last = MakeDevice(uint32(major), uint32(minor)), inode, first, last
	return l, true
}

// ParseFileLocks reads the text of /proc/locks. Lines that it does not understand are left out.
func ParseFileLocks(b []byte) []FileLock {
	var out []FileLock
	for line := range strings.Lines(string(b)) {
		if l, ok := ParseFileLock(line); ok {
			out = append(out, l)
		}
	}
	return out
}
