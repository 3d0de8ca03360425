package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/flame"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// flameOptions are the flags of flame.
type flameOptions struct {
	viewOptions
	output   string
	format   choice
	diff     string
	absolute bool
	quiet    bool
	open     bool
	flags    *pflag.FlagSet
}

// flameCommand turns profiles into other formats.
func (a *app) flameCommand() *cobra.Command {
	o := &flameOptions{format: profileForm()}
	c := &cobra.Command{
		Use:   "flame [OPTION…] FILE…",
		Short: "Turn profiles into a flame graph or compare two",
		Long: `Turn profiles into a flame graph or another format, or compare two.

It reads folded text, the text of perf script, pprof, V8's .cpuprofile and
fpstack's own JSON, recognised by content.
Several files are added up; - is standard input.

The ending of -o chooses the format:
  ` + allEndings() + `
Without -o the result goes to standard output as SVG, or, on a terminal, to a
new file FILE.html in the current folder.`,
		Example: `  fpstack flame out.folded -o out.svg
  fpstack flame new.pb.gz --diff old.pb.gz -o diff.html
  fpstack flame a.json b.json -o both.pb.gz
  perf script | fpstack flame - > out.svg`,
		Annotations: exitStatus("0", "everything was read and written", "1", "some lines were not understood",
			"2", "nothing was written"),
		RunE: func(c *cobra.Command, files []string) error {
			if err := o.check(files); err != nil {
				return err
			}
			return a.flame(a.endable(c.Context()), o, files)
		},
	}
	f := c.Flags()
	o.flags = f
	outputFlag(f, &o.output)
	f.Lookup("output").DefValue, o.output = "", ""
	f.VarP(&o.format, "format", "f", "format of the output; by default from the ending of -o")
	f.BoolVar(&o.open, "open", false, "show the page in the browser of the desktop")
	f.StringVar(&o.diff, "diff", "", "compare with this `OLDER` profile")
	f.BoolVar(&o.absolute, "absolute", false, "compare values as they are, not scaled to the same duration")
	o.viewOptions.register(f)
	f.BoolVarP(&o.quiet, "quiet", "q", false, "only errors")
	sections(f, "output", "Result", "diff", "Input", "type", "What is written", "quiet", "Messages")
	return c
}

// check refuses values that make no sense together.
func (o *flameOptions) check(files []string) error {
	if o.diff != "" {
		files = append([]string{o.diff}, files...)
	}
	stdin := 0
	for _, file := range files {
		if file == "-" {
			stdin++
		}
	}
	switch {
	case len(files) == 0, o.diff != "" && len(files) == 1:
		return usageError{fmt.Errorf("no profile given: name a FILE, or - for standard input")}
	case stdin > 1:
		return usageError{fmt.Errorf("standard input (-) can be read only once")}
	}
	return nil
}

// flame reads, compares with --diff, and writes.
func (a *app) flame(_ context.Context, o *flameOptions, files []string) error {
	to, err := a.destine(o.output, o.format.word, "svg", flameStem(files[0]), o.open)
	if err != nil {
		return err
	}
	if err := checkEffects("flame", o.flags, "format="+to.form.name); err != nil {
		return err
	}
	defer a.heed(a.end)()
	debug.SetGCPercent(recordGC)
	newer, whole, err := a.readProfiles(o, files)
	if err != nil {
		return err
	}
	var older *profile.Profile
	if o.diff != "" {
		oldWhole := false
		if older, oldWhole, err = a.readProfiles(o, []string{o.diff}); err != nil {
			return err
		}
		whole = whole && oldWhole
	}
	if o.title == "" && len(newer.Command) == 0 {
		o.title = flameTitle(files, o.diff)
	}
	v, err := newView(newer, older, o.absolute, &o.viewOptions, a.warner(o.quiet))
	if err != nil {
		return err
	}
	path, err := a.store(&to, func(w io.Writer) error { return to.form.write(w, v) })
	if err != nil {
		return err
	}
	if to.stem != "" {
		fmt.Fprintf(a.stderr, "wrote %s%s\n", text.Message(path), to.form.unitNote(v))
	}
	if o.open {
		if err := openPage(path); err != nil {
			a.complain(err)
			whole = false
		}
	}
	if older != nil && !o.quiet {
		writeChanges(a.stderr, dresser(nil), v.diff, 10, terminalWidth(a.stderr))
	}
	if !whole {
		return errPart
	}
	return nil
}

// warner returns what writes a remark on a result, unless quiet.
func (a *app) warner(quiet bool) func(string) {
	return func(message string) {
		if !quiet {
			fmt.Fprintf(a.stderr, "fpstack: %s\n", text.Message(message))
		}
	}
}

// readProfiles adds files up. Lines that were not understood are reported, and whole is false; what was taken for a
// comparison by its looks is reported too.
func (a *app) readProfiles(o *flameOptions, files []string) (sum *profile.Profile, whole bool, err error) {
	whole = true
	var all []*profile.Profile
	for _, file := range files {
		p, report, err := readProfile(file)
		if err != nil {
			return nil, false, err
		}
		if report.Skipped > 0 {
			a.complain(fmt.Errorf("profile %s: %d of %d lines were not understood; the first is line %d: %q",
				fileLabel(file),
				report.Skipped, report.Skipped+report.Lines, report.Number, report.First))
			whole = false
		}
		if report.Joined > 0 {
			a.warner(o.quiet)(fmt.Sprintf("profile %s: %s", fileLabel(file), report.JoinedNote()))
		}
		all = append(all, p)
	}
	if len(all) == 1 {
		return all[0], whole, nil
	}
	sum, err = profile.Merge(all...)
	return sum, whole, err
}

// flameTitle is the heading of what says nothing of itself.
func flameTitle(files []string, diff string) string {
	var names []string
	for _, file := range files {
		if file != "-" {
			names = append(names, filepath.Base(file))
		}
	}
	title := strings.Join(names, ", ")
	if diff != "" && diff != "-" && title != "" {
		title += " compared with " + filepath.Base(diff)
	}
	return title
}

// fileLabel names a file in a message.
func fileLabel(file string) string {
	if file == "-" {
		return "on standard input"
	}
	return strconv.Quote(file)
}

// flameStem names what is made of file.
func flameStem(file string) string {
	if file == "-" {
		return "fpstack"
	}
	name := filepath.Base(file)
	if f := formOfFile(name); f != nil {
		for _, ending := range f.endings {
			if len(name) > len(ending) && strings.EqualFold(name[len(name)-len(ending):], ending) {
				name = name[:len(name)-len(ending)]
				break
			}
		}
	}
	return text.FileName(name)
}

// readProfile reads one file.
func readProfile(file string) (*profile.Profile, flame.FoldedReport, error) {
	in := os.Stdin
	if file != "-" {
		var err error
		if in, err = os.Open(file); err != nil {
			return nil, flame.FoldedReport{}, fmt.Errorf("read profile: %w", err)
		}
		defer in.Close()
	}
	p, report, err := flame.Read(in)
	if err != nil {
		return nil, report, fmt.Errorf("profile %s: %w", fileLabel(file), err)
	}
	return p, report, nil
}
