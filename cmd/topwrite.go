package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/fpstack/fpstack/profile"
)

// topEnding is the one of the name that w proposes.
const topEnding = ".html"

// topWrite stores what top has seen, in the form that the ending of the name says, and returns where. The name that
// was proposed gets a number if it is taken.
func (a *app) topWrite(o *topOptions, name string, p *profile.Profile) (path string, err error) {
	to := destination{path: name, form: formOfFile(name)}
	if to.form == nil {
		return "", fmt.Errorf("%q: its ending is not that of a format: want %s", name, allEndings())
	}
	if name == o.stem()+topEnding {
		to.stem = o.stem()
	}
	v, err := newView(p, nil, false, &viewOptions{}, func(string) {})
	if err != nil {
		return "", err
	}
	return a.store(&to, func(w io.Writer) error { return to.form.write(w, v) })
}

// stem begins the name that w proposes.
func (o *topOptions) stem() string {
	if len(o.pids) > 0 {
		return recordStem(o.pids, nil)
	}
	return "fpstack-top"
}

// startTopped starts the command that top is to watch. Beside a live table it gets
// /dev/null for what would be the terminal: two programs cannot use that at once.
func startTopped(argv []string, live bool, oom oomScore) (*child, error) {
	files := []uintptr{0, 1, 2}
	if !live {
		return startChildWith(argv, files, oom)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	for i, fd := range files {
		if isatty.IsTerminal(fd) {
			files[i] = null.Fd()
		}
	}
	return startChildWith(argv, files, oom)
}

// startStatus is the exit status for a command that could not be started.
func startStatus(err error) int {
	var s *startError
	if errors.As(err, &s) {
		return s.status
	}
	return statusOurs
}

// endTopped ends the command that top started, as a terminal that closes would, and tells if
// it does not end.
func (a *app) endTopped(c *child) {
	const patience = 2 * time.Second
	select {
	case <-c.ended:
		return
	default:
	}
	syscall.Kill(c.process.Pid, syscall.SIGTERM)
	select {
	case <-c.ended:
	case <-time.After(patience):
		a.complain(fmt.Errorf("process %d, which top started, still runs after SIGTERM", c.process.Pid))
	}
}
