package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/text"
)

// writeChanges writes the n functions whose own share of the default value of d changed most, with the standard error
// of that, and how many changed by no more than chance makes.
func writeChanges(w io.Writer, dress report.Style, d *profile.Diff, n, width int) {
	typ := d.New.Default
	whole, before := d.New.Totals()[typ], d.Older().Totals()[typ]
	if whole == 0 {
		return
	}
	changes := d.Changes(typ)
	sure := slices.IndexFunc(changes, func(c profile.Change) bool { return c.SelfNoise })
	if sure < 0 {
		sure = len(changes)
	}
	if sure > 0 {
		fmt.Fprintf(w, "%8s %17s  function (points of %s)\n", "self", "change", wholeText(d.New, typ))
	}
	points := func(v float64) float64 { return 100 * v / float64(whole) }
	for i := range changes[:min(n, sure)] {
		c := &changes[i]
		line := fmt.Sprintf("%s %+8.2f", shareCell(c.Self, whole), points(float64(c.Self-c.SelfBefore)))
		if c.Known {
			line += fmt.Sprintf(" ± %6.2f", points(c.SelfError))
		} else {
			line += strings.Repeat(" ", 9)
		}
		fmt.Fprintf(w, "%s  %s\n", line,
			functionLabel(dress, d.New, &profile.Hot{Function: c.Function, Frame: c.Frame}, text.Width(line)+2, width))
	}
	if more := sure - n; more > 0 {
		fmt.Fprintf(w, "  %s more changed\n", text.Count(more, "function"))
	}
	switch {
	case len(changes) > 0 && changes[0].Known:
		line := fmt.Sprintf("  of %s %s changed by themselves within the noise of the samples (two standard errors)",
			text.Count(len(changes), "function"), text.Thousands(len(changes)-sure))
		fmt.Fprintln(w, text.Wrap(line, width, 4))
	case sure > 0:
		fmt.Fprintln(w, "  how certain this is cannot be said: the profiles have no sample counts")
	}
	if before != 0 && d.Scale[typ] != 1 {
		fmt.Fprintf(w, "  the older profile's values are multiplied by %.4g\n", d.Scale[typ])
	}
}
