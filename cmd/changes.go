package cmd

import (
	"fmt"
	"io"
	"slices"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
)

// writeChanges writes the n functions whose own share of the default value of d changed most, with the standard error of
// that, and how many changed by no more than chance makes.
func writeChanges(w io.Writer, dress report.Style, d *profile.Diff, n int) {
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
		fmt.Fprintf(w, "%8s %17s  function (points of %s)\n", "self", "change", wholeText(d.New, typ, whole))
	}
	points := func(v float64) float64 { return 100 * v / float64(whole) }
	for i := range changes[:min(n, sure)] {
		c := &changes[i]
		fmt.Fprintf(w, "%s %+8.2f", percent(c.Self, whole), points(float64(c.Self-c.SelfBefore)))
		if c.Known {
			fmt.Fprintf(w, " ± %6.2f", points(c.SelfError))
		} else {
			fmt.Fprintf(w, " %8s", "")
		}
		fmt.Fprintf(w, "  %s\n", functionLabel(dress, d.New, &profile.Hot{Function: c.Function, Frame: c.Frame}))
	}
	if more := sure - n; more > 0 {
		fmt.Fprintf(w, "  %s more changed\n", plural(more, "function", "functions"))
	}
	switch {
	case len(changes) > 0 && changes[0].Known:
		fmt.Fprintf(w, "  of %s %d changed by themselves within the noise of the samples (two standard errors)\n",
			plural(len(changes), "function", "functions"), len(changes)-sure)
	case sure > 0:
		fmt.Fprintln(w, "  how sure that is is not known: the profiles do not count samples")
	}
	if before != 0 && d.Scale[typ] != 1 {
		fmt.Fprintf(w, "  the older profile's values are multiplied by %.4g\n", d.Scale[typ])
	}
}
