package report

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// Text writes d for a person: the process, then each entry, a thread or several with the same
// stack, with its frames innermost first, names before places. With Options.Group what is stuck or computes comes
// first, then what runs functions of a language; among equals small groups before large ones and the thread group
// leader, then as in d. Threads that are idle are counted at the end.
func Text(w io.Writer, d *profile.Dump, opt Options) error {
	p := &printer{w: bufio.NewWriterSize(w, 64<<10), dump: d, opt: opt, newer: map[string]bool{}}
	p.places = newPlaces(d)
	p.addresses = newAddresses(addressesOf(d), &opt)
	p.process()
	for _, note := range d.Notes {
		p.cutLine(text.Message(note))
	}
	shown, idle := entries(d, &opt)
	if d.Waits != nil {
		p.cycles(d.Waits, idle)
		p.roots(rootsOf(d))
	}
	first := shown
	if opt.Group && len(d.Fibers) > 0 { // what is the runtime's own comes behind them
		n := slices.IndexFunc(shown, func(e entry) bool { return e.rank >= rankLoop })
		if n >= 0 {
			first = shown[:n]
		}
	}
	for _, e := range first {
		p.entry(e)
	}
	p.fibers()
	for _, e := range shown[len(first):] {
		p.entry(e)
	}
	p.idle(idle)
	if opt.Verbose {
		p.modules()
		p.problems()
	}
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("write text of process %d: %w", d.Process.PID, err)
	}
	return nil
}

// printer writes one Dump. Its writer keeps the first error until it is flushed.
type printer struct {
	w    *bufio.Writer
	dump *profile.Dump
	opt  Options
	// newer has the source files of which it was said that they were changed since.
	newer     map[string]bool
	places    places
	addresses addresses
	index     *fiberIndex // nil before it is wanted
}

// line writes pieces that are escaped already, and ends the line.
func (p *printer) line(pieces ...string) {
	for _, s := range pieces {
		p.w.WriteString(s)
	}
	p.w.WriteByte('\n')
}

// style dresses an escaped piece.
func (p *printer) style(part Part, piece string) string {
	if p.opt.Style == nil || piece == "" {
		return piece
	}
	return p.opt.Style(part, piece)
}

// width is how many cells a line may have, 0 for any.
func (p *printer) width() int {
	if p.opt.Verbose {
		return 0
	}
	return p.opt.Width
}

// cutLine writes a line that says what is missing; reason is escaped.
func (p *printer) cutLine(reason string) {
	p.line("  ", p.style(Cut, text.Wrap("  ! "+reason, p.width(), 4)[2:]))
}

// wrapped writes a line that begins with head, dressed, and goes on in further ones where it is too long. What is done
// or waited for, if it is not "", stands behind two spaces, dressed as a Wait.
func (p *printer) wrapped(part Part, head, rest, wait string) {
	plain := head + rest
	if wait != "" {
		plain += "  " + wait
	}
	line := text.Wrap(plain, p.width(), 4)
	if !strings.HasPrefix(line, head) { // head alone is too long
		p.line(line)
		return
	}
	at := wrappedAt(line, head+rest)
	p.line(p.style(part, head), line[len(head):at], p.styleLines(Wait, line[at:]))
}

// wrappedAt is where in line, which was wrapped, what begins with begin goes on: behind as much that is no space.
func wrappedAt(line, begin string) int {
	at := 0
	for _, c := range begin {
		if unicode.IsSpace(c) {
			continue
		}
		for at < len(line) && (line[at] == ' ' || line[at] == '\n') {
			at++
		}
		at += utf8.RuneLen(c)
	}
	return min(at, len(line))
}

// styleLines dresses each line of s but for the spaces around it.
func (p *printer) styleLines(part Part, s string) string {
	if p.opt.Style == nil {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		inner := strings.Trim(line, " ")
		before, after, _ := strings.Cut(line, inner)
		lines[i] = before + p.style(part, inner) + after
	}
	return strings.Join(lines, "\n")
}

