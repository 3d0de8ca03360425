package errand

import (
	"bytes"
	"os"
)

// ownThread is the calling OS thread as /proc knows it, PID/task/TID; "" where there is no /proc of Linux.
func ownThread() string {
	name, _ := os.Readlink("/proc/thread-self")
	return name
}

// wantsCPU reports whether a thread of ours runs or would, and waits for no file system. thread is nil where the call
// has not begun. Source: state in proc_pid_stat(5).
func wantsCPU(thread *string) bool {
	if thread == nil {
		return true
	}
	b, err := os.ReadFile("/proc/" + *thread + "/stat")
	if err != nil {
		return false
	}
	_, after, ok := bytes.Cut(b[bytes.LastIndexByte(b, ')')+1:], []byte(" "))
	return ok && len(after) > 0 && after[0] == 'R'
}
