package report

import (
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// sameLine reports whether two frames are at one line, as those of a recursion.
func sameLine(a, b *profile.Frame) bool { return a.File == b.File && a.Line == b.Line }

// source writes the line that a frame is at, with its neighbours, where they were read:
//
//	  13  	while (staying) {
//	> 14  		pause();
//	  15  		sink++;
func (p *printer) source(f *profile.Frame) {
	s, ok := p.dump.Sources[f.File]
	if !ok || p.opt.NoLines || s.Lines[f.Line] == "" && s.Lines[f.Line-1] == "" && s.Lines[f.Line+1] == "" {
		return
	}
	since := ""
	switch {
	case s.Newer:
		since = "the program was built"
	case s.Rewritten:
		since = "the process began"
	}
	if since != "" && !p.newer[f.File] {
		p.newer[f.File] = true
		p.line("          ", p.style(Cut, text.Wrap("          ! "+text.Escape(baseName(f.File))+
			" was changed after "+since+": lines may be off", p.width(), 12)[10:]))
	}
	for n := f.Line - 1; n <= f.Line+1; n++ {
		code, ok := s.Lines[n]
		if !ok {
			continue
		}
		mark := " "
		if n == f.Line {
			mark = ">"
		}
		line := strings.TrimRight(fmt.Sprintf("        %s %4d  %s", mark, n, sourceText(code)), " ")
		if w := p.width(); w > 0 {
			line = text.ShortenEnd(line, w)
		}
		p.line(p.style(Source, line))
	}
}

// sourceText makes text fit to be shown: tabs as blanks, all else that is not printed escaped. A
// backslash stays single, as C programs are full of them.
func sourceText(line string) string {
	return strings.ReplaceAll(text.Escape(strings.ReplaceAll(line, "\t", "    ")), `\\`, `\`)
}
