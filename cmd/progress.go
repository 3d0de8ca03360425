package cmd

import (
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/fpstack/fpstack/hang/supervise"
	"github.com/fpstack/fpstack/text"
)

// progress is a line on a terminal that shows how far a recording is. It changes no setting
// of the terminal and asks it nothing. A nil *progress shows nothing. Any goroutine may call
// its methods.
type progress struct {
	mu      sync.Mutex
	out     io.Writer
	width   func() int  // of the terminal, in cells
	visible func() bool // whether the terminal is ours now
	turn    int         // how often it was drawn: the spinner turns by it
	cells   int         // that it takes on the screen, 0 if it is not there
}

// spinner shows that the line still lives.
var spinner = [...]string{"|", "/", "-", `\`}

// newProgress returns a line on out, nil if out is no terminal.
func newProgress(out io.Writer) *progress {
	if !isTerminal(out) {
		return nil
	}
	return drawProgress(out, func() int { return terminalWidth(out) }, supervise.InForeground)
}

// terminalWidth is how many cells a line of the terminal has that shows out, 0 if none does.
func terminalWidth(out io.Writer) int {
	if !isTerminal(out) {
		return 0
	}
	w, _, err := term.GetSize(int(out.(*os.File).Fd()))
	if err != nil || w <= 0 {
		return 80
	}
	return w
}

// lineWidth is how many cells a line of text may have that goes to the output at path, 0 for any.
func (a *app) lineWidth(path string) int {
	if !toStdout(path) {
		return 0
	}
	return terminalWidth(a.stdout)
}

// drawProgress returns a line on out, whatever that is.
func drawProgress(out io.Writer, width func() int, visible func() bool) *progress {
	return &progress{out: out, width: width, visible: visible}
}

// update shows message.
func (p *progress) update(message string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.visible() {
		return
	}
	const besides = 4 // cells for the spinner and the blanks
	line := spinner[p.turn%len(spinner)] + " " + text.ShortenEnd(message, p.width()-besides)
	p.turn++
	p.draw(line)
}

// draw puts line in place of the last one. A terminal that takes nothing has lost it, and that harms nothing.
func (p *progress) draw(line string) {
	cells := text.Width(line)
	io.WriteString(p.out, "\r"+line+strings.Repeat(" ", max(0, p.cells-cells))+"\r")
	p.cells = cells
}

// clear takes the line away. It may come back by update.
func (p *progress) clear() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cells > 0 && p.visible() {
		p.draw("")
	}
	p.cells = 0
}
