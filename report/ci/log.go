package ci

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fpstack/fpstack/text"
)

// Log is what a job's log gets, in this order.
type Log struct {
	// Title is ours, in one line, as "fpstack: deadlock".
	Title string
	// Verdict has names of the target, escaped as package report does.
	Verdict     func(io.Writer) error
	Annotations []Annotation // two at most are written
	Groups      []Group
	// Token is a word that nobody who wrote the target's names could guess.
	Token string
	Now   time.Time
}

// Group is text that the log folds away where it can. Its title is ours, its text as that of the verdict.
type Group struct {
	Title string
	Text  func(io.Writer) error
}

// File is one that was written, by an absolute path.
type File struct {
	Kind FileKind
	Path string
}

// FileKind is what a file is for a CI system.
type FileKind string

// The kinds of files.
const (
	Report   FileKind = "report" // the folder
	Markdown FileKind = "markdown"
	JUnitXML FileKind = "junit"
)

// maxGroups bounds what the log of a CI system gets besides the verdict, in bytes: GitLab cuts the log of a whole job
// at 4 MiB, and what comes first in it is the job's own.
const maxGroups = 256 << 10

// maxAnnotations of one report: GitHub and Azure show ten of a step.
const maxAnnotations = 2

// WriteLog writes l for s: the verdict, annotations, then the groups. It fails where w does, or a function of l.
func WriteLog(w io.Writer, s System, l *Log) error {
	out := &logWriter{form: s.form(l.Token, l.Now), left: -1}
	out.group(l.Title, true, l.Verdict)
	out.annotations(l.Annotations)
	if s != None {
		out.left = maxGroups
	}
	for _, g := range l.Groups {
		out.group(g.Title, false, g.Text)
	}
	return out.end(w)
}

// WriteAnnotations writes those of l alone for s.
func WriteAnnotations(w io.Writer, s System, l *Log) error {
	out := &logWriter{form: s.form(l.Token, l.Now)}
	out.annotations(l.Annotations)
	if out.text.Len() == 0 {
		return nil
	}
	return out.end(w)
}

// WriteFiles says which files were written, the folder first, and hands them to s, which must find them complete.
func WriteFiles(w io.Writer, s System, files []File) error {
	out := &logWriter{form: s.form("", time.Time{})}
	_, _, harmless := out.form.shield()
	for _, f := range files {
		path := oneLine(f.Path)
		if f.Kind == Report {
			out.line("report: " + harmless(path))
		}
		out.line(out.form.file(f.Kind, path))
	}
	return out.end(w)
}

// logWriter keeps the first error. All is written at once: others may write lines to the same log.
type logWriter struct {
	text bytes.Buffer
	form form
	left int // bytes that groups may have still, below 0 for any
	err  error
}

// end writes it to w.
func (o *logWriter) end(w io.Writer) error {
	if o.err == nil {
		_, o.err = w.Write(o.text.Bytes())
	}
	if o.err != nil {
		return fmt.Errorf("write log: %w", o.err)
	}
	return nil
}

// annotations writes the first of them.
func (o *logWriter) annotations(all []Annotation) {
	for i := range min(len(all), maxAnnotations) {
		a := all[i]
		a.Title, a.Text, a.Place.File = oneLine(a.Title), oneLine(a.Text), oneLine(a.Place.File)
		o.line(o.form.annotation(&a))
	}
}

// line writes one line, nothing for "".
func (o *logWriter) line(s string) {
	if s == "" || o.err != nil {
		return
	}
	o.text.WriteString(s + "\n")
}

// group writes text between the lines of a group.
func (o *logWriter) group(title string, open bool, write func(io.Writer) error) {
	if o.err != nil || write == nil {
		return
	}
	var body bytes.Buffer
	if o.err = write(&body); o.err != nil || body.Len() == 0 {
		return
	}
	before, after := o.form.group(title, open)
	shielded, resumed, harmless := o.form.shield()
	o.line(before)
	o.line(shielded)
	lines := strings.Split(strings.TrimSuffix(body.String(), "\n"), "\n")
	for i, l := range lines {
		l = harmless(l)
		if o.left >= 0 && len(l)+1 > o.left {
			o.line("… " + text.Count(len(lines)-i, "more line") + ", which the report has")
			o.left = 0
			break
		}
		if o.left >= 0 {
			o.left -= len(l) + 1
		}
		o.text.WriteString(l + "\n")
	}
	o.line(resumed)
	o.line(after)
}
