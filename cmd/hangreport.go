package cmd

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/flame"
	"github.com/fpstack/fpstack/flame/page"
	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/report/ci"
	"github.com/fpstack/fpstack/report/folder"
	"github.com/fpstack/fpstack/text"
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
	o.ci = choice{"NAME", "auto", []word{{"auto", "the CI system that the environment shows"},
		{"none", "plain text"}, {"github", "GitHub Actions: annotations, step summary, groups"},
		{"gitlab", "GitLab: sections"}, {"azure", "Azure Pipelines: issues, summary, groups"},
		{"teamcity", "TeamCity: build problem, blocks, artifacts"},
		{"buildkite", "Buildkite: groups, annotation"}}}
	f.StringVar(&o.folder, "report", "", "also write text, JSON, a flame graph and saved stacks in folder `DIR`; one "+
		"that has a report gets a numbered folder below it")
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

// system is the CI system whose commands are written.
func (o *reportOptions) system() ci.System {
	if o.ci.word == "auto" {
		return ci.Detect(os.Getenv)
	}
	return ci.System(o.ci.word)
}

// hangReport writes what is known of one case.
type hangReport struct {
	*app
	o      *reportOptions
	system ci.System
	folder *folder.Folder // nil if there is none
	show   report.Options // of the log
	plain  bool           // the log is no job's
	seen   map[int]bool   // processes whose first dump is stored
}

// newHangReport makes the folder, if one is wanted. Without it the rest is written.
func (a *app) newHangReport(o *reportOptions) *hangReport {
	colour := newColour()
	r := &hangReport{app: a, o: o.withDefaults(), seen: map[int]bool{},
		show: report.Options{Group: true, Width: terminalWidth(a.stderr), Style: colour.style(a.stderr)}}
	r.system = r.o.system()
	if r.o.folder == "" {
		return r
	}
	a.saves.Private = true
	made, err := folder.Create(r.o.folder, &a.files, &a.saves, folder.Options{})
	if err != nil {
		a.complain(err)
		return r
	}
	r.folder = made
	return r
}

// facts stores what is known before the first stop.
func (r *hangReport) facts(c *hang.Case) {
	if r.folder == nil {
		return
	}
	r.folder.Put("hang.txt", func(w io.Writer) error {
		const unfinished = "no verdict: fpstack was still sampling when it wrote this. The stacks of the processes " +
			"that were done are in the folder " + folder.Details + ".\n\n"
		if _, err := io.WriteString(w, unfinished); err != nil {
			return err
		}
		return report.HangFacts(w, c, report.Options{Verbose: true})
	})
	r.folder.Put("hang.json", document(c, nil, report.Options{}))
	if r.o.variables {
		for i := range c.Processes {
			r.environment(&c.Processes[i])
		}
	}
}

// environment stores the environment of a process with its values.
func (r *hangReport) environment(p *hang.Process) {
	const most = 1 << 20
	variables := procfs.ParseStrings(procfs.Read("/proc/"+strconv.Itoa(p.PID)+"/environ", most))
	r.folder.KeepPrivate(fileStem(p.PID, p.Name)+".env", func(w io.Writer) error {
		for _, v := range variables {
			if _, err := io.WriteString(w, text.Message(v)+"\n"); err != nil {
				return err
			}
		}
		return nil
	})
}

// sampled stores the first dump of a process, and what was saved of it, nil for nothing.
func (r *hangReport) sampled(d *profile.Dump, saved []byte) {
	if r.folder == nil || r.seen[d.Process.PID] {
		return
	}
	r.seen[d.Process.PID] = true
	stem := fileStem(d.Process.PID, d.Process.Comm)
	r.folder.Keep(stem+".txt", func(w io.Writer) error { return report.Text(w, d, report.Options{Group: true}) })
	if len(saved) > 0 {
		r.folder.KeepPrivate(stem+".snap", func(w io.Writer) error {
			_, err := w.Write(saved)
			return err
		})
	}
}

// fileStem names the files of a process.
func fileStem(pid int, name string) string { return strconv.Itoa(pid) + "-" + plainName(name) }

