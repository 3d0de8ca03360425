package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	helpWidth  = 80 // columns of the narrowest terminal that people use
	flagColumn = 28 // where the text of a flag begins
)

// sectionKey is the annotation of the first flag of a section: the section's title.
const sectionKey = "fpstack-section"

// sections divides the flags of f. pairs are the first flag of a section and its title; flags stay in the order in
// which they were added.
func sections(f *pflag.FlagSet, pairs ...string) {
	f.SortFlags = false
	for i := 0; i+1 < len(pairs); i += 2 {
		if err := f.SetAnnotation(pairs[i], sectionKey, []string{pairs[i+1]}); err != nil {
			panic(err) // a flag that no command has: a mistake of the caller
		}
	}
}

// Lines of the first page of help: a command's fits a terminal of the smallest size.
const (
	rootPage    = 30
	commandPage = 24
)

// firstPages are the options on the first page of help, of the commands whose options do not all fit.
var firstPages = map[string][]string{
	"fpstack": {"waits", "children", "tid", "all", "source", "locals", "names", "format", "output", "save", "verbose"},
	"dump":    {"waits", "children", "tid", "all", "source", "locals", "names", "format", "output", "save", "verbose"},
	"record":  {"duration", "output", "children", "rate", "mode", "gil", "open", "quiet"},
	"top":     {"by", "sort", "filter", "idle", "once", "children", "mode", "gil"},
	"hang":    {"watch", "idle", "children", "report", "format", "verbose"},
	"run":     {"deadline", "idle", "warn", "report", "junit", "kill-after", "core"},
	"flame":   {"output", "diff", "threads", "min-share", "fold", "open"},
	"check":   {"require", "module", "format", "verbose"},
	"doctor":  {"push", "format", "verbose"},
	"agent":   {"name", "unit", "config", "push", "interval", "max-overhead"},
}

// showHelp writes the help text of c: its first page, or all of it where that is short or --all is given.
func (a *app) showHelp(c *cobra.Command, _ []string) {
	w := c.OutOrStdout()
	if all, _ := c.Flags().GetBool("all"); !all && firstPages[c.Name()] != nil {
		writeFirstPage(w, c)
		return
	}
	writeHelp(w, c)
}

// writeFirstPage writes what c is for, examples, and the options that are used most.
func writeFirstPage(w io.Writer, c *cobra.Command) {
	about, _, _ := strings.Cut(strings.TrimSpace(c.Long), "\n\n")
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", about, useLine(c))
	if c == c.Root() {
		fmt.Fprint(w, "  fpstack COMMAND …\n")
	}
	fmt.Fprintf(w, "\n%s\n\nOptions:\n", c.Example)
	for _, name := range firstPages[c.Name()] {
		if f := c.Flags().Lookup(name); f != nil {
			writeColumns(w, flagLeft(f), firstClause(f))
		}
	}
	all := "fpstack help --all"
	if c.HasParent() {
		all = "fpstack help " + c.Name() + " --all"
	}
	fmt.Fprintf(w, "\n'%s' shows every option, 'fpstack man' the manual page.\n", all)
}

// firstClause is the first clause of what a flag does, and its words if they fit the line.
func firstClause(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	text, _, _ = strings.Cut(text, "; ")
	if c, ok := f.Value.(chooser); ok {
		if words := text + ": " + orList(c.words()); flagColumn+utf8.RuneCountInString(words) <= helpWidth {
			return words
		}
	}
	return text
}

// writeHelp writes all that c takes, topic by topic. It fits helpWidth columns, as the test of this file holds.
func writeHelp(w io.Writer, c *cobra.Command) {
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", strings.TrimSpace(text), useLine(c))
	if c == c.Root() {
		fmt.Fprintf(w, "  fpstack COMMAND …\n")
	}
	if c.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	writeCommands(w, c)
	writeFlags(w, c)
}

