package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// maxHandles bounds the handles of a loop that are shown; Verbose lifts it.
const maxHandles = 32

// loops writes what the event loops of an entry's threads wait for.
func (p *printer) loops(e entry) {
	for _, t := range e.threads {
		if t.Loop == nil {
			continue
		}
		who := ""
		if len(e.threads) > 1 {
			who = fmt.Sprintf(" of thread %d", t.TID)
		}
		p.loop(who, t.Loop)
	}
}

// loop writes one. Handles of the runtime itself are shown to who asks for them.
func (p *printer) loop(who string, l *profile.Loop) {
	shown, rest := p.handles(l)
	if len(shown) > 0 || rest != "" {
		p.line("  the event loop", who, " waits for")
	}
	for i, h := range shown {
		if i == maxHandles && !p.opt.Verbose {
			p.line(fmt.Sprintf("    … %d more (-v shows them)", len(shown)-i))
			break
		}
		p.line(text.Wrap("    "+h, p.width(), 6))
	}
	if rest != "" {
		p.line(text.Wrap("    "+rest, p.width(), 6))
	}
	if l.Problem != "" {
		p.cutLine(text.Escape(l.Problem))
	}
}

// handles are the lines of those of l that are shown, equal ones as one: first those that keep it. The others are
// counted in rest, unless nothing is folded away.
func (p *printer) handles(l *profile.Loop) (lines []string, rest string) {
	count := map[string]int{}
	var folded []*profile.Handle
	for _, keeps := range []bool{true, false} {
		for i := range l.Handles {
			h := &l.Handles[i]
			if h.Keeps != keeps || h.Internal && !p.opt.Verbose {
				continue
			}
			if !keeps && p.opt.folds() {
				folded = append(folded, h)
				continue
			}
			line := p.handle(h)
			if count[line]++; count[line] == 1 {
				lines = append(lines, line)
			}
		}
	}
	for i, line := range lines {
		if n := count[line]; n > 1 {
			lines[i] = fmt.Sprintf("%d × %s", n, line)
		}
	}
	return lines, unkept(folded)
}

// unkept counts handles that do not keep their loop, by their kinds; "" for none.
func unkept(handles []*profile.Handle) string {
	if len(handles) == 0 {
		return ""
	}
	var kinds []string
	count := map[string]int{}
	for _, h := range handles {
		if count[h.Kind]++; count[h.Kind] == 1 {
			kinds = append(kinds, h.Kind)
		}
	}
	for i, kind := range kinds {
		noun := text.Escape(kind)
		if kind == profile.HandleAsync {
			noun = "async handle"
		}
		kinds[i] = counted(count[kind], noun)
	}
	return fmt.Sprintf("+ %d that %s not keep the loop alive (%s; --all shows them)", len(handles),
		map[bool]string{true: "does", false: "do"}[len(handles) == 1], strings.Join(kinds, ", "))
}

// handle is the line of one: what it is, when, of what class, and who is called.
func (p *printer) handle(h *profile.Handle) string {
	var pieces []string
	kind := text.Escape(h.Kind)
	what := strings.TrimSpace(kind + " " + text.Escape(h.Detail))
	if h.File != "" {
		file := text.Escape(h.File)
		if what != kind || !strings.HasPrefix(file, kind) {
			file = what + " " + file
		}
		what = file
	}
	if h.FD >= 0 {
		what += fmt.Sprintf(" (fd %d)", h.FD)
	}
	pieces = append(pieces, what)
	if h.HasIn {
		pieces = append(pieces, ahead(h.In))
	}
	if h.Every > 0 {
		pieces = append(pieces, "every "+seconds(h.Every))
	}
	if h.Object != "" {
		pieces = append(pieces, text.Escape(h.Object))
	}
	for i := range h.Calls {
		pieces = append(pieces, p.call(&h.Calls[i]))
	}
	if !h.Keeps {
		pieces = append(pieces, "(does not keep the loop alive)")
	}
	return strings.Join(pieces, "  ")
}

// call is a function that is called, with its place.
func (p *printer) call(c *profile.Call) string {
	s := ""
	if c.Event != "" {
		s = "on " + text.Escape(c.Event) + ": "
	}
	if c.Async {
		s += profile.AsyncPrefix
	}
	s += text.Escape(c.Func)
	if c.File == "" || p.opt.NoLines {
		return s
	}
	s += " " + text.Escape(p.short(c.File))
	if c.Line > 0 {
		s += ":" + strconv.Itoa(c.Line)
	}
	return s
}

// ahead is a time that is to come.
func ahead(d time.Duration) string {
	if d < 0 {
		return seconds(-d) + " late"
	}
	return "in " + seconds(d)
}

// seconds is a time as a person says it, to the millisecond.
func seconds(d time.Duration) string { return d.Round(time.Millisecond).String() }

type loopDoc struct {
	Handles  []*handleDoc `json:"handles"`
	Requests int          `json:"requests,omitempty"`
	Problem  string       `json:"problem,omitempty"`
}

type handleDoc struct {
	Kind     string    `json:"kind"`
	Keeps    bool      `json:"keeps,omitempty"`
	Internal bool      `json:"internal,omitempty"`
	FD       *int      `json:"fd,omitempty"`
	File     string    `json:"file,omitempty"`
	Detail   string    `json:"detail,omitempty"`
	In       *int64    `json:"in_ns,omitempty"`
	Every    int64     `json:"every_ns,omitempty"`
	Object   string    `json:"object,omitempty"`
	Calls    []callDoc `json:"calls,omitempty"`
}

type callDoc struct {
	Event    string `json:"event,omitempty"`
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Async    bool   `json:"async,omitempty"`
}

func loopDocument(l *profile.Loop, opt *Options) *loopDoc {
	if l == nil {
		return nil
	}
	doc := &loopDoc{Handles: make([]*handleDoc, 0, len(l.Handles)), Requests: l.Requests,
		Problem: profile.Lossless(l.Problem)}
	for i := range l.Handles {
		h := &l.Handles[i]
		out := &handleDoc{Kind: profile.Lossless(h.Kind), Keeps: h.Keeps, Internal: h.Internal,
			File: profile.Lossless(h.File), Detail: profile.Lossless(h.Detail), Every: h.Every.Nanoseconds(),
			Object: profile.Lossless(h.Object)}
		if h.FD >= 0 {
			out.FD = &h.FD
		}
		if h.HasIn {
			in := h.In.Nanoseconds()
			out.In = &in
		}
		for _, c := range h.Calls {
			call := callDoc{Event: profile.Lossless(c.Event), Function: profile.Lossless(c.Func), Async: c.Async}
			if !opt.NoLines {
				call.File, call.Line = profile.Lossless(c.File), max(c.Line, 0)
			}
			out.Calls = append(out.Calls, call)
		}
		doc.Handles = append(doc.Handles, out)
	}
	return doc
}
