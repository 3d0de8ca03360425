package errand

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

func gettid() int { return syscall.Gettid() }

// wantsCPU reports whether a thread of ours runs or would, and waits for no file system. tid is 0 where the call has
// not begun. Source: state in proc_pid_stat(5).
func wantsCPU(tid int) bool {
	if tid == 0 {
		return true
	}
	b, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(tid) + "/stat")
	if err != nil {
		return false
	}
	_, after, ok := bytes.Cut(b[bytes.LastIndexByte(b, ')')+1:], []byte(" "))
	return ok && len(after) > 0 && after[0] == 'R'
}
