package cmd

import (
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/fpstack/fpstack/hang/supervise"
)

// progress is a line on a terminal that tells how far a recording is. It changes no setting
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

// newProgress returns a line on out, nil if nobody looks at out.
func newProgress(out io.Writer) *progress {
	if !isTerminal(out) {
		return nil
	}
	width := func() int {
		w, _, err := term.GetSize(int(out.(*os.File).Fd()))
		if err != nil || w <= 0 {
			return 80
		}
		return w
	}
	return drawProgress(out, width, supervise.InForeground)
}

// drawProgress returns a line on out, whatever that is.
func drawProgress(out io.Writer, width func() int, visible func() bool) *progress {
	return &progress{out: out, width: width, visible: visible}
}

// update shows text.
func (p *progress) update(text string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.visible() {
		return
	}
	const besides = 4 // cells for the spinner and the blanks
	line := spinner[p.turn%len(spinner)] + " " + cut(text, p.width()-besides)
	p.turn++
	p.draw(line)
}

// draw puts line where the last one stood. A terminal that takes nothing has lost it, and that harms nothing.
func (p *progress) draw(line string) {
	cells := utf8.RuneCountInString(line)
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

// cut shortens text to at most n characters, with a mark where it was cut.
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	if n < 1 {
		return ""
	}
	return string([]rune(text)[:n-1]) + "…"
}
