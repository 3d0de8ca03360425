package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// maxVerdict is how many lines VerdictText takes.
const maxVerdict = 40

// HangStacks writes the stacks of the last moment of c, each process below an empty line, and that of the culprit of v
// first. A cycle of waits is there once: not where v has it, nor below each process that it goes through.
func HangStacks(to io.Writer, c *hang.Case, v *hang.Verdict, opt Options) error {
	if len(c.Moments) == 0 {
		return nil
	}
	dumps := slices.Clone(c.Moments[len(c.Moments)-1].Dumps)
	slices.SortStableFunc(dumps, func(a, b *profile.Dump) int { return odd(a, v) - odd(b, v) })
	told := [][]int{v.Cycle}
	for _, d := range dumps {
		d, told = untold(d, told)
		if _, err := io.WriteString(to, "\n"); err != nil {
			return fmt.Errorf("write verdict: %w", err)
		}
		if err := Text(to, d, opt); err != nil {
			return err
		}
	}
	return nil
}

// untold is d without the cycles of waits whose threads are told, and these with those of the others.
func untold(d *profile.Dump, told [][]int) (*profile.Dump, [][]int) {
	if d.Waits == nil {
		return d, told
	}
	fresh, waits := *d, *d.Waits
	fresh.Waits, waits.Cycles = &waits, nil
	for _, cycle := range d.Waits.Cycles {
		if !slices.ContainsFunc(told, func(threads []int) bool { return slices.Equal(threads, cycle.Threads) }) {
			told, waits.Cycles = append(told, cycle.Threads), append(waits.Cycles, cycle)
		}
	}
	return &fresh, told
}

// odd puts the process of the culprit before the others.
func odd(d *profile.Dump, v *hang.Verdict) int {
	if v.Culprit != nil && d.Process.PID == v.Culprit.PID {
		return 0
	}
	return 1
}

// VerdictText writes v alone, in at most 40 lines as they are wrapped.
func VerdictText(to io.Writer, v *hang.Verdict, opt Options) error {
	p := &printer{w: bufio.NewWriter(to), dump: &profile.Dump{}, opt: opt}
	var addresses []uint64
	for _, words := range append([]string{v.Sentence}, v.Because...) {
		addresses = append(addresses, addressesIn(words)...)
	}
	p.addresses = newAddresses(addresses, &opt)
	first := text.Wrap(p.addresses.short(v.Sentence), p.width(), 4)
	p.line(p.style(Cut, first))
	left := maxVerdict - lines(first)
	evidence := slices.Clone(v.Because)
	for _, lack := range v.Lacks {
		evidence = append(evidence, "! "+text.Message(lack))
	}
	for i, line := range evidence {
		wrapped := text.Wrap("  "+p.addresses.short(line), p.width(), 4)[2:]
		if left -= lines(wrapped); left < 1 && i < len(evidence)-1 || left < 0 {
			p.line(fmt.Sprintf("  … %d more", len(evidence)-i))
			break
		}
		p.line("  ", wrapped)
	}
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("write verdict: %w", err)
	}
	return nil
}

// lines is how many lines a text without an end of line is.
func lines(s string) int { return 1 + strings.Count(s, "\n") }
