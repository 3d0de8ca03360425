package cmd

import (
	"fmt"

	"github.com/spf13/pflag"
)

// viewOptions are the flags that say what of a profile is written, and how.
type viewOptions struct {
	typ       string
	threads   bool
	threadIDs bool
	annotate  bool
	minShare  share
	all       bool
	static    bool
	waits     bool
	fold      choice
	width     int
	title     string
}

// register adds the flags to f.
func (o *viewOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.typ, "type", "", "the `VALUE` shown: samples, wall or cpu; by default what the profile says")
	f.BoolVar(&o.threads, "threads", false, "process and thread as the outermost frames")
	f.BoolVar(&o.threadIDs, "thread-ids", false, "folded: the same with their ids")
	f.BoolVar(&o.annotate, "annotate", false, "folded: mark frames as _[k] kernel, _[j] JIT, _[i] inlined")
	f.Var(&o.minShare, "min-share", "svg, html: leave out frames below this `SHARE`")
	f.BoolVar(&o.all, "all", false, "svg, html: every frame, not only the largest 500,000")
	o.fold = foldChoice()
	f.Var(&o.fold, "fold", "frames to add to those that called them")
	f.BoolVar(&o.static, "static", false, "svg, html: the picture alone, without data and script")
	f.BoolVar(&o.waits, "waits", false, "svg, html: open with waits shown, not folded away")
	f.IntVar(&o.width, "width", 0, "svg: `N` pixels wide; by default as wide as the window")
	f.StringVar(&o.title, "title", "", "svg, html, speedscope: `TEXT` of the heading; by default the command")
}

// foldChoice is the value of --fold.
func foldChoice() choice {
	return choice{"WHAT", "none", []word{{"none", "every frame is its own"},
		{"native", "native code below a function of a language is that function's"}}}
}

// check refuses values that make no sense.
func (o *viewOptions) check() error {
	if o.width < 0 || o.width > 100000 {
		return usageError{fmt.Errorf("--width %d: want 1 to 100000, or 0 for the width of the window", o.width)}
	}
	return nil
}
