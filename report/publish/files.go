package publish

import (
	"fmt"
	"io"
	"strconv"

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

// Facts stores what is known before the first stop.
func (r *Report) Facts(c *hang.Case) {
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
	if r.o.Variables {
		for i := range c.Processes {
			r.environment(&c.Processes[i])
		}
	}
}

// environment stores the environment of a process with its values.
func (r *Report) environment(p *hang.Process) {
	const most = 1 << 20
	variables := procfs.ParseStrings(procfs.Read("/proc/"+strconv.Itoa(p.PID)+"/environ", most))
	r.folder.Keep(Stem(p.PID, p.Name)+".env", true, func(w io.Writer) error {
		for _, v := range variables {
			if _, err := io.WriteString(w, text.Message(v)+"\n"); err != nil {
				return err
			}
		}
		return nil
	})
}

// Sampled stores the first dump of a process, and what was saved of it, nil for nothing.
func (r *Report) Sampled(d *profile.Dump, saved []byte) {
	if r.folder == nil || r.seen[d.Process.PID] {
		return
	}
	r.seen[d.Process.PID] = true
	stem := Stem(d.Process.PID, d.Process.Comm)
	r.folder.Keep(stem+".txt", false, func(w io.Writer) error {
		return report.Text(w, d, report.Options{Group: true, All: true}) // the folder has what the log leaves out
	})
	if len(saved) > 0 {
		r.folder.Keep(stem+".snap", true, func(w io.Writer) error {
			_, err := w.Write(saved)
			return err
		})
	}
}

// Stem is how the names of the files of a process begin.
func Stem(pid int, name string) string { return strconv.Itoa(pid) + "-" + text.FileName(name) }

// store writes the files of the report.
func (r *Report) store(c *hang.Case, v *hang.Verdict, l *ci.Log) {
	if r.folder == nil {
		return
	}
	r.StoreText(c, v)
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
	if r.o.System == ci.Azure {
		r.folder.Put("hang.md", func(w io.Writer) error { return ci.WriteSummary(w, l, 0) })
	}
	if len(r.folder.Remarks()) > 0 {
		r.folder.Put("hang.txt", r.textFile(c, v, true), r.textFile(c, v, false))
	}
	if err := r.folder.Err(); err != nil {
		r.m.Complain(err)
	}
}

// StoreText writes the files that say all, again where c has changed. Without a folder it does nothing.
func (r *Report) StoreText(c *hang.Case, v *hang.Verdict) {
	if r.folder == nil {
		return
	}
	r.folder.Put("hang.txt", r.textFile(c, v, true), r.textFile(c, v, false))
	r.folder.Put("hang.json", document(c, v, report.Options{}), document(c, v, report.Options{Compact: true}),
		document(c, v, report.Options{NoDumps: true}))
}

// document writes hang.json.
func document(c *hang.Case, v *hang.Verdict, opt report.Options) func(io.Writer) error {
	return func(w io.Writer) error { return report.HangJSON(w, c, v, opt) }
}

// textFile writes hang.txt.
func (r *Report) textFile(c *hang.Case, v *hang.Verdict, stacks bool) func(io.Writer) error {
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
