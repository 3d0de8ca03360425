package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/check"
	"github.com/fpstack/fpstack/text"
)

// CheckText writes r for a person: a table with a line for each module and below it what is missing and
// what fixes it, then the threads, then what is required and not met. Without verbose, libraries of
// the system at which nothing is to be seen are one line, and lines are of at most width cells, 0 for any.
func CheckText(w io.Writer, r *check.Report, verbose bool, style Style, width int) error {
	p := &checkPrinter{w: bufio.NewWriter(w), r: r, verbose: verbose, style: style}
	if !verbose {
		p.width = width
	}
	if style == nil {
		p.style = func(_ Part, piece string) string { return piece }
	}
	p.heading()
	p.modules()
	p.threads()
	p.required()
	for _, problem := range r.Problems {
		p.line(p.style(Cut, "! "+text.Escape(problem)))
	}
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("write what was checked: %w", err)
	}
	return nil
}

type checkPrinter struct {
	w       *bufio.Writer
	r       *check.Report
	verbose bool
	style   Style
	width   int // of a line, 0 for any
}

func (p *checkPrinter) line(pieces ...string) {
	line := strings.Join(pieces, "")
	indent := len(line) - len(strings.TrimLeft(line, " ")) + 4
	p.w.WriteString(text.Wrap(line, p.width, indent) + "\n")
}

func (p *checkPrinter) heading() {
	n := len(p.r.Modules)
	if p.r.PID == 0 {
		p.line(p.style(Heading, counted(n, "file")))
		return
	}
	more := ""
	if p.r.Unnamed > 0 {
		more = fmt.Sprintf(", %s of %d bytes in all that no file holds", counted(p.r.Unnamed, "executable region"),
			p.r.UnnamedBytes)
	}
	p.line(p.style(Heading, fmt.Sprintf("process %d %s", p.r.PID, text.Quote(p.r.Comm))), "  ", counted(n, "module"),
		more)
}

// minHidden is the least number of modules that are worth one line instead of theirs.
const minHidden = 3

// modules writes the table, and the lines below each row.
func (p *checkPrinter) modules() {
	var shown, hidden []*check.Module
	for _, m := range p.r.Modules {
		if p.uneventful(m) {
			hidden = append(hidden, m)
		} else {
			shown = append(shown, m)
		}
	}
	if len(hidden) < minHidden {
		shown, hidden = p.r.Modules, nil
	}
	if len(shown) > 0 {
		for i, row := range p.table(shown) {
			p.line("  ", row)
			if i > 0 {
				p.below(shown[i-1])
			}
		}
	}
	if len(hidden) > 0 {
		and := ""
		if len(shown) > 0 {
			and = "and "
		}
		p.line("  ", and, summary(hidden))
	}
}

// uneventful reports whether m may be summed up: one of the system's that nobody requires and in
// which no chain breaks.
func (p *checkPrinter) uneventful(m *check.Module) bool {
	if p.verbose || p.r.PID == 0 || !m.System() || m.Err != nil {
		return false
	}
	for _, u := range p.r.Unmet() {
		if u.Module == m {
			return false
		}
	}
	for _, t := range p.r.Threads {
		if slices.ContainsFunc(t.Breaks, func(b check.Break) bool { return b.Module == m.Path }) {
			return false
		}
	}
	return true
}

// table lays out the rows, the heading in front.
func (p *checkPrinter) table(modules []*check.Module) []string {
	rows := [][]string{{"tables", "symbols", "lines", "frame pointers", "module"}}
	for _, m := range modules {
		if m.Err != nil {
			rows = append(rows, []string{"?", "?", "?", "?", text.Escape(m.Path)})
			continue
		}
		rows = append(rows, []string{tablesCell(m), symbolsCell(m), linesCell(m), frameCell(m), pathCell(m)})
	}
	const indent = 2
	end := text.ShortenEnd
	return text.Table(rows, []text.Column{end, end, end, end, text.ShortenPath}, max(0, p.width-indent))
}

func pathCell(m *check.Module) string {
	if m.Deleted {
		return text.Escape(m.Path) + " (deleted)"
	}
	return text.Escape(m.Path)
}

// tablesCell is "none", or the share of code and the tables that cover it.
func tablesCell(m *check.Module) string {
	share, ok := m.Share()
	switch {
	case !ok:
		return "no code"
	case len(m.Tables.Kinds) == 0:
		return "none"
	}
	var names []string
	for _, k := range m.Tables.Kinds {
		names = append(names, k.Name)
	}
	return check.Percent(share) + " " + strings.Join(names, "+")
}

