package top

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/fpstack/fpstack/profile"
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

// headData is what the head lines tell.
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

// samplingLine: what is looked at, how often, and what it costs the threads.
func (h *headData) samplingLine(cells int) line {
	s, title := &h.stats, escape(h.title)
	p50, most, stood := shortTime(s.PauseP50), shortTime(s.PauseMax), percent(s.Stood, 2)
	asked, of := "as fast as it goes", ""
	if s.Wanted > 0 {
		asked, of = rate(s.Wanted)+" Hz asked", "/"+rate(s.Wanted)
	}
	reached := rate(s.Reached)
	for _, form := range []struct {
		least int // cells for the title
		text  string
	}{
		{width(title), fmt.Sprintf("  %s  %s, %s reached  pause %s, max %s  stood still %s", kindOfTime(h.valueType), asked, reached, p50, most, stood)},
		{24, fmt.Sprintf("  %s  %s%s Hz  pause %s max %s  stood %s", kindOfTime(h.valueType), reached, of, p50, most, stood)},
		{12, fmt.Sprintf("  %s %s%s Hz %s/%s %s", h.valueType.Type, reached, of, p50, most, stood)},
		{5, fmt.Sprintf(" %s%sHz %s/%s %s", reached, of, p50, most, stood)},
	} {
		if room := cells - width(form.text); room >= min(form.least, width(title)) {
			return line{{cutEnd(title, room), strong}, {form.text, plain}}
		}
	}
	return line{{title, strong}}
}

// threadsLine: what the threads do, and what is shown of that.
func (h *headData) threadsLine(cells int) line {
	reach := "last " + h.windowText
	if h.view.sinceBegin {
		reach = "since start " + shortTime(h.table.covered)
	}
	waited := max(0, h.stats.Threads-h.ran)
	parts := []string{
		fmt.Sprintf("threads: %d ran, %d waited, %d gone", h.ran, waited, h.gone),
		"by " + h.view.by.String(), reach,
	}
	if width(strings.Join(parts, "  ")) > cells-12 {
		parts[0] = fmt.Sprintf("%d ran %d waited %d gone", h.ran, waited, h.gone)
	}
	if !h.view.idle && h.table.idle.value > 0 {
		parts = append(parts, "idle hidden")
	}
	l := line{{strings.Join(parts, "  "), plain}}
	if h.view.filter.text != "" {
		l = append(l, span{"  filter " + escape(h.view.filter.text), bad})
	}
	if h.frozen {
		l = append(line{span{"FROZEN  ", bad}}, l...)
	}
	return l
}

// missingLine: what the numbers below do not tell.
func (h *headData) missingLine(int) line {
	if missing := h.missing(); len(missing) > 0 {
		return line{{strings.Join(missing, "; "), bad}}
	}
	return line{{"nothing missing", faint}}
}

// missing lists it, the gravest first.
func (h *headData) missing() []string {
	var list []string
	for _, text := range h.problems {
		list = append(list, escape(text))
	}
	s := &h.stats
	if s.Lost > 0 {
		list = append(list, fmt.Sprintf("%s of looks gave no stack", percent(ratio(s.Lost, s.Lost+s.Samples), 1)))
	}
	if s.Cut > 0 {
		list = append(list, fmt.Sprintf("%s of stacks cut", percent(ratio(s.Cut, s.Walked), 1)))
	}
	if late := ratio(s.Late, s.Late+s.Ticks); late >= 0.001 {
		list = append(list, fmt.Sprintf("%s of looks late", percent(late, 1)))
	}
	for _, texts := range [][]string{h.comments, s.Notes} {
		for _, text := range texts {
			list = append(list, escape(text))
		}
	}
	return list
}

func ratio(part, all uint64) float64 {
	if all == 0 {
		return 0
	}
	return float64(part) / float64(all)
}

// kindOfTime names a type of values for the head. Times are those of all threads added up: a reader who sees more seconds
// than have passed shall know why.
func kindOfTime(t profile.ValueType) string {
	switch t.Type {
	case profile.WallTime.Type:
		return "thread wall time"
	case profile.CPUTime.Type:
		return "thread CPU time"
	}
	return escape(t.Type)
}

// percent shows a share with so many digits behind the point.
func percent(share float64, digits int) string {
	return fmt.Sprintf("%.*f%%", digits, 100*share)
}

// rate shows looks a second: 99, 98.7.
func rate(hz float64) string {
	if hz >= 1000 || hz == math.Trunc(hz) {
		return fmt.Sprintf("%.0f", hz)
	}
	return fmt.Sprintf("%.1f", hz)
}

// shortTime shows d with three digits: 21µs, 3.40ms, 12.3s.
func shortTime(d time.Duration) string {
	units := []struct {
		unit time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}}
	for _, u := range units {
		if d < u.unit {
			continue
		}
		v := float64(d) / float64(u.unit)
		switch {
		case v < 9.995 && u.unit != time.Microsecond:
			return fmt.Sprintf("%.2f%s", v, u.name)
		case v < 99.95 && u.unit != time.Microsecond:
			return fmt.Sprintf("%.1f%s", v, u.name)
		}
		return fmt.Sprintf("%.0f%s", v, u.name)
	}
	return fmt.Sprintf("%dns", max(0, d))
}

// value shows an amount in the unit of t.
func value(v float64, t profile.ValueType) string {
	if t.Unit == profile.WallTime.Unit && v != 0 {
		if v > 0 && v < 1000 {
			return "<1µs"
		}
		return shortTime(time.Duration(v))
	}
	return fmt.Sprintf("%.0f", v)
}
