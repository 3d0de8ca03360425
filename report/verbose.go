package report

import (
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/text"
)

// modules writes the table of modules: base, build ID, path, and why one could not be read.
func (p *printer) modules() {
	if len(p.dump.Modules) == 0 {
		return
	}
	width := 0
	for i := range p.dump.Modules {
		width = max(width, len(buildID(p.dump.Modules[i].BuildID)))
	}
	p.line(p.style(Thread, counted(len(p.dump.Modules), "module")))
	for i := range p.dump.Modules {
		m := &p.dump.Modules[i]
		reason := ""
		switch {
		case m.Err != "":
			reason = "  " + p.style(Cut, "! "+text.Escape(m.Err))
		case len(m.Symbols) == 0:
			reason = "  " + p.style(Cut, "! no symbols")
		default:
			reason = "  " + text.Escape(strings.Join(m.Symbols, " "))
		}
		if m.DebugFile != "" {
			reason += "  from " + text.Escape(m.DebugFile)
		}
		if m.Unread != "" {
			reason += "  " + p.style(Cut, "! "+text.Escape(m.Unread))
		}
		p.line("  ", p.style(Address, address(m.Base)), fmt.Sprintf("  %-*s  ", width, buildID(m.BuildID)), text.Escape(m.Path), reason)
	}
}

func buildID(id string) string {
	if id == "" {
		return "no build ID"
	}
	return text.Escape(id)
}

// problems writes what could not be had.
func (p *printer) problems() {
	for _, problem := range p.dump.Problems {
		p.line(p.style(Cut, "! "+text.Escape(problem)))
	}
}
