package cmd

import "github.com/spf13/pflag"

// viewOptions are the flags that say what of a profile is written, and how.
type viewOptions struct {
	typ      string
	threads  bool
	minShare share
	all      bool
	waits    bool
	fold     choice
	title    string
}

// register adds the flags to f.
func (o *viewOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.typ, "type", "", "the `VALUE` shown: samples, wall or cpu; by default what the profile says")
	f.BoolVar(&o.threads, "threads", false, "process and thread as the outermost frames")
	f.Var(&o.minShare, "min-share", "svg, html: leave out frames below this `SHARE`")
	f.BoolVar(&o.all, "all", false, "svg, html: every frame, not only the largest 500,000")
	o.fold = foldChoice()
	f.Var(&o.fold, "fold", "frames to add to those that called them")
	f.BoolVar(&o.waits, "waits", false, "svg, html: open with waits shown, not folded away")
	f.StringVar(&o.title, "title", "", "svg, html, speedscope: `TEXT` of the heading; by default the command")
}

// foldChoice is the value of --fold.
func foldChoice() choice {
	return choice{"WHAT", "auto", []word{
		{"auto", "as native in top, in the summary and as a page opens, if most of what ran is a language's; else as none"},
		{"native", "native code below a function of a language is that function's"},
		{"none", "every frame is its own"}}}
}
