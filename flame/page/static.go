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
)

// Bounds of the names that tips show in full: one name may be in many boxes.
const (
	tipWidth  = 4000     // letters of one
	leastTip  = 120      // the same where there are many
	maxAllTip = 16 << 20 // bytes of all
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
	hidden     int // nodes that are too narrow to be drawn
	tip        int // letters of a name that a tip shows
	shorts     map[profile.FrameID]short
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
		typ: opt.Type, shorts: map[profile.FrameID]short{}}
	if g.head.Diff {
		p.olds = g.values(opt.Type, side{true, waits})
		p.gone = p.lost()
	}
	p.choose(most)
	p.tip = p.tipLetters(maxAllTip)
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

// tipLetters is how many letters of a name fit in each tip so that all together have about most bytes.
func (p *picture) tipLetters(most int) int {
	boxes := make([]int, len(p.g.places)) // by what they are of
	for n, depth := range p.depth {
		if depth >= 0 {
			boxes[p.g.frame(profile.NodeID(n))]++
		}
	}
	for _, n := range p.gone[:min(len(p.gone), int(p.width))] { // each is drawn a pixel wide at least
		boxes[p.g.frame(n)]++
	}
	for letters := tipWidth; letters > leastTip; letters /= 2 {
		sum := 0
		for f, count := range boxes {
			if count > 0 {
				sum += count * len(escape(p.g.places[f].tip(letters)))
			}
		}
		if sum <= most {
			return letters
		}
	}
	return leastTip
}

// named returns the text of the box of node n, and what its tip begins with.
func (p *picture) named(n profile.NodeID) (label, tip string) {
	if p.g.smaller[n] > 0 {
		label = p.g.name(n) // "(3 smaller)"
		return label, label
	}
	s := p.short(n)
	return s.name, s.tip
}

// short is what boxes show of a place, of whose name no more than that is looked at again.
type short struct{ name, tip string }

func (p *picture) short(n profile.NodeID) short {
	f := p.g.frame(n)
	s, ok := p.shorts[f]
	if !ok {
		at := &p.g.places[f]
		s = short{text.Shorten(at.name, max(p.tip, int(p.width/letterWidth))), at.tip(p.tip)}
		p.shorts[f] = s
	}
	return s
}

// tip is what is shown of a place: its name and where it is in the source.
func (at *place) tip(letters int) string {
	tip := text.Shorten(at.name, letters)
	if s := at.source(); s != "" {
		tip += " (" + text.Shorten(s, letters) + ")"
	}
	return tip
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
	name, tip := p.named(n)
	fill := p.colours.fill(p.g.place(n))
	if p.olds != nil {
		fill = p.colours.change(p.change(n))
		if p.noise(n) {
			fill = p.colours.Equal
		}
	}
	box{x, y, width, fill, p.title(n, tip), name}.write(w)
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

func (p *picture) title(n profile.NodeID, tip string) string {
	var b strings.Builder
	b.WriteString(tip)
	v := float64(p.totals[n])
	fmt.Fprintf(&b, ": %s, %s", p.value.amount(v, n == 0), share(v, float64(p.totals[0])))
	if p.olds != nil {
		b.WriteString(", " + p.points(n))
	}
	return b.String()
}

// place is what node n is of.
func (g *graph) place(n profile.NodeID) *place { return &g.places[g.frame(n)] }

// frame is the index of that in g.places.
func (g *graph) frame(n profile.NodeID) profile.FrameID {
	if n == 0 {
		return rootFrame
	}
	return g.tree.Frame(n)
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
