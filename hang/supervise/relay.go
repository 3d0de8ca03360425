//go:build linux

package supervise

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/fpstack/fpstack/procfs"
)

// Relay passes the signals that we get on to the command: who started us in its place sends them to us. Those that come
// before the command is known are kept for it. Any goroutine may call its methods; the zero Relay is ready.
type Relay struct {
	mu      sync.Mutex
	command *Command
	signals []os.Signal // not passed on yet
}

// PassedOn are the signals, beside those that end what we do, that a command gets which we get: what programs give
// a meaning of their own. Those that were to be ignored stay so.
func PassedOn() []os.Signal {
	var signals []os.Signal
	for _, s := range []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2} {
		if !signal.Ignored(s) {
			signals = append(signals, s)
		}
	}
	return signals
}

// Pass gives the command s, unless it has it already.
func (r *Relay) Pass(s os.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.command == nil:
		r.signals = append(r.signals, s)
	case s == syscall.SIGINT && r.command.sharesKeys():
	default:
		r.command.process.Signal(s)
	}
}

// To says that the command runs.
func (r *Relay) To(c *Command) {
	r.mu.Lock()
	r.command = c
	signals := r.signals
	r.mu.Unlock()
	for _, s := range signals {
		r.Pass(s)
	}
}

// sharesKeys reports whether the terminal sends Ctrl-C to us and to the command both: we are in its foreground, and
// the command in our process group. A second Ctrl-C means to many programs that they shall end at once.
func (c *Command) sharesKeys() bool {
	ours, err := procfs.ReadStat("/proc", os.Getpid())
	theirs, commandErr := procfs.ReadStat("/proc", c.process.Pid)
	return err == nil && commandErr == nil && ours.Group == theirs.Group && InForeground()
}
