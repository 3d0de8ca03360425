package cmd

import (
	"fmt"
	"os"

	"github.com/fpstack/fpstack/hang/job"
	"github.com/fpstack/fpstack/hang/supervise"
	"github.com/fpstack/fpstack/text"
	"github.com/fpstack/fpstack/tracer"
)

// Started implements [job.Observer].
func (r *runner) Started(h job.Helper) { go r.preflight(h) }

// preflight says now if the command could not be sampled when it hangs: nobody reads that afterwards. It tries with a
// process of our own that waits for its input, which is thrown away; the command is left alone. What goes wrong here
// is no reason to disturb the job.
func (r *runner) preflight(helper job.Helper) {
	read, write, err := os.Pipe()
	if err != nil {
		return
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		read.Close()
		write.Close()
		return
	}
	var victim *supervise.Command
	err = helper(func() (pid int, err error) {
		victim, err = r.start([]string{"/proc/self/exe", "flame", "-"}, []uintptr{read.Fd(), null.Fd(), null.Fd()})
		if err == nil {
			pid = victim.PID()
		}
		return pid, err
	})
	read.Close()
	null.Close()
	if err == nil {
		if refused := tracer.Try(victim.PID()); refused != nil && !hasEnded(refused) {
			line := "its stacks could not be shown if it hangs: " + refused.Error()
			if r := remedy(refused); r != "" {
				line += ". " + r
			}
			fmt.Fprintf(r.stderr, "fpstack: %s\n", text.Message(line))
		}
	}
	write.Close() // and so it ends
	if err == nil {
		victim.Wait()
	}
}
