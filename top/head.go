package top

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// ink is what a piece of text is, for colours.
type ink uint8

const (
	plain ink = iota
	strong
	faint
	bar       // heading of a table
	barSorted // the column in it that orders the rows
	chosen    // the row that keys act on
	bad       // what is missing or went wrong
	waits     // a wait in the kernel
	rises
	falls
)

// span is text without control characters.
type span struct {
	text string
	ink  ink
}

// line is one line of the picture, not yet cut to the terminal's width.
type line []span

// headData is what the head lines show.
type headData struct {
	title      string
	stats      Stats
	valueType  profile.ValueType
	view       view
	table      *table
	ran, gone  int // threads that ran in the last take, threads that have ended
	windowText string
	frozen     bool
	problems   []string // of taking and of sampling as a whole
	comments   []string // of the last profile
}

// headLines are the three lines above the table. They shorten before they are cut.
func (h *headData) headLines(cells int) []line {
	return []line{h.samplingLine(cells), h.threadsLine(cells), h.missingLine(cells)}
}

// samplingLine: what is sampled, how often, and what it costs the threads.
func (h *headData) samplingLine(cells int) line {
	s, title := &h.stats, text.Escape(h.title)
	p50, most, stopped := pause(s.PauseP50), pause(s.PauseMax), text.Percent(s.Stood, 1, 2)
	wanted, of := "as fast as it goes", ""
	if s.Wanted > 0 {
		wanted, of = rate(s.Wanted)+" Hz asked", "/"+rate(s.Wanted)
	}
	reached := rate(s.Reached)
	for _, form := range []struct {
		least int // cells for the title
		facts string
	}{
		{text.Width(title), fmt.Sprintf("  %s  %s, %s reached  pause %s, max %s  stopped %s", kindOfTime(h.valueType),
			wanted, reached, p50, most, stopped)},
		{24, fmt.Sprintf("  %s  %s%s Hz  pause %s max %s  stopped %s", kindOfTime(h.valueType), reached, of, p50, most,
			stopped)},
		{12, fmt.Sprintf("  %s  %s%s Hz  pause %s max %s  stopped %s", h.valueType.Type, reached, of, p50, most,
			stopped)},
		{12, fmt.Sprintf("  %s %s%s Hz %s/%s %s", h.valueType.Type, reached, of, p50, most, stopped)},
		{5, fmt.Sprintf(" %s%sHz %s/%s %s", reached, of, p50, most, stopped)},
	} {
		if room := cells - text.Width(form.facts); room >= min(form.least, text.Width(title)) {
			return line{{text.ShortenEnd(title, room), strong}, {form.facts, plain}}
		}
	}
	return line{{title, strong}}
}

// threadsLine: what the threads do, and what is shown of that.
func (h *headData) threadsLine(cells int) line {
	reach := "last " + h.windowText
	if h.view.sinceBegin {
		reach = "since start " + text.Duration(h.table.covered)
	}
	waited := max(0, h.stats.Threads-h.ran)
	parts := []string{
		h.cpu(), fmt.Sprintf("threads: %d ran, %d waited, %d gone", h.ran, waited, h.gone),
		"by " + h.view.by.String(), reach,
	}
	if !h.view.idle && h.table.idle.value > 0 {
		parts = append(parts, "idle hidden")
	}
	if h.view.native == nativeFolded {
		parts = append(parts, "native folded")
	}
	tooWide := func() bool { return text.Width(strings.Join(parts, "  ")) > cells }
	gone := fmt.Sprintf(", %d gone", h.gone)
	if tooWide() && h.gone == 0 {
		parts[1], gone = strings.TrimSuffix(parts[1], gone), ""
	}
	if tooWide() && h.view.by == ByFunction { // the heading says it
		parts = slices.Delete(parts, 2, 3)
	}
	if tooWide() {
		parts[1] = fmt.Sprintf("%d ran, %d waited%s", h.ran, waited, gone)
	}
	l := line{{strings.Join(parts, "  "), plain}}
	if h.view.filter.text != "" {
		l = append(l, span{"  filter " + text.Escape(h.view.filter.text), bad})
	}
	if h.frozen {
		l = append(line{span{"FROZEN  ", bad}}, l...)
	}
	return l
}

// cpu says how much of one CPU all that is sampled used: over the time that the rows are of, "-" where it is not
// known.
func (h *headData) cpu() string {
	share, ok := h.table.cpuShare(h.table.cpu)
	if !ok {
		return "CPU -"
	}
	return "CPU " + text.Percent(share, 1, 1)
}

// missingLine: what the numbers below do not show.
func (h *headData) missingLine(int) line {
	if missing := h.missing(); len(missing) > 0 {
		return line{{strings.Join(missing, "; "), bad}}
	}
	return line{{"nothing missing", faint}}
}

// missing lists it, the gravest first.
func (h *headData) missing() []string {
	var list []string
	for _, problem := range h.problems {
		list = append(list, text.Message(problem))
	}
	s := &h.stats
	if s.Lost > 0 {
		list = append(list, sharePart(s.Lost, s.Lost+s.Samples)+" of samples lost")
	}
	if s.Cut > 0 {
		list = append(list, sharePart(s.Cut, s.Walked)+" of stacks cut")
	}
	if s.Late > 0 && s.Late >= (s.Late+s.Ticks)/1000 {
		list = append(list, sharePart(s.Late, s.Late+s.Ticks)+" of samples late")
	}
	for _, notes := range [][]string{h.comments, s.Notes} {
		for _, note := range notes {
			list = append(list, text.Message(note))
		}
	}
	return list
}

func sharePart(part, all uint64) string { return text.Percent(float64(part), float64(all), 1) }

// kindOfTime names a type of values for the head. Times are those of all threads added up: a reader who sees more
// seconds than have passed shall know why.
func kindOfTime(t profile.ValueType) string {
	switch t.Type {
	case profile.WallTime.Type:
		return "thread wall time"
	case profile.CPUTime.Type:
		return "thread CPU time"
	}
	return text.Escape(t.Type)
}

// rate shows samples a second: 99, 98.7.
func rate(hz float64) string {
	if hz >= 1000 || hz == math.Trunc(hz) {
		return fmt.Sprintf("%.0f", hz)
	}
	return fmt.Sprintf("%.1f", hz)
}

// value shows an amount in the unit of t.
func value(v float64, t profile.ValueType) string {
	if v == 0 {
		return "0"
	}
	return text.Quantity(v, t.Unit)
}

// pause shows how long threads were stopped; "-" before the first stop.
func pause(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return text.Duration(d)
}