// finish writes the case to the log and everywhere else: the best first. The test of JUnit is named after command; nil
// for none.
func (r *hangReport) finish(log io.Writer, c *hang.Case, v *hang.Verdict, command []string) error {
	shown := r.log(c, v, r.show)
	if r.commands() == ci.None {
		shown.Groups = shown.Groups[:1] // the rest is for a report
	}
	err := ci.WriteLog(log, r.commands(), shown)
	l := r.log(c, v, report.Options{Group: true}) // without colours
	r.store(c, v, l)
	if r.o.junit != "" && command != nil {
		test := &ci.Test{Name: strings.Join(command, " "), Time: c.Began, Verdict: l.Verdict}
		if !c.Began.IsZero() {
			test.Seconds = c.Triggered.Sub(c.Began).Seconds()
		}
		if v.Kind.Hung() || c.Trigger.Kind != hang.Asked {
			test.Error = ci.Outcome(c, v)
		}
		r.writeJUnit(test)
	}
	r.publish(log, l)
	return err
}

// commands is the system whose commands the log has.
func (r *hangReport) commands() ci.System {
	if r.plain {
		return ci.None
	}
	return r.system
}

// log is what a job's log, or a summary, has of the case.
func (r *hangReport) log(c *hang.Case, v *hang.Verdict, show report.Options) *ci.Log {
	sources := ci.Sources{Dir: ci.Workspace(os.Getenv), Has: func(path string) bool {
		info, err := os.Stat(filepath.Join(ci.Workspace(os.Getenv), path))
		return err == nil && info.Mode().IsRegular()
	}}
	return &ci.Log{Title: ci.Title(v), Token: "fpstack-" + rand.Text(), Now: time.Now(),
		Annotations: ci.Annotations(c, v, sources.Find(c, v)),
		Verdict:     func(w io.Writer) error { return report.VerdictText(w, v, show) },
		Groups: []ci.Group{{Title: "Stacks", Text: func(w io.Writer) error { return report.HangStacks(w, c, v, show) }},
			{Title: "Processes", Text: func(w io.Writer) error { return report.HangFacts(w, c, show) }}}}
}

// store writes the files of the report.
func (r *hangReport) store(c *hang.Case, v *hang.Verdict, l *ci.Log) {
	if r.folder == nil {
		return
	}
	r.storeText(c, v)
	if n := len(c.Moments); n > 0 && len(c.Moments[n-1].Dumps) > 0 {
		p := profile.FromDumps(c.Moments[n-1].Dumps...)
		r.folder.Put("hang.folded", func(w io.Writer) error {
			return flame.WriteFolded(w, p, flame.FoldedOptions{Type: -1, Threads: true})
		})
		picture := page.Options{Threads: true, Waits: true, Title: l.Title}
		static := picture
		static.Static = true
		r.folder.Put("hang.svg", func(w io.Writer) error { return page.SVG(w, p, picture) },
			func(w io.Writer) error { return page.SVG(w, p, static) })
	}
	if r.system == ci.Azure {
		r.folder.Put("hang.md", func(w io.Writer) error { return ci.WriteSummary(w, l, 0) })
	}
	if len(r.folder.Remarks()) > 0 {
		r.folder.Put("hang.txt", r.textFile(c, v, true), r.textFile(c, v, false))
	}
	if err := r.folder.Err(); err != nil {
		r.complain(err)
	}
}

// storeText writes the files that say all.
func (r *hangReport) storeText(c *hang.Case, v *hang.Verdict) {
	r.folder.Put("hang.txt", r.textFile(c, v, true), r.textFile(c, v, false))
	r.folder.Put("hang.json", document(c, v, report.Options{}), document(c, v, report.Options{Compact: true}),
		document(c, v, report.Options{NoDumps: true}))
}

// document writes hang.json.
func document(c *hang.Case, v *hang.Verdict, opt report.Options) func(io.Writer) error {
	return func(w io.Writer) error { return report.HangJSON(w, c, v, opt) }
}

// textFile writes hang.txt.
func (r *hangReport) textFile(c *hang.Case, v *hang.Verdict, stacks bool) func(io.Writer) error {
	remarks := r.folder.Remarks()
	return func(w io.Writer) error {
		show := report.Options{Group: true}
		if err := report.VerdictText(w, v, show); err != nil {
			return err
		}
		for _, line := range remarks {
			if _, err := fmt.Fprintf(w, "  ! %s\n", line); err != nil {
				return err
			}
		}
		if stacks {
			if err := report.HangStacks(w, c, v, show); err != nil {
				return err
			}
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
		return report.HangFacts(w, c, report.Options{Verbose: true})
	}
}

// writeJUnit writes the file of --junit.
func (r *hangReport) writeJUnit(test *ci.Test) {
	if err := r.files.Write(r.o.junit, func(w io.Writer) error { return ci.WriteJUnit(w, test) }); err != nil {
		r.complain(err)
	}
}
