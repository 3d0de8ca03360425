package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/text"
)

// writeHottest writes the n functions in which most of the value typ of p was spent: their
// own share, the share with what they called, and, where p has it and it is another, their
// own share of the CPU time, which shows who works and who waits. width is that of the terminal, 0 for any; of says
// what the shares are of.
func writeHottest(w io.Writer, dress report.Style, p *profile.Profile, typ, n, width int, of string) {
	functions := profile.Hottest(p, typ)
	functions = slices.DeleteFunc(functions, func(f profile.Hot) bool { return f.Self == 0 })
	if len(functions) == 0 {
		return
	}
	whole := p.Totals()
	cpuType := p.TypeIndex(profile.CPUTime.Type)
	if cpuType == typ || cpuType >= 0 && whole[cpuType] == 0 {
		cpuType = -1
	}
	cpu := map[profile.Function]int64{}
	heading := fmt.Sprintf("%8s %8s", "self", "total")
	if cpuType >= 0 {
		heading += fmt.Sprintf(" %8s", "cpu")
		for _, f := range profile.Hottest(p, cpuType) {
			cpu[f.Function] = f.Self
		}
	}
	fmt.Fprintf(w, "%s  function (share of %s)\n", heading, of)
	for _, f := range functions[:min(n, len(functions))] {
		line := shareCell(f.Self, whole[typ]) + " " + shareCell(f.Total, whole[typ])
		if cpuType >= 0 {
			line += " " + shareCell(cpu[f.Function], whole[cpuType])
		}
		fmt.Fprintf(w, "%s  %s\n", line, functionLabel(dress, p, &f, len(line)+2, width))
	}
}

// wholeText is what shares of value typ are of. A time of all threads together is mostly more than has passed.
func wholeText(p *profile.Profile, typ int) string {
	t, whole := p.Types[typ], p.Totals()[typ]
	if !t.ThreadTime() {
		return text.Escape(t.Type)
	}
	return t.Type + ": " + text.Duration(time.Duration(whole)) + " of thread time"
}

// shareCell is part of whole in eight columns.
func shareCell(part, whole int64) string {
	return text.PadLeft(text.Cell(float64(part), float64(whole)), 8)
}

// dresser is style, or what leaves text as it is.
func dresser(style report.Style) report.Style {
	if style == nil {
		return func(_ report.Part, text string) string { return text }
	}
	return style
}

// functionLabel is a function and the module that it lies in, or its file where it lies in none, made harmless and
// short enough for a line of width cells of which taken are used; 0 for any.
func functionLabel(dress report.Style, p *profile.Profile, f *profile.Hot, taken, width int) string {
	const widest = 100
	room := widest
	if width > 0 {
		room = min(room, width-taken)
	}
	frame := &p.Frames[f.Frame]
	place, part := "", report.Module
	switch {
	case frame.Waits():
		place, part = "(waits)", report.Wait
	case frame.Module >= 0 && frame.Func != "":
		module := text.Escape(p.Modules[frame.Module].Name())
		place = "[" + strings.Trim(text.ShortenEnd(module, max(8, room/3)), "[]") + "]"
	case frame.Func != "" && frame.File != "": // of a language
		place, part = text.ShortenPath(text.Escape(report.ShortFile(frame.File)), max(8, room/3)), report.Source
	}
	if place != "" {
		room -= text.Width(place) + 2
	}
	name := dress(report.Function, text.Shorten(text.Escape(f.Name), max(8, room)))
	if place == "" {
		return name
	}
	return name + "  " + dress(part, place)
}
