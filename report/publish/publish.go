// Package publish brings what is known of a hang to everybody who is to have it: the log of a job, a folder of files,
// JUnit's XML, and the CI system.
//
// The caller gives the case, the verdict and what happens to the command; it provides how files are written and
// programs are started. Whatever comes is written at once, what matters most first, so that whoever is killed has left
// what was known. That a job has failed is said only when that is certain: a command whose status is 0 in the end has
// succeeded, whatever was captured before.
//
// Nothing waits long for a file that cannot be written; the caller sees to the log (package joblog).
package publish

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/fpstack/fpstack/errand"
	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/report/ci"
	"github.com/fpstack/fpstack/report/folder"
	"github.com/fpstack/fpstack/text"
)

// Options say where a verdict goes besides the log, and how.
type Options struct {
	Folder    string // "" for none
	Variables bool   // the folder has the values of the environment too
	JUnit     string // a file, "" for none
	System    ci.System
	Plain     bool           // the log is no job's, and has no commands of the System
	Show      report.Options // of the log
	// Patience is how long files may take all together, 0: folder.Patience.
	Patience time.Duration
}

// Means are what the caller provides.
type Means struct {
	// Open opens a folder that the user named.
	Open func(path string) (folder.Dir, error)
	// Write writes a file that the user named, whole or not at all.
	Write func(path string, write func(io.Writer) error) error
	// Helper starts a program, as exec.Cmd.Start does.
	Helper func(*exec.Cmd) error
	// Complain tells a person what could not be done.
	Complain func(error)
	Getenv   ci.Getenv
}

// Fate is what happens to the command that a case is of.
type Fate int

// The fates.
const (
	GoesOn Fate = iota // it was captured, and nothing else happens to it
	Ends               // we end it: that is an error, whatever its status
	Open               // somebody wants it to end: its status tells, see [Report.Ended]
)

// Report is what is written of one case. It is for one goroutine.
type Report struct {
	o      *Options
	m      *Means
	folder *folder.Folder // nil if there is none
	seen   map[int]bool   // processes whose first dump is stored
	later  func(status int)
}

// New makes the folder, if one is wanted. Without it the rest is written.
func New(o *Options, m *Means) *Report {
	if m.Helper == nil {
		m.Helper = (*exec.Cmd).Start
	}
	r := &Report{o: o, m: m, seen: map[int]bool{}}
	if o.Folder == "" {
		return r
	}
	made, err := folder.Create(func() (folder.Dir, error) {
		path, err := filepath.Abs(o.Folder)
		if err != nil {
			return nil, err
		}
		return m.Open(path)
	}, folder.Options{Patience: o.Patience})
	if err != nil {
		m.Complain(fmt.Errorf("create report %q: %w", o.Folder, err))
		return r
	}
	r.folder = made
	return r
}

// Folder is where its files are, nil if there is none.
func (r *Report) Folder() *folder.Folder { return r.folder }

// Finish writes the case everywhere: to the log, the best first, and what tells a CI system that the job has failed if
// that is certain. The test of JUnit is named after command; nil for none.
func (r *Report) Finish(log io.Writer, c *hang.Case, v *hang.Verdict, command []string, fate Fate) error {
	shown := r.log(c, v, r.o.Show)
	if r.commands() == ci.None {
		shown.Groups = shown.Groups[:1] // the rest is for a report
	}
	annotations := ci.Annotations(c, v, r.sources().Find(c, v))
	if fate == GoesOn && command != nil { // a command that may succeed yet
		annotations = ci.AtMost(annotations, ci.Warning)
	}
	if fate != Open {
		shown.Annotations = annotations
	}
	err := ci.WriteLog(log, r.commands(), shown)
	l := r.log(c, v, report.Options{Group: true}) // without colours
	l.Annotations = annotations
	r.store(c, v, l)
	test := r.test(c, v, command, l)
	if test != nil && fate != GoesOn {
		r.writeJUnit(test)
	}
	r.publish(log, l, fate)
	if fate == Open {
		r.later = func(status int) { r.tell(log, l, test, status) }
	}
	return err
}

// Ended says how the command has ended, whose fate was open.
func (r *Report) Ended(status int) {
	if r.later != nil {
		r.later(status)
	}
}

// tell tells the CI system what came of a command.
func (r *Report) tell(log io.Writer, l *ci.Log, test *ci.Test, status int) {
	if status == 0 {
		l.Annotations = ci.AtMost(l.Annotations, ci.Notice)
		if test != nil {
			test.Error = ""
			r.writeJUnit(test)
		}
	}
	if err := ci.WriteAnnotations(log, r.commands(), l); err != nil {
		r.m.Complain(err)
	}
	r.annotate(l)
}

// Passed says in the file of JUnit that the command ended by itself.
func (r *Report) Passed(command []string, began time.Time) {
	if r.o.JUnit != "" {
		r.writeJUnit(&ci.Test{Name: strings.Join(command, " "), Time: began, Seconds: time.Since(began).Seconds()})
	}
}

// commands is the system whose commands the log has.
func (r *Report) commands() ci.System {
	if r.o.Plain {
		return ci.None
	}
	return r.o.System
}

func (r *Report) sources() *ci.Sources {
	dir := ci.Workspace(r.m.Getenv)
	return &ci.Sources{Dir: dir, Has: func(path string) bool {
		info, err := os.Stat(filepath.Join(dir, path))
		return err == nil && info.Mode().IsRegular()
	}}
}

// log is what a job's log, or a summary, has of the case.
func (r *Report) log(c *hang.Case, v *hang.Verdict, show report.Options) *ci.Log {
	return &ci.Log{Title: ci.Title(v), Token: "fpstack-" + rand.Text(), Now: time.Now(),
		Verdict: func(w io.Writer) error { return report.VerdictText(w, v, show) },
		Groups: []ci.Group{{Title: "Stacks", Text: func(w io.Writer) error { return report.HangStacks(w, c, v, show) }},
			{Title: "Processes", Text: func(w io.Writer) error { return report.HangFacts(w, c, show) }}}}
}

// test is the case as JUnit has it, nil if nobody wants that.
func (r *Report) test(c *hang.Case, v *hang.Verdict, command []string, l *ci.Log) *ci.Test {
	if r.o.JUnit == "" || command == nil {
		return nil
	}
	test := &ci.Test{Name: strings.Join(command, " "), Time: c.Began, Verdict: l.Verdict}
	if !c.Began.IsZero() {
		test.Seconds = c.Triggered.Sub(c.Began).Seconds()
	}
	if v.Kind.Hung() || c.Trigger.Kind != hang.Asked {
		test.Error = ci.Outcome(c, v)
	}
	return test
}

// writeJUnit writes the file of JUnit.
func (r *Report) writeJUnit(test *ci.Test) {
	err := r.timed(func() error {
		return r.m.Write(r.o.JUnit, func(w io.Writer) error { return ci.WriteJUnit(w, test) })
	})
	if err != nil {
		r.complain("write JUnit "+text.Quote(r.o.JUnit), err)
	}
}

// timed calls what writes to a file that may not answer.
func (r *Report) timed(write func() error) error {
	return errand.Within(cmp.Or(r.o.Patience, folder.Patience)/2, write)
}

// complain says what could not be done, where the error does not.
func (r *Report) complain(what string, err error) {
	if errors.Is(err, errand.ErrNoAnswer) {
		err = fmt.Errorf("%s: %w", what, err)
	}
	r.m.Complain(err)
}
