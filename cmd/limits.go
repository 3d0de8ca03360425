package cmd

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fpstack/fpstack/hang/supervise"
	"github.com/fpstack/fpstack/procfs"
)

// limitError says that a limit of this program is too small for it.
type limitError struct {
	what   string
	remedy string
}

func (e *limitError) Error() string { return e.what }

// leastSpace is the address space that a dump or a recording reserves, bytes: Go's runtime, our mappings, and threads.
// With less, at some sizes, the runtime ends before any code of ours runs: see package early.
const leastSpace = 1400<<20 + threadSpace

const (
	// leastData is the private memory that a small dump takes, bytes. With less than 75 MB the runtime ends as above.
	leastData = 96 << 20
	// leastFiles is how many files a dump or a recording of one process opens at a time, and some to spare.
	leastFiles = 24
)

// limitAddressSpace is RLIMIT_AS of linux/include/uapi/asm-generic/resource.h, the same on all our architectures.
const limitAddressSpace = 9

// checkLimits refuses to begin where a limit is too small or /proc is not ours. What only prints a text needs neither.
func (a *app) checkLimits(c *cobra.Command, args []string) error {
	switch c.Name() {
	case "version", "man", "help", "completion", "bash", "zsh", "fish", "powershell",
		cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		return nil
	}
	err := smallLimit()
	if err == nil {
		err = checkProc(c)
	}
	runs := c.Name() == "run" || a.runs
	switch {
	case err != nil && runs:
		a.complain(err)
		return statusError(supervise.Failed)
	case err == nil && runs:
		a.watchSpace(supervise.Failed)
	case err == nil:
		a.watchSpace(2)
	}
	return err
}

// smallLimit returns now which limit would end this program in the middle, by Go's runtime.
func smallLimit() error {
	var most syscall.Rlimit
	if syscall.Getrlimit(limitAddressSpace, &most) == nil && most.Cur < leastSpace {
		return &limitError{fmt.Sprintf("the address space is limited to %d MB, and fpstack reserves %d", most.Cur>>20,
			leastSpace>>20),
			"Run it without that limit: (ulimit -v unlimited; fpstack …), or without LimitAS= in the unit. " +
				"It reserves addresses, not memory."}
	}
	if syscall.Getrlimit(syscall.RLIMIT_DATA, &most) == nil && most.Cur < leastData {
		return &limitError{fmt.Sprintf("the data segment is limited to %d MB, and fpstack needs %d", most.Cur>>20,
			leastData>>20),
			"Run it without that limit: (ulimit -d unlimited; fpstack …), or without LimitDATA= in the unit."}
	}
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &most) == nil {
		if free := freeFiles(); free < leastFiles {
			return &limitError{fmt.Sprintf("fpstack may open %d more files (of %d), and needs %d", free, most.Cur,
				leastFiles),
				fmt.Sprintf("Run it with a higher limit: (ulimit -n %d; fpstack …), or LimitNOFILE= in the unit.",
					max(1024, most.Cur+leastFiles))}
		}
	}
	return nil
}

// freeFiles counts, up to leastFiles, how many files we may still open.
func freeFiles() int {
	var fds []int
	for len(fds) < leastFiles {
		fd, err := syscall.Dup(0)
		if err != nil {
			break
		}
		fds = append(fds, fd)
	}
	for _, fd := range fds {
		syscall.Close(fd)
	}
	return len(fds)
}

// filesRemedy is the remedy where a limit on open files was reached nonetheless.
func filesRemedy(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return "fpstack may open no more files: raise its limit (ulimit -n, LimitNOFILE=)."
	case errors.Is(err, syscall.ENFILE):
		return "The machine has no more open files (fs.file-max)."
	}
	return ""
}

// checkProc refuses to use a /proc that is not ours: its ids mean other processes.
func checkProc(c *cobra.Command) error {
	switch c.Name() {
	case "fpstack", "dump":
		words := c.Flags().Args()
		if len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return !isFile(word) }) {
			return nil // it reads files alone
		}
	case "record", "top", "run", "agent", "perf-map":
	default: // of files as well, or see below
		return nil
	}
	if c.Flags().Changed("version") {
		return nil
	}
	return foreignProc()
}

// foreignProc is why no process can be meant by its id: /proc is of another pid namespace. Without /proc each command
// says so itself.
func foreignProc() error {
	var foreign *procfs.ForeignError
	if err := procfs.CheckOwn("/proc"); errors.As(err, &foreign) {
		return err
	}
	return nil
}

// meansProcesses is foreignProc for commands that need no process, if they are given some.
func (o *processOptions) meansProcesses() error {
	if len(o.pids) == 0 && len(o.byName) == 0 {
		return nil
	}
	return foreignProc()
}
