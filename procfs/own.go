package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// ForeignError says that a proc file system is of another pid namespace than ours: its ids mean other processes to the
// kernel when we stop them.
type ForeignError struct{ Self string } // our id there

func (e *ForeignError) Error() string {
	return fmt.Sprintf("/proc is of another pid namespace: it says that this program is process %s, and the "+
		"kernel says %d",
		e.Self, os.Getpid())
}

// CheckOwn fails unless the proc file system at root is of our own pid namespace, with a *ForeignError if it is of
// another. Source: pid_namespaces(7), "/proc and PID namespaces".
func CheckOwn(root string) error {
	self, err := os.Readlink(filepath.Join(root, "self"))
	if err != nil {
		return err
	}
	if self != strconv.Itoa(os.Getpid()) {
		return &ForeignError{self}
	}
	return nil
}
