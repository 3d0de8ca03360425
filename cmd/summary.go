package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
)

// writeHottest writes the n functions in which most of the value typ of p was spent: their
// own share, the share with what they called, and, where p has it and it is another, their
// own share of the CPU time, which tells who works from who waits.
func writeHottest(w io.Writer, dress report.Style, p *profile.Profile, typ, n int) {
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
	fmt.Fprintf(w, "%s  function (share of %s)\n", heading, wholeText(p, typ, whole[typ]))
	for _, f := range functions[:min(n, len(functions))] {
		line := percent(f.Self, whole[typ]) + " " + percent(f.Total, whole[typ])
		if cpuType >= 0 {
			line += " " + percent(cpu[f.Function], whole[cpuType])
		}
		fmt.Fprintf(w, "%s  %s\n", line, functionLabel(dress, p, &f))
	}
}

// wholeText is what shares of value typ are of. A time of all threads together is mostly more than has passed.
func wholeText(p *profile.Profile, typ int, whole int64) string {
	t := p.Types[typ]
	if !t.ThreadTime() {
		return escape(t.Type)
	}
	return t.Type + ": " + threeDigits(time.Duration(whole)) + " of thread time"
}

// threeDigits writes d in seconds, below one as time.Duration does.
func threeDigits(d time.Duration) string {
	switch s := d.Seconds(); {
	case s >= 100:
		return fmt.Sprintf("%.0f s", s)
	case s >= 1:
		return fmt.Sprintf("%.3g s", s)
	}
	return short(d).String()
}

// dresser is style, or what leaves text as it is.
func dresser(style report.Style) report.Style {
	if style == nil {
		return func(_ report.Part, text string) string { return text }
	}
	return style
}

// percent writes part of whole in eight columns.
func percent(part, whole int64) string {
	if whole == 0 {
		return fmt.Sprintf("%8s", "-")
	}
	return fmt.Sprintf("%7.1f%%", 100*float64(part)/float64(whole))
}

// functionLabel is a function and what it lies in, made harmless and short enough for a line.
func functionLabel(dress report.Style, p *profile.Profile, f *profile.Hot) string {
	const widest = 100
	frame := &p.Frames[f.Frame]
	name := dress(report.Function, middle(escape(f.Name), widest))
	switch {
	case frame.Waits():
		return name + "  (waits)"
	case frame.Module >= 0 && frame.Func != "":
		module := strings.Trim(middle(escape(p.Modules[frame.Module].Name()), widest/2), "[]")
		return name + "  " + dress(report.Module, "["+module+"]")
	}
	return name
}

// middle shortens s to at most n characters by leaving out what is in the middle: a long name
// differs from others at its end as often as at its begin.
func middle(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	left := (n - 1) / 2
	return string(r[:left]) + "…" + string(r[len(r)-(n-1-left):])
}
