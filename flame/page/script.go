package page

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"strings"
)

// pageParts are the files of assets/page in the order in which they run. They share one scope, that of the
// function which the loader calls: each is a script by itself, named after what it knows.
var pageParts = []string{
	"page/document.js", // the elements
	"page/address.js",  // the state, and how the address keeps it
	"page/view.js",     // the call tree after all filters
	"page/render.js",   // what follows from a change of state: bar, chips
	"page/draw.js",     // layout, canvas
	"page/time.js",     // strip and lanes of threads over one axis of time
	"page/select.js",   // one frame: details, where it is
	"page/pointer.js",  // mouse and fingers, menu of a frame, copying
	"page/menus.js",    // menus of the bar
	"page/search.js",
	"page/tables.js",
	"page/tree.js",
	"page/keys.js", // last: it shows the first view
}

// pageScript is what the page has besides core.js.
func pageScript() (string, error) {
	helpers, err := sources("page/element.js")
	if err != nil {
		return "", err
	}
	body, err := sources(pageParts...)
	return helpers + "function start(data) {\n" + body + "}\n", err
}

// pictureScript is what the SVG has besides core.js.
func pictureScript() (string, error) { return sources("svg.js") }

// scripts returns the script that a document holds in plain, and the one that it unpacks
// and runs: what all forms share, and what own gives.
func scripts(own func() (string, error)) (loader, script string, err error) {
	if loader, err = sources("load.js"); err != nil {
		return "", "", err
	}
	if script, err = sources("core.js"); err != nil {
		return "", "", err
	}
	constants, err := description()
	if err != nil {
		return "", "", err
	}
	form, err := own()
	return loader, script + constants + form, err
}

// zipped writes base64 of gzip of script.
func zipped(w io.Writer, script string) error {
	out := base64.NewEncoder(base64.StdEncoding, w)
	zip, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(zip, script); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	return out.Close()
}

// sources joins files of assets, without the lines that are comments and without
// indentation: those are for who reads the source.
func sources(names ...string) (string, error) {
	var b strings.Builder
	for _, name := range names {
		data, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimLeft(line, "\t")
			if line != "\n" && !strings.HasPrefix(line, "//") {
				b.WriteString(line)
			}
		}
	}
	return b.String(), nil
}

// digest is the source expression for an inline script or style.
// Source: Content Security Policy Level 3, section 2.3.1 (hash-source).
func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