// process writes the first line: who it is, how many threads, how long they were stopped.
func (p *printer) process() {
	d := p.dump
	const least = 16 // cells of a command line that says something
	name := strings.TrimRight(fmt.Sprintf("process %d %s", d.Process.PID, text.Escape(d.Process.Comm)), " ")
	if d.Process.Role != "" {
		name += " (" + text.Escape(d.Process.Role) + ")"
	}
	counts := "  " + strings.Join(p.counts(), ", ")
	command := commandLine(&d.Process, func(program string) string { return program })
	if w := p.width(); w > 0 {
		title := len(d.Process.Cmdline) == 1 && strings.Contains(command, ": ") // what a server is at, in the end
		if all := text.Width(name) + 2 + text.Width(command); title && all <= w && all+text.Width(counts) > w {
			p.line("", p.style(Heading, name)+"  "+command)
			p.line("", counts)
			return
		}
		room := max(least, w-text.Width(name)-2-text.Width(counts))
		if text.Width(command) > room { // what follows an interpreter's path says more than its folder
			command = commandLine(&d.Process, withoutFolder)
		}
		command = text.ShortenEnd(command, room)
	}
	if command != "" {
		command = "  " + command
	}
	p.wrapped(Heading, name, command+counts, "")
}

// commandLine returns the escaped arguments, else the executable where there are none (a
// zombie, a kernel thread or a process that wiped them); program says how the first of them is written.
func commandLine(proc *profile.Process, program func(string) string) string {
	var b strings.Builder
	for i, arg := range proc.Cmdline {
		switch {
		case i > 0:
			b.WriteByte(' ')
		case arg != "":
			arg = program(arg)
		}
		b.WriteString(arg)
		if b.Len() > text.MaxName {
			break // escape says that there is more
		}
	}
	line := strings.TrimRight(b.String(), " ")
	if line == "" {
		line = proc.Exe
	}
	return text.Escape(line)
}

// withoutFolder is the last part of a path from the root; anything else as it is.
func withoutFolder(program string) string {
	if path.IsAbs(program) {
		return path.Base(program)
	}
	return program
}

// counts returns the pieces after the command line: threads, the stop, what was not reached.
func (p *printer) counts() []string {
	d := p.dump
	missed := 0
	for i := range d.Threads {
		if d.Threads[i].NotStopped != "" {
			missed++
		}
	}
	pieces := append([]string{counted(len(d.Threads), "thread")}, fiberCounts(d)...)
	switch {
	case d.Core:
		pieces = append(pieces, "from a core file")
	case d.NoStop:
		pieces = append(pieces, "nothing stopped")
		if missed > 0 {
			pieces = append(pieces, fmt.Sprintf("%d not copied", missed))
			missed = 0
		}
	case missed == len(d.Threads) && missed > 0:
		return append(pieces, "none stopped")
	case d.Batches > 1:
		pieces = append(pieces,
			fmt.Sprintf("in %d batches, as the stacks are more than is copied at once, longest stop %s",
				d.Batches, milliseconds(longestStop(d))))
	case d.Rolling:
		pieces = append(pieces, "rolling, not at one instant, longest stop "+milliseconds(longestStop(d)))
	case d.Stopped > 0:
		pieces = append(pieces, "stopped "+milliseconds(d.Stopped))
	}
	if missed > 0 {
		pieces = append(pieces, fmt.Sprintf("%d not stopped", missed))
	}
	if d.Late > 0 {
		pieces = append(pieces, fmt.Sprintf("%d later than the others", d.Late))
	}
	if d.Exited > 0 {
		pieces = append(pieces, fmt.Sprintf("%d exited meanwhile", d.Exited))
	}
	return pieces
}

func longestStop(d *profile.Dump) time.Duration {
	var longest time.Duration
	for i := range d.Threads {
		longest = max(longest, d.Threads[i].Stopped)
	}
	return longest
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

// threadsNamed is threads with their ids: "thread 7", "2 threads 7-8".
func threadsNamed(n int, ids string) string {
	if n == 1 {
		return "thread " + ids
	}
	return counted(n, "thread") + " " + ids
}

// counted is text.Count without commas: programs that read a heading look for digits alone.
func counted(n int, noun string) string { return fmt.Sprintf("%d %s", n, text.Plural(n, noun)) }
