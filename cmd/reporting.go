package cmd

import (
	"io"
	"os"
	"os/exec"

	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/hang/job"
	"github.com/fpstack/fpstack/outfile"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/report/ci"
	"github.com/fpstack/fpstack/report/folder"
	"github.com/fpstack/fpstack/report/publish"
)

// reportOptions are the flags that say where a verdict goes besides the terminal.
type reportOptions struct {
	folder    string
	variables bool
	junit     string
	ci        choice
}

// register adds the flags to f.
func (o *reportOptions) register(f *pflag.FlagSet) {
	o.ci = choice{"NAME", "auto", []word{{"auto", "the CI system that the environment shows"}}}
	for _, c := range ci.Systems {
		o.ci.among = append(o.ci.among, word{string(c.System), c.Means})
	}
	f.StringVar(&o.folder, "report", "", "write all facts in folder `DIR`; text, JSON, a flame graph, saved stacks; "+
		"one that has a report gets a numbered folder below it")
	f.BoolVar(&o.variables, "report-env", false, "with --report: also the values of the environment; may hold secrets")
	f.StringVar(&o.junit, "junit", "", "also write the outcome as a JUnit test in `FILE`")
	f.Var(&o.ci, "ci", "commands and annotations of a CI system")
}

// withDefaults returns o with what the environment of a job says about places for results.
func (o *reportOptions) withDefaults() *reportOptions {
	filled := *o
	places := ci.Places(os.Getenv)
	if filled.folder == "" {
		filled.folder = places.Report
	}
	if filled.junit == "" {
		filled.junit = places.JUnit
	}
	return &filled
}

// folderGiven is the circumstance that there is a folder for the report, named by --report or by the environment.
func (o *reportOptions) folderGiven() string {
	if o.withDefaults().folder == "" {
		return ""
	}
	return "report"
}

// system is the CI system whose commands are written.
func (o *reportOptions) system() ci.System {
	if o.ci.word == "auto" {
		return ci.Detect(os.Getenv)
	}
	return ci.System(o.ci.word)
}

// publishing is where a verdict goes, as o says, and how: the log is shown so.
func (o *reportOptions) publishing(show report.Options) *publish.Options {
	all := o.withDefaults()
	return &publish.Options{Folder: all.folder, Variables: all.variables, JUnit: all.junit, System: all.system(),
		Show: show}
}

// means are how files of a report are written, and how programs are started: by helper, nil for no care.
func (a *app) means(helper job.Helper) *publish.Means {
	a.saves.Private = true
	m := &publish.Means{Write: a.files.Write, Complain: a.complain, Getenv: os.Getenv}
	m.Open = func(path string) (folder.Dir, error) {
		d, err := outfile.OpenDir(path)
		return reportDir{d, a}, err
	}
	if helper != nil {
		m.Helper = func(c *exec.Cmd) error {
			return helper(func() (int, error) {
				if err := c.Start(); err != nil {
					return 0, err
				}
				return c.Process.Pid, nil
			})
		}
	}
	return m
}

// reportDir is a folder of a report, of files that a signal to fpstack leaves nothing half-made of.
type reportDir struct {
	*outfile.Dir
	app *app
}

// Make implements [folder.Dir].
func (d reportDir) Make(name string) (folder.Dir, error) {
	made, err := d.Dir.Make(name)
	return reportDir{made, d.app}, err
}

// Write implements [folder.Dir].
func (d reportDir) Write(name string, private bool, write func(io.Writer) error) error {
	files := &d.app.files
	if private {
		files = &d.app.saves
	}
	return files.WriteIn(d.Dir, name, write)
}
