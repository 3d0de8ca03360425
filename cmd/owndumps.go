package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/hang/supervise"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report/folder"
	"github.com/fpstack/fpstack/report/publish"
	"github.com/fpstack/fpstack/text"
)

// forOwnDump is how long a runtime may take for its own dump.
const forOwnDump = 2 * time.Second

// quitRuntimes has the runtimes of a case write their own dumps, as the last thing that is done to them: a Go program
// ends by it. sent says that one got the signal.
func (r *runner) quitRuntimes(c *hang.Case, to *publish.Report) (sent bool) {
	if len(c.Moments) == 0 {
		return false
	}
	for _, d := range c.Moments[len(c.Moments)-1].Dumps {
		if !dumpsItself(d) {
			continue
		}
		who := fmt.Sprintf("%s (%d)", text.Message(d.Process.Comm), d.Process.PID)
		output, err := supervise.OwnDump(d.Process.PID, forOwnDump)
		sent = sent || err == nil
		switch {
		case errors.Is(err, supervise.ErrNoHandler):
		case err != nil:
			r.complain(err)
		case len(output) > 0 && to.Folder() != nil:
			name := publish.Stem(d.Process.PID, d.Process.Comm) + ".runtime.txt"
			to.Folder().Keep(name, false, func(w io.Writer) error {
				_, err := io.Copy(w, bytes.NewReader(output))
				return err
			})
			path := filepath.Join(to.Folder().Path(), folder.Details, name)
			r.Say(fmt.Sprintf("the own dump of %s is in %s", who, path))
		default:
			r.Say(fmt.Sprintf("%s writes its own dump to its output", who))
		}
	}
	return sent
}

// dumpsItself reports whether a process is one of a runtime that writes a dump of its own at SIGQUIT: Java's or Go's.
func dumpsItself(d *profile.Dump) bool {
	for i := range d.Modules {
		m := &d.Modules[i]
		if filepath.Base(m.Path) == "libjvm.so" || m.Path == d.Process.Exe && slices.Contains(m.Symbols, "pclntab") {
			return true
		}
	}
	return false
}
