// Package page draws a profile as a flame graph that a person stays in: an HTML page and an
// SVG, each one file that needs nothing else.
//
// Both hold a picture and a table that are readable without script (in print, in an image, on
// a host that forbids scripts), the call tree in packed form, and a script that replaces the
// picture by one that can be searched, zoomed, turned over and filtered. They load nothing,
// and the HTML page forbids itself to: its content security policy names its own script and
// style by hash.
//
// The caller provides profiles that pass CheckValid. Names in them may hold any bytes: they
// are cleaned and escaped here, and reach the document as text alone. The same profile and
// options give the same bytes. It is not for exchange with other programs: the packing may
// change with each version (see pack.go).
package page

import (
	"bufio"
	"embed"
	"fmt"
	"io"
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// maxFrames is how many frames of the call tree are kept unless Options.All is set.
const maxFrames = 500_000

// Options says what is shown, and how at first. The zero value is usable.
type Options struct {
	// Type is the index in Profile.Types of the value shown first.
	Type int
	// Title is at the top; "" makes one from the command recorded.
	Title string
	// Threads puts a frame for the process and one for the thread at the root of each stack.
	Threads bool
	// MinShare leaves out frames below this share of the whole, from 0 to 1.
	MinShare float64
	// All keeps every frame, however many there are, unless MinShare leaves it out.
	All bool
	// Static leaves out data and script: the picture alone.
	Static bool
	// Inverted draws the root at the top (an icicle graph).
	Inverted bool

	// Waits shows from the first what waits. Without it, it is folded away behind a switch that says how much it is,
	// unless nothing else is there.
	Waits bool
	// Native shows native code from the first. Without it, a page of which most is a language's opens with native code
	// below its functions folded into them, behind a switch; in a picture all is shown.
	Native bool

	// Sources is the text of source files by the File of frames; the page shows the lines of functions with it. All of
	// it is written into the page: the caller bounds it.
	Sources map[string]profile.Source

	// Diff, if set, is shown instead of a profile: its newer side, and how that differs from the older one.
	Diff *profile.Diff

	// Warn is called with each sentence that a person should be told, as the number of
	// frames too small to be kept. The page says them too. nil: nobody is told.
	Warn func(message string)
}

//go:embed assets
var assets embed.FS

// HTML writes p, or opt.Diff, as a page. It fails where w does, and on options that do not fit p.
func HTML(w io.Writer, p *profile.Profile, opt Options) error {
	g, err := prepare(p, &opt)
	if err != nil {
		return fmt.Errorf("write flame graph page: %w", err)
	}
	out := bufio.NewWriterSize(w, 1<<16)
	if err := g.writeHTML(out, opt); err != nil {
		return fmt.Errorf("write flame graph page: %w", err)
	}
	return nil
}

// SVG writes p, or opt.Diff, as a picture. It fails where w does, and on options that do not fit p.
func SVG(w io.Writer, p *profile.Profile, opt Options) error {
	g, err := prepare(p, &opt)
	if err != nil {
		return fmt.Errorf("write flame graph picture: %w", err)
	}
	out := bufio.NewWriterSize(w, 1<<16)
	if err := g.writeSVG(out, opt); err != nil {
		return fmt.Errorf("write flame graph picture: %w", err)
	}
	return nil
}

// prepare checks opt against p, fills what it leaves open, and makes the graph.
func prepare(p *profile.Profile, opt *Options) (*graph, error) {
	if opt.Diff != nil {
		p = opt.Diff.New
	}
	if opt.Type < 0 || opt.Type >= len(p.Types) {
		return nil, fmt.Errorf("value %d of %d", opt.Type, len(p.Types))
	}
	if !(opt.MinShare >= 0 && opt.MinShare <= 1) {
		return nil, fmt.Errorf("smallest share %v: expected 0 to 1", opt.MinShare)
	}
	if opt.Title == "" {
		opt.Title = strings.Join(p.Command, " ")
	}
	if opt.Title == "" {
		opt.Title = "Flame graph"
	}
	opt.Title = clean(opt.Title)
	g := newGraph(p, *opt)
	if opt.Warn != nil && g.head.Smaller > 0 {
		opt.Warn(g.head.note())
	}
	return g, nil
}
