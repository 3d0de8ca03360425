package report

import (
	"bufio"
	"fmt"
	"io"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// maxVerdict is how many lines HangText takes for the verdict.
const maxVerdict = 40

// HangText writes the verdict v on c for a person, in at most 40 lines, and below it the stacks of the last moment,
// odd ones first. Of opt it heeds what Text does.
func HangText(to io.Writer, c *hang.Case, v *hang.Verdict, opt Options) error {
	if err := VerdictText(to, v, opt); err != nil {
		return err
	}
	return HangStacks(to, c, opt)
}

// HangStacks writes the stacks of the last moment of c, each process below an empty line.
func HangStacks(to io.Writer, c *hang.Case, opt Options) error {
	if len(c.Moments) == 0 {
		return nil
	}
	for _, d := range c.Moments[len(c.Moments)-1].Dumps {
		if _, err := io.WriteString(to, "\n"); err != nil {
			return fmt.Errorf("write verdict: %w", err)
		}
		if err := Text(to, d, opt); err != nil {
			return err
		}
	}
	return nil
}

// VerdictText writes v alone, in at most 40 lines.
func VerdictText(to io.Writer, v *hang.Verdict, opt Options) error {
	p := &printer{w: bufio.NewWriter(to), dump: &profile.Dump{}, opt: opt}
	p.line(p.style(Cut, text.Wrap(v.Sentence, p.width(), 4)))
	left := maxVerdict - 1
	for i, line := range append(append([]string{}, v.Because...), v.Lacks...) {
		if left--; left == 0 {
			p.line(fmt.Sprintf("  … %d more lines", len(v.Because)+len(v.Lacks)-i))
			break
		}
		p.line("  ", text.Wrap("  "+line, p.width(), 4)[2:])
	}
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("write verdict: %w", err)
	}
	return nil
}
