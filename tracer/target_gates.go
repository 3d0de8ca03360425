//go:build linux

package tracer

import (
	"fmt"
	"strconv"

	"github.com/fpstack/fpstack/procfs/procfile"
)

// PermissionError says that the kernel refused to let us inspect a process. Why it did, and what
// can be done, is found from other facts, by package doctor.
type PermissionError struct {
	PID       int
	Comm      string // "" if unknown
	Operation string // "seize", "open memory of"
	Err       error  // what the kernel said

	Hidden      bool // the process lives but /proc does not show it
	CallRefused bool // ptrace is not refused as such, and process_vm_readv(2) is, as is the memory's file
}

func (e *PermissionError) Error() string {
	if e.Hidden {
		return fmt.Sprintf("%s process %d: %v (hidden in /proc)", e.Operation, e.PID, e.Err)
	}
	return fmt.Sprintf("%s process %d %q: %v", e.Operation, e.PID, e.Comm, e.Err)
}

func (e *PermissionError) Unwrap() error { return e.Err }

// permissionError says that cause was the answer to operation op. root is the proc file system.
func permissionError(root string, pid int, op string, cause error) *PermissionError {
	e := &PermissionError{PID: pid, Operation: op, Err: cause}
	if st, err := procfile.Status(root + "/" + strconv.Itoa(pid) + "/status"); err == nil {
		e.Comm = st.Name
	}
	return e
}
