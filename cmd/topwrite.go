package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/fpstack/fpstack/hang/supervise"
	"github.com/fpstack/fpstack/profile"
)

// topEnding is the one of the name that w proposes.
const topEnding = ".html"

// topWrite stores what top has seen, in the form that the ending of the name says, and returns where. The name that
// was proposed gets a number if it is taken.
func (a *app) topWrite(o *topOptions, name string, p *profile.Profile) (path string, err error) {
	to := destination{path: name, form: formOfFile(name)}
	if to.form == nil {
		return "", fmt.Errorf("%q: unknown file ending: want %s", name, allEndings())
	}
	if name == o.stem()+topEnding {
		to.stem = o.stem()
	}
	v, err := newView(p, nil, false, &viewOptions{fold: o.fold}, func(string) {})
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
func (a *app) startTopped(argv []string, live bool) (*supervise.Command, error) {
	files := []uintptr{0, 1, 2}
	if !live {
		return a.start(argv, files)
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
	return a.start(argv, files)
}

// startStatus is the exit status for a command that could not be started.
func startStatus(err error) int {
	var s *supervise.StartError
	if errors.As(err, &s) {
		return s.Status
	}
	return supervise.Failed
}

// endTopped ends the command that top started, and says if it does not end.
func (a *app) endTopped(c *supervise.Command) {
	const patience = 2 * time.Second
	if err := c.End(patience); err != nil {
		a.complain(fmt.Errorf("end command that top started: %w", err))
	}
}
