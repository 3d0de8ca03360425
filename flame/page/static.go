package page

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// Measures of the picture, in pixels. A letter of a font of one width is about 0.602 of the
// font's size wide.
const (
	rowHeight   = 18
	letterWidth = 7.22
	fontSize    = 12
	pageWidth   = 1200
	margin      = 10
	tipWidth    = 4000 // letters of a name that a tip shows; one name may be in many boxes
)

// picture is the flame graph as it is drawn without script: rectangles that hold more than
// least of the value.
type picture struct {
	g          *graph
	colours    theme
	value      shown
	waits      bool // what waits is drawn
	totals     []int64
	olds       []int64 // nil unless two profiles are compared
	diff       *profile.Diff
	typ        int
	hidden     int              // nodes that are too narrow to be drawn
	gone       []profile.NodeID // nodes that only the older side has, outermost ones, the largest first
	depth      []int32          // -1: not drawn
	rows       int
	width, top float64
	inverted   bool
}

// newPicture chooses what is drawn: all that is at least half a pixel wide, and if most is
// not 0 the widest most of those.
func (g *graph) newPicture(opt Options, width float64, most int) (*picture, error) {
	themes, err := palette()
	if err != nil {
		return nil, err
	}
	waits := g.head.Waits
	p := &picture{g: g, colours: themes["light"], value: g.head.Types[opt.Type],
		totals: g.values(opt.Type, side{false, waits}),
		depth:  make([]int32, g.tree.Len()), width: width, inverted: opt.Inverted, waits: waits, diff: opt.Diff,
		typ: opt.Type}
	if g.head.Diff {
		p.olds = g.values(opt.Type, side{true, waits})
		p.gone = p.lost()
	}
	p.choose(most)
	return p, nil
}

// choose sets the depth of what is drawn.
func (p *picture) choose(most int) {
	if most == 0 {
		most = len(p.totals)
	}
	scores := make([]uint64, len(p.totals))
	for n, v := range p.totals {
		scores[n] = uint64(max(0, v))
	}
	wide := profile.Largest(scores, uint64(max(1, float64(p.totals[0])*0.5/(p.width-2*margin))), most)
	for n := range p.depth {
		above := int32(-1)
		if n > 0 {
			above = p.depth[p.g.tree.Parent(profile.NodeID(n))]
		}
		p.depth[n] = -1
		if wide[n] {
			p.depth[n] = above + 1
			p.rows = max(p.rows, int(above)+2)
		} else if p.totals[n] > 0 {
			p.hidden++
		}
	}
}

// height of the rows alone.
func (p *picture) height() float64 { return float64(p.rows * rowHeight) }

// above is how much room what explains the colours takes above the rows.
func (p *picture) above() float64 {
	if len(p.gone) == 0 {
		return rowHeight + 4
	}
	return 2*rowHeight + 4
}

// draw writes a group of rectangles, each with its text and title.
func (p *picture) draw(w *bufio.Writer) {
	whole := float64(p.totals[0])
	if whole == 0 {
		return
	}
	scale := (p.width - 2*margin) / whole
	next := make([]int64, len(p.totals)) // where the next callee begins
	for n := range p.totals {
		var from int64
		if n > 0 {
			up := p.g.tree.Parent(profile.NodeID(n))
			from = next[up]
			next[up] += p.totals[n]
		}
		next[n] = from
		if p.depth[n] < 0 {
			continue
		}
		y := p.top + float64(p.depth[n])*rowHeight
		if !p.inverted {
			y = p.top + p.height() - float64(p.depth[n]+1)*rowHeight
		}
		p.rectangle(w, profile.NodeID(n), margin+float64(from)*scale, y, float64(p.totals[n])*scale)
	}
}

func (p *picture) rectangle(w *bufio.Writer, n profile.NodeID, x, y, width float64) {
	at := p.g.place(n)
	name := p.g.name(n)
	fill := p.colours.fill(at)
	if p.olds != nil {
		fill = p.colours.change(p.change(n))
		if p.noise(n) {
			fill = p.colours.Equal
		}
	}
	box{x, y, width, fill, p.title(n, name, at), name}.write(w)
}

// box is a rectangle with its text and its tip.
type box struct {
	x, y, width float64
	fill        string
	title, text string
}

func (r box) write(w *bufio.Writer) {
	var b [64]byte
	w.WriteString("<g><title>")
	w.WriteString(escape(r.title))
	w.WriteString(`</title><rect x="`)
	w.Write(strconv.AppendFloat(b[:0], r.x, 'f', 1, 64))
	w.WriteString(`" y="`)
	w.Write(strconv.AppendFloat(b[:0], r.y, 'f', -1, 64))
	w.WriteString(`" width="`)
	w.Write(strconv.AppendFloat(b[:0], max(0.1, r.width-0.4), 'f', 1, 64))
	fmt.Fprintf(w, `" height="%d" fill="%s"/>`, rowHeight-1, r.fill)
	const least = 3 // letters of a name that was shortened: fewer say nothing
	letters := int((r.width - 6) / letterWidth)
	if label := text.Shorten(r.text, letters); label != "" && (label == r.text || letters >= least) {
		w.WriteString(`<text x="`)
		w.Write(strconv.AppendFloat(b[:0], r.x+3, 'f', 1, 64))
		w.WriteString(`" y="`)
		w.Write(strconv.AppendFloat(b[:0], r.y+13, 'f', -1, 64))
		w.WriteString(`">`)
		w.WriteString(escape(label))
		w.WriteString("</text>")
	}
	w.WriteString("</g>\n")
}

func (p *picture) title(n profile.NodeID, name string, at *place) string {
	var b strings.Builder
	b.WriteString(text.Shorten(name, tipWidth))
	if s := at.source(); s != "" {
		b.WriteString(" (" + text.Shorten(s, tipWidth) + ")")
	}
	v := float64(p.totals[n])
	fmt.Fprintf(&b, ": %s, %s", p.value.amount(v, n == 0), share(v, float64(p.totals[0])))
	if p.olds != nil {
		b.WriteString(", " + p.points(n))
	}
	return b.String()
}

// place is what node n is of.
func (g *graph) place(n profile.NodeID) *place {
	if n == 0 {
		return &g.places[rootFrame]
	}
	return &g.places[g.tree.Frame(n)]
}

// name is the text of the rectangle of node n.
func (g *graph) name(n profile.NodeID) string {
	at := g.place(n)
	switch count := text.Thousands(g.smaller[n]); {
	case g.smaller[n] == 0:
		return at.name
	case at.waits:
		return "(" + count + " smaller, waiting)"
	default:
		return "(" + count + " smaller)"
	}
}
