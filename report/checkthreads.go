package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/check"
	"github.com/fpstack/fpstack/text"
)

// threads writes how far frame pointers alone lead, and what fixes the breaks, once for each module.
func (p *checkPrinter) threads() {
	if len(p.r.Threads) == 0 {
		return
	}
	p.line("frame pointers alone, compared with the full walk:")
	mends := map[string]string{}
	var order []string
	for i := range p.r.Threads {
		t := &p.r.Threads[i]
		p.thread(t)
		for _, b := range t.Breaks {
			for _, c := range append([]check.Culprit{{Module: b.Module, Fix: b.Fix}}, b.Also...) {
				if c.Fix != "" && mends[c.Module] == "" {
					mends[c.Module] = c.Fix
					order = append(order, c.Module)
				}
			}
		}
	}
	for i, module := range order {
		if i == 0 {
			p.line("  what fixes it:")
		}
		p.line("    ", moduleName(module), "  ", text.Escape(mends[module]))
	}
}

// thread writes one group of threads alike.
func (p *checkPrinter) thread(t *check.Thread) {
	who := "thread " + fmt.Sprint(t.TIDs[0])
	if len(t.TIDs) > 1 {
		who = fmt.Sprintf("%d threads %s", len(t.TIDs), tidRanges(t.TIDs))
	}
	reach := fmt.Sprintf("%d of %s", t.Reached, counted(t.Frames, "frame"))
	if t.NotWalked != "" {
		reach = "not walked: " + text.Escape(t.NotWalked)
	}
	p.line("  ", p.style(Thread, who), " ", someNames(t.Names), "  ", reach)
	for _, b := range t.Breaks {
		p.line("    #", fmt.Sprintf("%-2d ", b.Frame), p.style(Function, functionName(&b)), "  ", breakText(&b))
		if len(b.Also) > 0 {
			p.line("        without frame pointer too: ", culprits(b.Also))
		}
	}
	if t.MoreBreaks > 0 {
		p.line("    … ", counted(t.MoreBreaks, "more break"))
	}
	if t.Stop != "" {
		p.line("    ", p.style(Cut, "! the full walk was cut: "+text.Escape(t.Stop)))
	}
}

func functionName(b *check.Break) string {
	name := text.Escape(b.Function)
	switch {
	case b.Signal:
		name = "(signal)"
	case name == "":
		name = "??"
	}
	return name + "  [" + moduleName(b.Module) + "]"
}

func moduleName(path string) string {
	if path == "" {
		return "no file"
	}
	return text.Escape(baseName(path))
}

func breakText(b *check.Break) string {
	effect := map[check.Effect]string{check.Skips: "loses its caller", check.Ends: "ends the chain",
		check.Astray: "leads astray"}[b.Effect]
	if b.Effect != check.Skips {
		effect += ", " + counted(b.Lost, "frame") + " lost"
	}
	return effect + ": " + text.Escape(b.Reason)
}

// culprits lists functions, with their numbers where they occur more than once.
func culprits(list []check.Culprit) string {
	var out []string
	for _, c := range list {
		name := functionName(&check.Break{Function: c.Function, Module: c.Module})
		if c.Frames > 1 {
			name += fmt.Sprintf(" x %d", c.Frames)
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

// tidRanges writes ascending ids with runs as ranges.
func tidRanges(tids []int) string {
	var parts []string
	for i := 0; i < len(tids); {
		end := i
		for end+1 < len(tids) && tids[end+1] == tids[end]+1 {
			end++
		}
		if len(parts) == maxRanges {
			parts = append(parts, fmt.Sprintf("… %d more", len(tids)-i))
			break
		}
		if end > i {
			parts = append(parts, fmt.Sprintf("%d-%d", tids[i], tids[end]))
		} else {
			parts = append(parts, fmt.Sprint(tids[i]))
		}
		i = end + 1
	}
	return strings.Join(parts, ",")
}

// someNames returns the first distinct names, quoted.
func someNames(names []string) string {
	var out []string
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			continue
		}
		if len(out) == maxNames {
			out = append(out, "…")
			break
		}
		out = append(out, text.Quote(n))
	}
	return strings.Join(out, ", ")
}
