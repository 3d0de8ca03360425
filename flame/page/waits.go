package page

import (
	"strconv"

	"github.com/fpstack/fpstack/profile"
)

// shown is what of the whole is shown, with what waits or without.
func (t *shown) shown(waits bool) int64 {
	if waits {
		return t.Total
	}
	return t.Total - t.Waiting
}

// ran says of a sum that nothing in it waits.
func (t *shown) ran(waits bool) string {
	if waits || t.Waiting == 0 {
		return ""
	}
	return " that did not wait"
}

// waiting says how much waits, and whether it is shown.
func (t *shown) waiting(shown bool) string {
	text := roughly(t.Waiting, t.Total) + " " + t.Waited
	if t.Old > 0 {
		text += ", " + roughly(t.OldWaiting, t.Old) + " before"
	}
	if !shown {
		text += ", folded away here"
	}
	return text
}

// waited is what is said of the part of a value that waits, behind its share.
func waited(t profile.ValueType) string {
	switch {
	case t.ThreadTime():
		return "of thread time was waiting"
	case t == profile.SamplesCount:
		return "of samples were waiting"
	}
	return "of " + typeTitle(t) + " was waiting"
}

// roughly is part of whole in whole per cent, which is 0 or 100 only for nothing and everything.
func roughly(part, whole int64) string {
	switch share := 100 * float64(part) / float64(max(1, whole)); {
	case part > 0 && share < 1:
		return "<1 %"
	case part < whole && share > 99:
		return ">99 %"
	default:
		return strconv.FormatFloat(share, 'f', 0, 64) + " %"
	}
}
