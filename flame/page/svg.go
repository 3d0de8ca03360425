package page

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/text"
)

// What is above the rows of an SVG.
const svgHeader = 44

func (g *graph) writeSVG(w *bufio.Writer, opt Options) error {
	width := float64(pageWidth)
	p, err := g.newPicture(opt, width, 0)
	if err != nil {
		return err
	}
	p.top = svgHeader + p.above()
	height := p.height() + p.top + margin
	facts := g.facts(opt.Type)
	if p.hidden > 0 {
		facts = slices.Insert(facts, 1, text.Thousands(p.hidden)+" frames narrower than half a pixel are not drawn")
	}
	if p.tip < tipWidth {
		cut := fmt.Sprintf("names are cut in tips after %d letters: the picture would be too large with all of them",
			p.tip)
		facts = slices.Insert(facts, 1, cut)
		if opt.Warn != nil {
			opt.Warn(cut)
		}
	}
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="100%%" height="%.0f" viewBox="0 0 %.0f %.0f" `+
		`preserveAspectRatio="xMinYMin meet" font-family="ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace" `+
		`font-size="%d" fill="%s">
<title>%s</title>
<rect width="100%%" height="100%%" fill="%s"/>
<g id="static"><text x="%d" y="18" font-size="15">%s</text><text x="%d" y="36">%s</text>
`, height, width, height, fontSize, p.colours.Text, escape(g.head.Title), p.colours.Paper,
		margin, escape(text.Shorten(g.head.Title, int(width/10))),
		margin, escape(text.Shorten(strings.Join(facts, ". "), int(width/letterWidth)-2)))
	p.explain(w, svgHeader)
	p.draw(w)
	w.WriteString("</g>\n")
	if !opt.Static {
		loader, script, err := scripts(pictureScript)
		if err != nil {
			return err
		}
		w.WriteString(`<metadata id="code">`)
		if err := zipped(w, script); err != nil {
			return err
		}
		w.WriteString("</metadata>\n" + `<metadata id="data">`)
		if err := g.pack(w); err != nil {
			return err
		}
		w.WriteString("</metadata>\n<script><![CDATA[\n" + loader + "]]></script>\n")
	}
	w.WriteString("</svg>\n")
	return w.Flush()
}