func symbolsCell(m *check.Module) string {
	if len(m.Symbols) == 0 {
		return "none"
	}
	best := m.Symbols[0]
	switch {
	case best.Path != "":
		return best.Name + " (debug file)"
	case best.Name == ".dynsym":
		return ".dynsym alone"
	}
	return best.Name
}

func linesCell(m *check.Module) string {
	switch {
	case m.Lines.Kind == "":
		return "none"
	case m.Lines.Kind == "go":
		return "Go"
	case m.Lines.Path != "":
		return "DWARF (debug file)"
	}
	return "DWARF"
}

// frameCell is how many of the functions that need a frame record make one.
func frameCell(m *check.Module) string {
	f := &m.Frames
	switch {
	case m.Code == 0:
		return "no code"
	case f.Looked == 0:
		return "not known"
	}
	text := fmt.Sprintf("%d of %d", f.Kept, f.Kept+f.Missing)
	if f.Kept+f.Missing == 0 {
		text = "none needed"
	}
	if f.Unclear > 0 {
		text += fmt.Sprintf(", %d unclear", f.Unclear)
	}
	if f.Looked < f.All {
		text += fmt.Sprintf(" (%d of %d read)", f.Looked, f.All)
	}
	return text
}

// below writes what is to be said about one module besides its row.
func (p *checkPrinter) below(m *check.Module) {
	if m.Err != nil {
		p.line("      ", p.style(Cut, "! "+text.Escape(m.Err.Error())))
		return
	}
	if p.verbose {
		p.details(m)
	}
	for _, a := range []check.Aspect{check.FP, check.Unwind, check.Names, check.Source} {
		if how := m.Mend(a); how != "" && (p.verbose || !m.System() || slices.Contains(p.r.Required, a)) {
			p.line("      ", fmt.Sprintf("%-8s ", a), text.Escape(how))
		}
	}
	for _, note := range m.Notes {
		p.line("      ", p.style(Cut, "! "+text.Escape(note)))
	}
}

// details writes what -v adds.
func (p *checkPrinter) details(m *check.Module) {
	if m.BuildID != "" {
		p.line("      build id ", text.Escape(m.BuildID))
	}
	for _, c := range m.Compilers {
		p.line("      compiler ", text.Escape(strings.TrimSpace(c.Kind+"  "+c.Version)))
	}
	for _, k := range m.Tables.Kinds {
		p.line("      ", fmt.Sprintf("%s covers %d of %d bytes", k.Name, k.Covered, m.Code))
	}
	if m.Tables.NoIndex {
		p.line("      .eh_frame has no .eh_frame_hdr: it is read in whole at the first use")
	}
	for _, s := range m.Symbols {
		p.line("      ", fmt.Sprintf("%s: %s", s.Name, counted(s.Functions, "function")), in(s.Path))
	}
	if m.Lines.Path != "" {
		p.line("      lines", in(m.Lines.Path))
	}
	if f := &m.Frames; f.Looked > 0 {
		p.line("      ", fmt.Sprintf("functions by %s: %d, read %d: frame record kept %d, missing %d, not needed %d, "+
			"unclear %d",
			f.From, f.All, f.Looked, f.Kept, f.Missing, f.NotNeeded, f.Unclear))
	}
}

func in(path string) string {
	if path == "" {
		return ""
	}
	return " in " + text.Escape(path)
}

// summary counts what modules have that are not shown.
func summary(modules []*check.Module) string {
	have := map[check.Aspect]int{}
	for _, m := range modules {
		for _, a := range []check.Aspect{check.Unwind, check.Names, check.Source, check.FP} {
			if _, ok := m.Meets(a); ok {
				have[a]++
			}
		}
	}
	return fmt.Sprintf("%d of the system: tables %d, symbols %d, lines %d, frame pointers %d (-v shows each)",
		len(modules), have[check.Unwind], have[check.Names], have[check.Source], have[check.FP])
}

// required writes what is not met, or that all is.
func (p *checkPrinter) required() {
	if len(p.r.Required) == 0 {
		return
	}
	var names []string
	for _, a := range p.r.Required {
		names = append(names, string(a))
	}
	all := strings.Join(names, ", ")
	unmet := p.r.Unmet()
	if len(unmet) == 0 {
		p.line("required ", all, ": met")
		return
	}
	p.line(p.style(Cut, "required "+all+": not met"))
	for _, u := range unmet {
		p.line("  ", fmt.Sprintf("%-8s", u.Aspect), " ", text.Escape(u.Module.Path), ": ", text.Escape(u.Why))
	}
}
