package page

import (
	"bufio"
	"fmt"
	"io"

	"github.com/fpstack/fpstack/text"
)

// What the page shows without script.
const (
	staticFrames = 300
	staticRows   = 30
)

func (g *graph) writeHTML(w *bufio.Writer, opt Options) error {
	loader, script, err := scripts(pageScript)
	if err != nil {
		return err
	}
	style, err := sources("page.css")
	if err != nil {
		return err
	}
	policy := "default-src 'none'; base-uri 'none'; form-action 'none'; style-src '" + digest(style) + "'"
	if !opt.Static {
		policy += "; script-src '" + digest(loader) + "' '" + digest(script) + "'"
	}
	fmt.Fprintf(w, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="fpstack">
<title>%s</title>
<style>%s</style>
</head>
<body>
`, policy, escape(g.head.Title), style)
	if !opt.Static {
		// First, so that the static part is never painted where the script runs.
		w.WriteString("<script>" + loader + "</script>\n")
	}
	if err := g.writeStatic(w, opt); err != nil {
		return err
	}
	if !opt.Static {
		w.WriteString(`<script type="application/octet-stream" id="code">`)
		if err := zipped(w, script); err != nil {
			return err
		}
		w.WriteString("</script>\n" + `<script type="application/octet-stream" id="data">`)
		if err := g.pack(w); err != nil {
			return err
		}
		w.WriteString("</script>\n")
	}
	w.WriteString("</body>\n</html>\n")
	return w.Flush()
}

// writeStatic writes what is read without script. It uses no styles: a host's policy may
// forbid them.
func (g *graph) writeStatic(w *bufio.Writer, opt Options) error {
	p, err := g.newPicture(opt, pageWidth, staticFrames)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "<main id=\"static\">\n<h1>%s</h1>\n", escape(g.head.Title))
	for _, line := range g.facts(opt.Type) {
		fmt.Fprintf(w, "<p>%s</p>\n", escape(line))
	}
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" role="img" `+
		`aria-label="Flame graph: %s" viewBox="0 0 %d %.0f" width="100%%" font-family="monospace" `+
		`font-size="%d" fill="%s">`+"\n",
		escape(g.head.Title), pageWidth, p.height()+p.above(), fontSize, p.colours.Text)
	p.top = p.above()
	p.explain(w, 0)
	p.draw(w)
	w.WriteString("</svg>\n")
	if frames := g.tree.Len() - 1; frames > staticFrames && !opt.Static {
		fmt.Fprintf(w, "<p>The %d widest of %s frames. A browser that runs this page's script shows all of them.</p>\n",
			staticFrames, text.Thousands(frames))
	}
	g.writeTable(w, opt.Type)
	w.WriteString("</main>\n")
	return nil
}

// writeTable writes the functions with the most value of their own.
func (g *graph) writeTable(w io.StringWriter, typ int) {
	t := g.head.Types[typ]
	all := float64(t.shown(g.head.Waits))
	row := func(tag string, cells ...string) {
		w.WriteString("<tr>")
		for i, cell := range cells {
			align := ""
			if i < 4 {
				align = ` align="right"`
			}
			w.WriteString("<" + tag + align + ">" + escape(cell) + "</" + tag + ">")
		}
		w.WriteString("</tr>\n")
	}
	w.WriteString(`<table cellpadding="3"><caption>Hottest functions, by their own ` + escape(t.Title) + ", of " +
		escape(t.amount(all, true)) + t.ran(g.head.Waits) + "</caption>\n")
	row("th", "Self", "Share", "Total", "Share", "Function", "Source", "Module")
	for _, f := range g.hottest(typ, staticRows) {
		at := &g.places[f.frame]
		row("td", text.Quantity(float64(f.self), t.Unit), share(float64(f.self), all),
			text.Quantity(float64(f.total), t.Unit), share(float64(f.total), all),
			text.Shorten(at.label(), 200), text.Shorten(at.source(), 300), text.Shorten(bases(at.modules), 300))
	}
	w.WriteString("</table>\n")
}

// facts are lines about the profile as a whole.
func (g *graph) facts(typ int) []string {
	t := g.head.Types[typ]
	facts := []string{t.Title + ": " + t.amount(float64(t.Total), true)}
	if g.head.Duration > 0 {
		facts[0] += fmt.Sprintf(", recorded for %.1f s", g.head.Duration)
	}
	if t.Waiting > 0 || t.OldWaiting > 0 {
		facts = append(facts, t.waiting(g.head.Waits))
	}
	if g.head.Diff {
		facts = append(facts, t.compared())
	}
	if g.head.Smaller > 0 {
		facts = append(facts, g.head.note())
	}
	return append(facts, g.head.Comments...)
}