// helpCommand shows the help text of fpstack or of a command.
func (a *app) helpCommand() *cobra.Command {
	all := false
	h := &cobra.Command{
		Use:   "help [COMMAND] [--all]",
		Short: "Show the help text of fpstack or of a command",
		RunE: func(c *cobra.Command, words []string) error {
			about, rest, err := c.Root().Find(words)
			if err != nil || len(rest) > 0 {
				return usageError{fmt.Errorf("no command is named %q", strings.Join(words, " "))}
			}
			addHelpFlag(about)
			if all {
				writeHelp(c.OutOrStdout(), about)
				return nil
			}
			a.showHelp(about, nil)
			return nil
		},
	}
	h.Flags().BoolVar(&all, "all", false, "show every option, topic by topic")
	return h
}

// useLine is how c is called.
func useLine(c *cobra.Command) string {
	if parent := c.Parent(); parent != nil {
		return parent.CommandPath() + " " + c.Use
	}
	return c.Use
}

func writeCommands(w io.Writer, c *cobra.Command) {
	below := listed(c)
	if len(below) > 0 {
		fmt.Fprint(w, "\nCommands:\n")
	}
	for _, sub := range below {
		fmt.Fprintf(w, "  %-11s %s\n", sub.Name(), sub.Short)
	}
}

// listed are the commands below c that people see, in the order of use.
func listed(c *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	if c == c.Root() {
		for _, s := range subcommands() {
			if sub, _, err := c.Find([]string{s.name}); err == nil {
				all = append(all, sub)
			}
		}
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden && !slices.Contains(all, sub) {
			all = append(all, sub)
		}
	}
	return all
}

// writeFlags writes the flags of c, section by section.
func writeFlags(w io.Writer, c *cobra.Command) {
	addHelpFlag(c)
	title := "Options"
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if named := f.Annotations[sectionKey]; len(named) > 0 {
			title = named[0]
		}
		if title != "" {
			fmt.Fprintf(w, "\n%s:\n", title)
			title = ""
		}
		writeColumns(w, flagLeft(f), flagText(f))
	})
}

// addHelpFlag adds --help, as cobra does, with words of ours.
func addHelpFlag(c *cobra.Command) {
	c.InitDefaultHelpFlag()
	c.Flags().Lookup("help").Usage = "show this help"
}

// writeColumns writes left, and beside it text in lines that fit.
func writeColumns(w io.Writer, left, text string) {
	room := flagColumn - utf8.RuneCountInString(left)
	if room < 1 {
		left, room = left+"\n", flagColumn
	}
	line, used := left+strings.Repeat(" ", room), 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		if used > 0 && flagColumn+used+1+n > helpWidth {
			fmt.Fprintln(w, line)
			line, used = strings.Repeat(" ", flagColumn), 0
		}
		if used > 0 {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+n
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}

// flagLeft is how a flag is written: "  -p, --pid PID".
func flagLeft(f *pflag.Flag) string {
	left := "      --" + f.Name
	if f.Shorthand != "" {
		left = "  -" + f.Shorthand + ", --" + f.Name
	}
	if value, _ := pflag.UnquoteUsage(f); value != "" {
		left += " " + value
	}
	return left
}

// flagText is what a flag does, the words that it takes and its default.
func flagText(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	if c, ok := f.Value.(chooser); ok {
		text += ": " + orList(c.words())
	}
	if value := flagDefault(f); value != "" {
		text += " (default " + value + ")"
	}
	return text
}

// flagDefault is the value of a flag that is not given, "" where that says nothing.
func flagDefault(f *pflag.Flag) string {
	switch f.DefValue {
	case "false", "0", "0%", "[]", "-":
		return ""
	}
	return f.DefValue
}

// orList words a choice: "a, b or c".
func orList(words []word) string {
	var b strings.Builder
	for i, w := range words {
		switch {
		case i > 0 && i == len(words)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(w.word)
	}
	return b.String()
}
