package cmd

import (
	"os/signal"
	"slices"
	"syscall"

	"github.com/fpstack/fpstack/early"
)

// given are the standard files that this program was given, for a command that is to have the same: one that was
// closed is closed for the command.
func given() []uintptr {
	const closed = ^uintptr(0)
	files := []uintptr{0, 1, 2}
	for fd := range files {
		if early.Closed(fd) {
			files[fd] = closed
		}
	}
	return files
}

// ours are signals that Go's runtime lives by, or we: ignored ones are at their default for a command.
var ours = []syscall.Signal{syscall.SIGCHLD, syscall.SIGURG, syscall.SIGCONT, syscall.SIGSEGV, syscall.SIGBUS,
	syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGSYS, syscall.SIGABRT}

// keepIgnored ignores the signals that were ignored when this program began, as a command is to ignore them.
func keepIgnored() {
	for s := syscall.Signal(1); s < 32; s++ {
		if early.Ignored(int(s)) && !slices.Contains(ours, s) {
			signal.Ignore(s)
		}
	}
}
