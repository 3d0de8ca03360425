package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// HangFacts writes what the kernel shows of the processes of c without a stop, each below its parent, and why and when
// that was captured. Of opt it heeds Style, Width and Verbose: the names of variables.
func HangFacts(to io.Writer, c *hang.Case, opt Options) error {
	p := &printer{w: bufio.NewWriter(to), dump: &profile.Dump{}, opt: opt}
	p.occasion(c)
	depth := map[int]int{}
	for i := range c.Processes {
		one := &c.Processes[i]
		if at, ok := depth[one.Parent]; ok {
			depth[one.PID] = at + 1
		} else {
			depth[one.PID] = 0
		}
		p.processFacts(one, depth[one.PID])
		p.core(c, one.PID)
	}
	for _, k := range c.Killed {
		p.line(text.Wrap(fmt.Sprintf("process %d %s was ended by %s before, seen at %s", k.PID, text.Escape(k.Name),
			k.Signal, k.Seen.UTC().Format("15:04:05")), p.width(), 4))
	}
	if len(c.Outside) > 0 {
		p.line("outside of these:")
		for i := range c.Outside {
			p.processFacts(&c.Outside[i], 0)
		}
	}
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("write facts: %w", err)
	}
	return nil
}

// core writes where the core of a process is.
func (p *printer) core(c *hang.Case, pid int) {
	for i := range c.Cores {
		if one := &c.Cores[i]; one.PID == pid {
			p.line(text.Wrap("  core: "+Core(one), p.width(), 4))
		}
	}
}

// Core is what a person should know of a core.
func Core(c *hang.Core) string {
	var facts []string
	if c.File != "" {
		facts = append(facts, text.Message(c.File), text.Quantity(float64(c.Written), "bytes"),
			"stopped for "+text.Duration(c.Stopped))
	}
	if c.Unread > 0 {
		facts = append(facts, text.Quantity(float64(c.Unread), "bytes")+" could not be read")
	}
	if c.Left > 0 {
		facts = append(facts, text.Quantity(float64(c.Left), "bytes")+" are left out")
	}
	if c.Problem != "" {
		facts = append(facts, text.Message(c.Problem))
	}
	return strings.Join(facts, ", ")
}

// occasion writes why and when it was captured.
func (p *printer) occasion(c *hang.Case) {
	line := "captured"
	if !c.Triggered.IsZero() {
		line += " " + c.Triggered.UTC().Format(time.RFC3339)
	}
	if !c.Began.IsZero() && c.Triggered.After(c.Began) {
		line += ", " + text.Typed(c.Triggered.Sub(c.Began).Round(time.Second)) + " after the beginning"
	}
	line += ": " + occasions[c.Trigger.Kind]
	if c.Trigger.After > 0 {
		line += " " + text.Typed(c.Trigger.After)
	}
	if c.Trigger.Note != "" {
		line += " (" + text.Message(c.Trigger.Note) + ")"
	}
	p.line(text.Wrap(line, p.width(), 4))
	if len(c.Command) > 0 {
		p.line(text.Wrap("command: "+arguments(c.Command), p.width(), 4))
	}
}

// occasions are the triggers in words.
var occasions = map[hang.TriggerKind]string{
	hang.Asked: "as requested", hang.Warned: "--warn", hang.Deadline: "--deadline", hang.Idle: "--idle",
	hang.SilentIdle: "--idle-output", hang.Signalled: "a signal that ends fpstack",
	hang.ParentEnded: "the program that started fpstack ended",
}

// Occasion says in one line why a command is looked at: the limit that was reached and its value, or the signal that
// came.
func Occasion(t *hang.Trigger, command []string) string {
	line := occasions[t.Kind]
	switch t.Kind {
	case hang.Asked, hang.Signalled:
		line = "got " + t.Note
	case hang.Deadline, hang.Idle, hang.SilentIdle, hang.Warned:
		line += " " + text.Typed(t.After) + " is reached"
	}
	return line + ": looking at what " + arguments(command) + " does"
}

// arguments is a command line, each word quoted that is not plain.
func arguments(args []string) string {
	var b strings.Builder
	for i, arg := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'\\$`;&|<>(){}*?#~!") {
			b.WriteString(text.Quote(arg))
		} else {
			b.WriteString(text.Escape(arg))
		}
		if b.Len() > text.MaxName {
			return b.String() + " …"
		}
	}
	return b.String()
}

// processFacts writes one process, further right for each of its parents.
func (p *printer) processFacts(one *hang.Process, depth int) {
	const most = 16 // deeper ones are as far right
	indent := strings.Repeat("  ", min(depth, most))
	facts := []string{text.Escape(one.State), text.Count(one.Threads, "thread"), "CPU " + text.Duration(one.CPU)}
	if one.ChildCPU > 0 {
		facts = append(facts, "of children "+text.Duration(one.ChildCPU))
	}
	if one.Memory > 0 {
		facts = append(facts, text.Quantity(float64(one.Memory), "bytes"))
	}
	if !one.Started.IsZero() {
		facts = append(facts, "since "+one.Started.UTC().Format("15:04:05"))
	}
	p.wrapped(Heading, fmt.Sprintf("%sprocess %d %s", indent, one.PID, text.Escape(one.Name)),
		"  "+strings.Join(facts, ", "), "")
	more := func(what, value string) {
		if value != "" {
			p.line(text.Wrap(indent+"  "+what+": "+value, p.width(), len(indent)+4))
		}
	}
	more("command", arguments(one.Args))
	more("program", text.Escape(one.Exe))
	more("in", text.Escape(one.Dir))
	more("last output", text.Escape(one.LastOutput))
	more("tokens of make", text.Escape(one.Jobserver))
	for _, f := range one.LockedFiles {
		more("locked by process "+fmt.Sprint(f.Holder), text.Escape(f.Path))
	}
	for _, line := range one.Lines {
		p.line(text.Wrap(indent+"  "+text.Message(line), p.width(), len(indent)+4))
	}
	if p.opt.Verbose {
		more("variables", text.Message(strings.Join(one.Variables, " ")))
	}
}
