package page

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// compared says with what the value as a whole is compared.
func (t *shown) compared() string {
	line := "compared with " + t.amount(float64(t.Old), true)
	if t.scale != 1 {
		line += fmt.Sprintf(" (%s multiplied by %.4g)", text.Quantity(float64(t.Old)/t.scale, t.Unit), t.scale)
	}
	return line
}

// change says by which share of the whole node n changed.
func (p *picture) change(n profile.NodeID) float64 {
	return (float64(p.totals[n]) - float64(p.olds[n])) / p.whole()
}

// whole is what shares are of: the newer side, or what there is.
func (p *picture) whole() float64 {
	if p.totals[0] > 0 {
		return float64(p.totals[0])
	}
	return max(1, float64(p.olds[0]))
}

// noise says that the change of node n is no more than chance makes, see profile.Diff.Noise.
func (p *picture) noise(n profile.NodeID) bool {
	if p.diff == nil {
		return p.olds[n] == p.totals[n]
	}
	return p.diff.Noise(p.typ, p.olds[n], p.totals[n])
}

// points tells the change of node n in points of the whole, and how sure it is.
func (p *picture) points(n profile.NodeID) string {
	text := fmt.Sprintf("%+.2f", 100*p.change(n))
	if p.diff == nil {
		return text + " points"
	}
	err, ok := p.diff.Error(p.typ, p.olds[n], p.totals[n])
	if !ok {
		return text + " points"
	}
	text += fmt.Sprintf(" ± %.2f points", 100*err/p.whole())
	if p.noise(n) {
		text += ", within the noise of the samples"
	}
	return text
}

// lost finds the stacks that only the older side has.
func (p *picture) lost() []profile.NodeID {
	var gone []profile.NodeID
	for n := profile.NodeID(1); int(n) < len(p.totals); n++ {
		up := p.g.tree.Parent(n)
		if p.totals[n] == 0 && p.olds[n] > 0 && (up == 0 || p.totals[up] > 0) {
			gone = append(gone, n)
		}
	}
	slices.SortFunc(gone, func(a, b profile.NodeID) int {
		return cmp.Or(cmp.Compare(p.olds[b], p.olds[a]), cmp.Compare(a, b))
	})
	return gone
}

// explain draws above the rows what the colours mean, and of a difference what only the older side has.
func (p *picture) explain(w *bufio.Writer, y float64) {
	const side = 12
	x := float64(margin)
	part := func(label string, colours ...string) {
		for _, colour := range colours {
			fmt.Fprintf(w, `<rect x="%.1f" y="%.1f" width="%d" height="%d" fill="%s"/>`+"\n", x, y+3, side, side,
				colour)
			x += side
		}
		if len(colours) > 0 {
			x += 5
		}
		fmt.Fprintf(w, `<text x="%.1f" y="%.1f">%s</text>`+"\n", x, y+13, escape(label))
		x += float64(text.Width(label)+2) * letterWidth
	}
	if p.olds == nil {
		for _, k := range p.g.head.Kinds {
			part(kindLabels[k], p.colours.Kinds[kindNames[k]][shades/2])
		}
		return
	}
	part("more", p.colours.More...)
	part("less", p.colours.Less...)
	part(p.value.Equal, p.colours.Equal)
	part(strengths)
	if len(p.gone) > 0 {
		p.drawGone(w, y+rowHeight)
	}
}

// drawGone draws a row of what only the older side has, as wide as it was, narrower if that does not fit.
func (p *picture) drawGone(w *bufio.Writer, y float64) {
	const label = "gone:"
	fmt.Fprintf(w, `<text x="%d" y="%.1f">%s</text>`+"\n", margin, y+13, label)
	x := margin + (float64(len(label))+1)*letterWidth
	sum := 0.0
	for _, n := range p.gone {
		sum += float64(p.olds[n])
	}
	const last = 3 // pixels that the box of the small ones has at least
	scale := min((p.width-2*margin)/p.whole(), (p.width-margin-last-x)/sum)
	drawn := 0
	for ; drawn < len(p.gone) && (drawn == 0 || float64(p.olds[p.gone[drawn]])*scale >= 1); drawn++ {
		n := p.gone[drawn]
		v := float64(p.olds[n])
		name, tip := p.named(n)
		title := tip + ": gone, was " + text.Quantity(v, p.value.Unit) + ", " + p.points(n)
		box{x, y, v * scale, p.colours.Less[len(p.colours.Less)-1], title, name}.write(w)
		x, sum = x+v*scale, sum-v
	}
	if more := len(p.gone) - drawn; more > 0 {
		name := "(" + text.Thousands(more) + " smaller)"
		box{x, y, max(last, sum*scale), p.colours.Less[0], name + ": gone, was " + text.Quantity(sum, p.value.Unit),
			name}.write(w)
	}
}
