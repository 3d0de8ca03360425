package report

import (
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/jsondoc"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// activity is what some threads of an entry do alike.
type activity struct {
	text    string // escaped: state and system call
	threads []*profile.Thread
}

// activities splits threads by what they do. Where few differ each has its call in full; where
// many do (a futex for each worker), calls of one name are one, with "…" for the arguments
// that are not the same.
func (p *printer) activities(threads []*profile.Thread) []activity {
	exact := split(threads, p.exactText)
	if len(exact) <= maxExact || p.opt.Verbose {
		return exact
	}
	merged := split(threads, func(t *profile.Thread) string {
		if t.Syscall == nil {
			return p.exactText(t)
		}
		return fmt.Sprintf("%s %d %d %s", t.State, t.Syscall.Number, len(t.Syscall.Args), p.waitChannel(t))
	})
	for i := range merged {
		merged[i].text = p.activityText(merged[i].threads)
	}
	return merged
}

// split groups threads by key, in the order of their first.
func split(threads []*profile.Thread, key func(*profile.Thread) string) []activity {
	var list []activity
	at := map[string]int{}
	for _, t := range threads {
		k := key(t)
		i, ok := at[k]
		if !ok {
			i = len(list)
			at[k] = i
			list = append(list, activity{text: k})
		}
		list[i].threads = append(list[i].threads, t)
	}
	return list
}

func (p *printer) exactText(t *profile.Thread) string {
	return p.activityText([]*profile.Thread{t})
}

// activityText shows threads of one state in one call: "S  read(0</dev/pts/1>, 0x7f…, 1024)".
func (p *printer) activityText(threads []*profile.Thread) string {
	t := threads[0]
	var parts []string
	switch {
	case t.State != "":
		parts = append(parts, text.Escape(t.State))
	case !p.dump.Core: // which has none of any thread
		parts = append(parts, "?")
	}
	if t.Signal != nil {
		parts = append(parts, signalText(p.dump, t.Signal))
	}
	if t.Syscall != nil {
		parts = append(parts, callText(threads))
	}
	return strings.Join(parts, "  ") + p.waitChannel(t)
}

// signalText shows what a process died by: "SIGSEGV at 0x10 (address not mapped)".
func signalText(d *profile.Dump, s *profile.SignalInfo) string {
	line := text.Escape(s.Name)
	if s.HasAddr {
		line += " at " + jsondoc.Hex(s.Addr)
	}
	switch {
	case s.Sender == d.Process.PID && s.Sender != 0:
		line += " (sent by itself)"
	case s.Sender != 0:
		line += fmt.Sprintf(" (sent by process %d)", s.Sender)
	case s.Cause != "":
		line += " (" + text.Escape(s.Cause) + ")"
	}
	return line
}

// waitChannel names the kernel function that t sleeps in where that says more than its call and its
// kernel stack: for an uninterruptible sleep, for a thread that could not be stopped, and where
// there is no kernel stack although it was requested.
func (p *printer) waitChannel(t *profile.Thread) string {
	if t.Wchan == "" || len(t.KernelStack) > 0 && !(p.opt.Verbose || t.State == "D" || t.NotStopped != "") {
		return ""
	}
	return "  in " + text.Escape(t.Wchan)
}

// callText shows a call that all threads are in; an argument in which they differ is "…".
func callText(threads []*profile.Thread) string {
	call := threads[0].Syscall
	if call.Number == -1 {
		return "(blocked outside of a system call)"
	}
	name := text.Escape(call.Name)
	if name == "" {
		name = fmt.Sprintf("syscall_%d", call.Number)
	}
	args := make([]string, len(call.Args))
	for i := range args {
		args[i] = argText(&call.Args[i])
		for _, t := range threads[1:] {
			if argText(&t.Syscall.Args[i]) != args[i] {
				args[i] = "…"
				break
			}
		}
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

// argText shows one argument, a descriptor with what it is: "3<pipe:[123]>".
func argText(a *profile.Arg) string {
	shown := text.Escape(a.Text)
	if shown == "" {
		shown = jsondoc.Hex(a.Value)
	}
	if a.FD != "" {
		shown += "<" + text.Escape(a.FD) + ">"
	}
	return shown
}
