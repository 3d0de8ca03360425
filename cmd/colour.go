package cmd

import (
	"io"
	"os"

	"github.com/fatih/color"
	"github.com/mattn/go-isatty"

	"github.com/fpstack/fpstack/report"
)

// colourMode is the value of --color.
type colourMode struct{ choice }

// style returns the colours of text, nil for none. NO_COLOR (no-color.org) is respected
// unless --color=always is given.
func (m colourMode) style(out io.Writer) report.Style {
	if m.word == "never" || m.word != "always" && (os.Getenv("NO_COLOR") != "" || !isTerminal(out)) {
		return nil
	}
	dress := map[report.Part]*color.Color{
		report.Heading: color.New(color.Bold),
		report.Thread:  color.New(color.Bold, color.FgCyan),
		report.Wait:    color.New(color.FgYellow),
		report.Address: color.New(color.Faint),
		report.Source:  color.New(color.FgGreen),
		report.Module:  color.New(color.FgBlue),
		report.Cut:     color.New(color.FgRed),
	}
	for _, c := range dress {
		c.EnableColor()
	}
	return func(part report.Part, piece string) string {
		if c, ok := dress[part]; ok {
			return c.Sprint(piece)
		}
		return piece
	}
}

// isTerminal reports whether a person reads w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("TERM") != "dumb" && isatty.IsTerminal(f.Fd())
}
