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
	f.Var(&o.fold, "fold", "whether native code counts as what called it")
	f.BoolVar(&o.waits, "waits", false, "svg, html: open with waits shown, not folded away")
	f.StringVar(&o.title, "title", "", "svg, html, speedscope: `TEXT` of the heading; by default the command")
}

// foldChoice is the value of --fold.
func foldChoice() choice {
	return choice{"WHAT", "auto", []word{
		{"auto", "native for top, the summary and the first view of a page, if most of the time is in functions of " +
			"a language; else none"},
		{"native", "native code counts as the function of a language that called it"},
		{"none", "every frame counts as itself"}}}
}
