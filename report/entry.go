package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// Bounds of what one entry says about threads that differ; Verbose lifts them.
const (
	maxNames   = 3  // distinct names, and distinct reasons of a cut
	maxRanges  = 32 // ranges of thread ids
	maxExact   = 4  // distinct calls with all their arguments
	maxMembers = 8  // distinct calls after arguments that differ were left out
)

// entry writes threads with the same stack, or one.
func (p *printer) entry(e entry) {
	p.heading(e)
	if p.opt.Verbose {
		p.entryWaits(e.threads)
	}
	p.facts(e)
	first := e.threads[0]
	if first.NotStopped != "" {
		p.cutLine("not stopped: " + text.Escape(first.NotStopped) + counters(e.threads))
	}
	for _, line := range first.KernelStack {
		name := text.Escape(kernelFrame(line))
		if w := p.width(); w > 0 {
			name = text.ShortenEnd(name, w-len("  kernel  "))
		}
		p.line("  kernel  ", p.style(Function, name))
	}
	p.frames(e.frames, first.Locals)
	p.stop(e)
	p.loops(e)
}

// counters says how long threads ran and waited for a CPU since they began; "" if that is not known of any of them.
func counters(threads []*profile.Thread) string {
	var all profile.Counters
	known := 0
	for _, t := range threads {
		if c := t.Counters; c != nil {
			all.CPU, all.Waited, all.Switches = all.CPU+c.CPU, all.Waited+c.Waited, all.Switches+c.Switches
			known++
		}
	}
	if known == 0 {
		return ""
	}
	line := fmt.Sprintf("; CPU time %s, ready without a CPU %s, put on a CPU %s", text.Duration(all.CPU),
		text.Duration(all.Waited), text.Count(all.Switches, "time"))
	if known > 1 {
		line += fmt.Sprintf(", all %d together", known)
	}
	return line
}

// heading writes the line of the entry: who, and what they do or wait for. Where its threads differ in that it is one
// line for each difference.
func (p *printer) heading(e entry) {
	who := p.ids(e.threads)
	if len(e.threads) > 1 {
		who = fmt.Sprintf("%d threads %s", len(e.threads), who)
	}
	names := p.runs(e.threads)
	named := func(t *profile.Thread) bool { return t.Name != "" || t.Runtime != nil && t.Runtime.Name != "" }
	if !p.dump.Core || slices.ContainsFunc(e.threads, named) {
		names = " " + p.names(e.threads) + names
	} else if len(e.threads) == 1 {
		who = "thread " + who
	}
	parts := p.activities(e.threads)
	if len(parts) == 1 {
		does := parts[0].text
		if len(e.threads) > 1 && does != "" && !p.opt.Verbose {
			does = "each: " + does
		}
		p.wrapped(Thread, who, strings.TrimRight(names+"  ", " "), does)
		return
	}
	p.wrapped(Thread, who, names, "")
	for i, part := range parts {
		if i == maxMembers && !p.opt.Verbose {
			p.line(fmt.Sprintf("  … %d more states and waits", len(parts)-i))
			break
		}
		p.wrapped(Thread, "", "  "+threadsNamed(len(part.threads), p.ids(part.threads)), part.text)
	}
}

// ids returns thread ids with runs as ranges: "4122-4124,4130".
func (p *printer) ids(threads []*profile.Thread) string {
	ids := make([]uint64, len(threads))
	for i, t := range threads {
		ids[i] = uint64(t.TID)
	}
	return p.ranges(ids)
}

// ranges returns ids with runs as ranges.
func (p *printer) ranges(ids []uint64) string {
	var b strings.Builder
	ranges := 0
	for i := 0; i < len(ids); ranges++ {
		if !p.opt.Verbose && (ranges == maxRanges || p.opt.Width > 0 && b.Len() > p.opt.Width/3) {
			fmt.Fprintf(&b, ",… %d more", len(ids)-i)
			break
		}
		end := i
		for end+1 < len(ids) && ids[end+1] == ids[end]+1 {
			end++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, ids[i])
		if end > i {
			fmt.Fprintf(&b, "-%d", ids[end])
		}
		i = end + 1
	}
	return b.String()
}

// names returns the quoted names of threads.
func (p *printer) names(threads []*profile.Thread) string {
	return p.distinct(threads, ", ", func(t *profile.Thread) string {
		return threadName(t, len(threads) == 1, p.opt.Verbose)
	})
}

// distinct returns the different texts of threads in their order, the first few of them.
func (p *printer) distinct(threads []*profile.Thread, separator string, text func(*profile.Thread) string) string {
	seen := map[string]bool{}
	var texts []string
	for _, t := range threads {
		if s := text(t); !seen[s] {
			seen[s] = true
			texts = append(texts, s)
		}
	}
	if len(texts) > maxNames && !p.opt.Verbose {
		more := fmt.Sprintf("… %d more", len(texts)-maxNames)
		texts = append(texts[:maxNames], more)
	}
	return strings.Join(texts, separator)
}

// stop writes why the stack has no more frames, unless its outermost frame was reached or
// the reason is above.
func (p *printer) stop(e entry) {
	first := e.threads[0]
	s := &first.Stack
	switch {
	case len(e.frames) == 0 && len(s.Frames) > 0:
		p.cutLine(counted(len(s.Frames), "frame") + " left out")
	case len(s.Frames) == 0 && first.NotStopped != "" && (s.Stop == "" || s.Stop == "not stopped"):
		return
	case len(s.Frames) == 0 && s.Complete:
		p.cutLine("no frames in user space")
	}
	if s.Complete {
		return
	}
	p.cutLine("stack cut: " + p.distinct(e.threads, "; ",
		func(t *profile.Thread) string { return cutReason(&t.Stack) }))
}

// cutReason is the sentence for a stack that is not Complete: its own, or one for its Stop.
func cutReason(s *profile.Stack) string {
	if s.Detail != "" {
		return text.Escape(s.Detail)
	}
	switch s.Stop {
	case "no rule":
		return "nothing says how to find the caller"
	case "bad CFA":
		return "the caller's frame would be misaligned or outside of the stack"
	case "not advancing":
		return "the caller's frame is not above this one"
	case "read fault":
		return "memory that leads to the caller is not readable"
	case "depth limit":
		return fmt.Sprintf("limit of %s reached", text.Count(physicalFrames(s), "frame"))
	case "not stopped":
		return "no registers"
	case "":
		return "reason not known"
	}
	return text.Escape(s.Stop)
}

func physicalFrames(s *profile.Stack) int {
	n := 0
	for i := range s.Frames {
		if !s.Frames[i].Inlined {
			n++
		}
	}
	return n
}

// kernelFrame leaves out the "[<0>] " before a function in /proc/TID/stack, where the kernel
// no longer shows an address.
func kernelFrame(line string) string {
	return strings.TrimPrefix(strings.TrimSpace(line), "[<0>] ")
}
