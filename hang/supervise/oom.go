//go:build linux

package supervise

import (
	"bytes"
	"strconv"
	"syscall"
)

// oomAdjust is where a process says how gladly it is ended when memory runs out: -1000 never, 1000 first of all.
// Source: proc_pid_oom_score_adj(5).
const oomAdjust = "/proc/self/oom_score_adj"

// Operations of prctl(2). Source: linux/include/uapi/linux/prctl.h.
const (
	getDumpable = 3
	setDumpable = 4
)

// firstToGo is the most that it takes.
const firstToGo = 1000

// OOMScore is what this program had there before it made itself the first to go. The zero OOMScore had not changed it.
type OOMScore struct {
	before int
	raised bool
}

// Yield makes this program the first one that the kernel ends when memory runs out: we often run inside of the memory
// cgroup of the process that we sample, which has more of it and would be ended for what we take. Nobody needs
// a right for that, nor to take it back.
// Source: __set_oom_adj in linux/fs/proc/base.c.
func Yield() OOMScore {
	before, err := readOOM()
	if err != nil || before >= firstToGo {
		return OOMScore{}
	}
	return OOMScore{before, setOOM(firstToGo)}
}

// Usual runs f with what was there before, for what is started by it.
func (o OOMScore) Usual(f func()) {
	if o.raised && setOOM(o.before) {
		defer setOOM(firstToGo)
	}
	f()
}

// setOOM writes the value. The file belongs to root if this program has capabilities by its file (setcap), because it
// is not dumpable then; so it is made that for a moment. Nobody may trace us meanwhile who has not those
// capabilities.
func setOOM(value int) bool {
	if writeOOM(value) {
		return true
	}
	if dumpable, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, getDumpable, 0, 0); errno != 0 || dumpable == 1 {
		return false
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 1, 0); errno != 0 {
		return false
	}
	defer syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0)
	return writeOOM(value)
}

// readOOM reads the value, without package os: its first open file makes Go's poller, which ends the program if there
// are no descriptors for it.
func readOOM() (int, error) {
	fd, err := syscall.Open(oomAdjust, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(fd)
	var b [16]byte
	n, err := syscall.Read(fd, b[:])
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(bytes.TrimSpace(b[:max(n, 0)])))
}

func writeOOM(value int) bool {
	fd, err := syscall.Open(oomAdjust, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	_, err = syscall.Write(fd, []byte(strconv.Itoa(value)))
	return err == nil
}
