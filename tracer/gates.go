//go:build linux

package tracer

import (
	"bytes"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// PermissionError says that the kernel refused to let us look at a process, with the
// facts about the gates that may have refused. A fact that could not be had is nil or -1.
//
// Source: __ptrace_may_access in linux/kernel/ptrace.c, linux/security/yama/yama_lsm.c.
type PermissionError struct {
	PID       int
	Comm      string
	Operation string // "seize", "open memory"
	Err       error

	OwnUID, TargetUID int    // effective and, of the target, real; -1 unknown
	UIDsDiffer        bool   // some id of the target is not ours
	OwnCaps           uint64 // effective capabilities, bit 19 is CAP_SYS_PTRACE
	MoreCaps          bool   // the target is permitted capabilities that we have not
	Dumpable          *bool  // false after setuid, or by prctl(PR_SET_DUMPABLE)
	YamaScope         int    // kernel.yama.ptrace_scope, -1 where there is no Yama
	SameUserNS        *bool
	Seccomp           int    // mode of ourselves, 2 is a filter; -1 unknown
	LSM               string // our security label, "" if unknown
	HidePID           bool   // the process lives but /proc does not show it
	CallRefused       bool   // ptrace is not refused as such, and process_vm_readv(2) is, as is the memory's file
}

func (e *PermissionError) Error() string {
	if e.HidePID {
		return fmt.Sprintf("%s process %d: %v (hidden in /proc)", e.Operation, e.PID, e.Err)
	}
	return fmt.Sprintf("%s process %d %q: %v", e.Operation, e.PID, e.Comm, e.Err)
}

func (e *PermissionError) Unwrap() error { return e.Err }

// HasCap tells whether capability number c (capabilities(7)) is effective for us.
func (e *PermissionError) HasCap(c int) bool { return e.OwnCaps>>uint(c)&1 == 1 }

// permissionError collects the facts about the gates. root is the proc file system.
func permissionError(root string, pid int, op string, cause error) *PermissionError {
	e := &PermissionError{PID: pid, Operation: op, Err: cause, OwnUID: unix.Geteuid(),
		TargetUID: -1, YamaScope: -1, Seccomp: -1}
	dir := root + "/" + strconv.Itoa(pid)
	own, ownErr := readStatus(root + "/self/status")
	if ownErr == nil {
		e.OwnCaps, e.Seccomp = own.CapEff, own.Seccomp
	}
	if st, err := readStatus(dir + "/status"); err == nil {
		e.Comm, e.TargetUID = st.Name, st.UIDs[0]
		e.UIDsDiffer = differ(st.UIDs[:3], unix.Getuid()) || differ(st.GIDs[:3], unix.Getgid())
		e.MoreCaps = ownErr == nil && st.CapPrm&^own.CapEff != 0
		e.Dumpable = dumpable(dir, st.UIDs[1])
	}
	if b, err := readFile(root+"/sys/kernel/yama/ptrace_scope", 64); err == nil {
		if n, err := strconv.Atoi(string(bytes.TrimSpace(b))); err == nil {
			e.YamaScope = n
		}
	}
	if ours, err := readLink(root + "/self/ns/user"); err == nil {
		if theirs, err := readLink(dir + "/ns/user"); err == nil {
			same := ours == theirs
			e.SameUserNS = &same
		}
	}
	if b, err := readFile(root+"/self/attr/current", 4096); err == nil {
		e.LSM = string(bytes.TrimRight(b, "\x00\n"))
	}
	return e
}

func differ(ids []int, own int) bool {
	for _, id := range ids {
		if id != own {
			return true
		}
	}
	return false
}

// dumpable reads the attribute from the owner of a file in /proc/PID: the kernel gives
// the files of a process that is not dumpable to root. It is nil where that tells nothing.
// Source: task_dump_owner in linux/fs/proc/base.c.
func dumpable(dir string, euid int) *bool {
	var st unix.Stat_t
	if euid == 0 || unix.Stat(dir+"/stat", &st) != nil {
		return nil
	}
	yes := int(st.Uid) == euid
	return &yes
}
