package cmd

import (
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"
)

// foreignProcError says that /proc shows another pid namespace than ours: its ids mean other processes to the
// kernel when we stop them.
type foreignProcError struct{ self string }

func (e *foreignProcError) Error() string {
	return fmt.Sprintf("/proc is of another pid namespace: it says that this program is process %s, and the kernel says %d", e.self, os.Getpid())
}

// checkProc refuses to look at processes by a /proc that is not ours, before anything is taken for a process that it is
// not. Source: pid_namespaces(7), "/proc and PID namespaces".
func checkProc(c *cobra.Command) error {
	switch c.Name() {
	case "fpstack", "dump", "record", "top":
	default:
		return nil
	}
	if c.Flags().Changed("version") {
		return nil
	}
	self, err := os.Readlink("/proc/self")
	if err != nil || self == strconv.Itoa(os.Getpid()) {
		return nil // without /proc each command says so itself
	}
	return &foreignProcError{self}
}
