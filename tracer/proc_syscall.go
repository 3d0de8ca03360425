//go:build linux

package tracer

import (
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// ParseSyscall reads the text of /proc/TID/syscall. It is nil without an error for a thread
// that runs: the kernel shows nothing of it then.
//
// A call that was restarted after a stop shows as restart_syscall (219 on amd64).
// Source: proc_pid_syscall(5).
func ParseSyscall(b []byte) (*snapshot.Syscall, error) {
	f := strings.Fields(string(b))
	if len(f) == 1 && f[0] == "running" {
		return nil, nil
	}
	if len(f) != 9 && len(f) != 3 {
		return nil, malformed("syscall", string(b))
	}
	n, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil || (len(f) == 3) != (n == -1) {
		return nil, malformed("syscall", string(b))
	}
	var words [8]uint64
	for i, text := range f[1:] {
		digits, ok := strings.CutPrefix(text, "0x")
		if words[i], err = strconv.ParseUint(digits, 16, 64); err != nil || !ok {
			return nil, malformed("syscall", string(b))
		}
	}
	c := &snapshot.Syscall{Number: n}
	last := len(f) - 3
	copy(c.Args[:], words[:last])
	c.SP, c.PC = mem.Addr(words[last]), mem.Addr(words[last+1])
	return c, nil
}
