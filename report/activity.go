package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/jsondoc"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// activity is what some threads of an entry do alike.
type activity struct {
	text    string // escaped: what they do or wait for; with Verbose their state and system call
	threads []*profile.Thread
}

// activities splits threads by what they do. Where few differ each has that in full; where many do (a futex for each
// worker), those that wait for what nobody is known to hold are counted by its kind, and calls of one name are one,
// with "…" for the arguments that are not the same.
func (p *printer) activities(threads []*profile.Thread) []activity {
	if p.opt.Verbose {
		return split(threads, p.callOf)
	}
	exact := split(threads, p.doing)
	if len(exact) <= maxExact {
		return exact
	}
	merged := split(threads, func(t *profile.Thread) string {
		if w := t.Wait; w != nil && w.Mode != profile.WaitOne && t.State == "S" && runtimeWait(t) == "" {
			return "waits for " + text.Escape(w.Kind)
		}
		return p.doing(t)
	})
	for i := range merged {
		if kinds := split(merged[i].threads, p.doing); len(kinds) > 1 {
			merged[i].text += fmt.Sprintf(", %d different", len(kinds))
		} else {
			merged[i].text = kinds[0].text
		}
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

// doing says what t does or waits for, in words.
func (p *printer) doing(t *profile.Thread) string {
	words := p.stateWords(t)
	if t.Signal != nil {
		words = strings.TrimLeft(words+"  "+signalText(p.dump, t.Signal), " ")
	}
	return words + p.waitChannel(t)
}

// stateWords is doing without what a process died by and the kernel's function.
func (p *printer) stateWords(t *profile.Thread) string {
	call := callWords(t)
	what := cmp.Or(p.waitWords(t), call)
	switch t.State {
	case "R":
		if call != "" {
			return "runs, " + call
		}
		return "computes"
	case "S":
		switch what {
		case "":
			return "sleeps"
		case call:
			return waitingIn(t.Syscall)
		}
		return what
	case "D":
		return "blocked in the kernel" + behind(what)
	case "T":
		return "stopped by a signal"
	case "t":
		return "stopped by a tracer"
	case "Z":
		return "has ended"
	case "":
		if p.dump.Core { // which has none of any thread
			return what
		}
		return "? " + what
	}
	return text.Escape(t.State) + behind(what)
}

func behind(words string) string {
	if words == "" {
		return ""
	}
	return ", " + words
}

// waitWords is what t waits for: as its runtime says it, else as the graph of waits does; "" if that is not known.
func (p *printer) waitWords(t *profile.Thread) string {
	if said := runtimeWait(t); said != "" {
		return p.addresses.short(text.Escape(said))
	}
	if w := t.Wait; w != nil && w.Sort != profile.SortCall {
		return p.addresses.short(text.Message(cmp.Or(w.Brief, w.Text)))
	}
	return ""
}

// runtimeWait is what the runtime of t says that it waits for, with the names that the program gave; "" for nothing.
func runtimeWait(t *profile.Thread) string {
	if t.Runtime == nil {
		return ""
	}
	i := slices.IndexFunc(t.Runtime.Facts, profile.IsWaitFact)
	if i < 0 {
		return ""
	}
	return t.Runtime.Facts[i]
}

// waitingCalls say what a thread does in a call of which no more is known: it began after the waits were read.
var waitingCalls = map[string]string{
	"epoll_wait": "waits for events", "epoll_pwait": "waits for events", "epoll_pwait2": "waits for events",
	"poll": "waits for events", "ppoll": "waits for events", "select": "waits for events",
	"pselect6":  "waits for events",
	"nanosleep": "sleeps", "clock_nanosleep": "sleeps", "pause": "waits for a signal",
	"rt_sigsuspend": "waits for a signal", "rt_sigtimedwait": "waits for a signal",
	"wait4": "waits for a child", "waitid": "waits for a child",
}

// waitingIn is what a thread waits for by its call alone, in words where those are known.
func waitingIn(call *profile.Syscall) string {
	if words := waitingCalls[call.Name]; words != "" {
		return words
	}
	return "waits in " + callName(call) + openFiles(call)
}

// callWords is the system call of t with the descriptors that it was given: "in read(0</dev/pts/1>)".
func callWords(t *profile.Thread) string {
	call := t.Syscall
	if call == nil {
		return ""
	}
	if call.Number == -1 {
		return "outside of a system call"
	}
	return "in " + callName(call) + openFiles(call)
}

// openFiles are the open files that a call was given, in parentheses; "" for none.
func openFiles(call *profile.Syscall) string {
	var files []string
	for i := range call.Args {
		if a := &call.Args[i]; a.FD != "" || strings.HasSuffix(a.Name, "fd") {
			files = append(files, argText(&call.Args[i]))
		}
	}
	if len(files) == 0 {
		return ""
	}
	return "(" + strings.Join(files, ", ") + ")"
}

func callName(call *profile.Syscall) string {
	if call.Name == "" {
		return fmt.Sprintf("syscall_%d", call.Number)
	}
	return text.Escape(call.Name)
}

// callOf shows the state of a thread and its call: "S  read(0</dev/pts/1>, 0x7f…, 1024)".
func (p *printer) callOf(t *profile.Thread) string {
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
		parts = append(parts, callText(t.Syscall))
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

// callText shows a call with all its arguments.
func callText(call *profile.Syscall) string {
	if call.Number == -1 {
		return "(blocked outside of a system call)"
	}
	args := make([]string, len(call.Args))
	for i := range args {
		args[i] = argText(&call.Args[i])
	}
	return callName(call) + "(" + strings.Join(args, ", ") + ")"
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
