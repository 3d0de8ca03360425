package cmd

import (
	"fmt"
	"io"

	"github.com/fpstack/fpstack/flame"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
)

// dumpForm is the value of --format of a dump.
func dumpForm() choice {
	return choice{"FORMAT", "text", []word{
		{"text", "for people"},
		{"json", "for programs, a document for each process"},
		{"gdb", "as 'thread apply all bt' of gdb writes it"},
		{"folded", "main;work 3: how many threads have the stack, all processes together"},
		{"pprof", "profile.proto, compressed, all processes together"}}}
}

// dumpSink writes dumps in one form.
type dumpSink interface {
	add(d *profile.Dump) error
	end() error // when all were added, at least one
}

// writeDumps has dumps written to where o says.
func (a *app) writeDumps(o *dumpOptions, form report.Options, write func(dumpSink) error) error {
	if o.sink != nil {
		return write(o.sink)
	}
	return a.writeOutput(o.output, func(w io.Writer) error { return write(dumpWriter(w, form, o.format.word)) })
}

// dumpWriter returns what writes to w in that form.
func dumpWriter(w io.Writer, opt report.Options, form string) dumpSink {
	switch form {
	case "json":
		return &eachDump{w: w, opt: opt, form: report.JSON}
	case "gdb":
		return &eachDump{w: w, opt: opt, form: report.GDB}
	case "folded":
		return &allDumps{skip: opt.SkipFrames, write: func(p *profile.Profile) error {
			return flame.WriteFolded(w, p, flame.FoldedOptions{Type: -1})
		}}
	case "pprof":
		return &allDumps{skip: opt.SkipFrames, write: func(p *profile.Profile) error {
			return flame.WritePprof(w, p, flame.PprofOptions{Version: version()})
		}}
	}
	return &eachDump{w: w, opt: opt, form: report.Text, between: "\n"}
}

// eachDump writes one after the other.
type eachDump struct {
	w       io.Writer
	opt     report.Options
	form    report.Format
	between string
	written bool
}

func (s *eachDump) add(d *profile.Dump) error {
	if s.written && s.between != "" {
		if _, err := fmt.Fprint(s.w, s.between); err != nil {
			return err
		}
	}
	s.written = true
	return s.form(s.w, d, s.opt)
}

func (s *eachDump) end() error { return nil }

// allDumps writes one profile of all.
type allDumps struct {
	dumps []*profile.Dump
	skip  int // innermost physical frames of each stack
	write func(*profile.Profile) error
}

func (s *allDumps) add(d *profile.Dump) error {
	for i := range d.Threads {
		frames := d.Threads[i].Stack.Frames
		for len(frames) > 0 && frames[0].Index < s.skip {
			frames = frames[1:]
		}
		d.Threads[i].Stack.Frames = frames
	}
	for i := range d.FiberStacks {
		frames := d.FiberStacks[i].Stack.Frames
		for len(frames) > 0 && frames[0].Index < s.skip {
			frames = frames[1:]
		}
		d.FiberStacks[i].Stack.Frames = frames
	}
	s.dumps = append(s.dumps, d)
	return nil
}

func (s *allDumps) end() error { return s.write(profile.FromDumps(s.dumps...)) }
