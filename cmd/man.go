package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// statusKey is the annotation of a command that lists its exit statuses.
const statusKey = "fpstack-status"

// exitStatus is the annotation of a command whose exit statuses are these: status, meaning, and so on.
func exitStatus(pairs ...string) map[string]string {
	return map[string]string{statusKey: strings.Join(pairs, "\n")}
}

// manCommand prints the manual page of fpstack or of one of its commands.
func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "man [COMMAND]",
		Short:       "Print the manual page, of all or of one command",
		Example:     "  fpstack man | man -l -\n  fpstack man record | man -l -",
		Annotations: exitStatus("0", "it was printed"),
		RunE: func(c *cobra.Command, args []string) error {
			a.addRest(c.Root())
			command, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usageError{fmt.Errorf("no command is named %q", strings.Join(args, " "))}
			}
			_, err = io.WriteString(c.OutOrStdout(), manPage(command))
			return err
		},
	}
}

// manPage is the manual page of c, made of what its help shows. Source: man-pages(7), groff_man(7).
func manPage(c *cobra.Command) string {
	var b strings.Builder
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %q 1 \"\" %q fpstack\n", strings.ToUpper(name), "fpstack "+version())
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n", roff(useLine(c)))
	if c.Long != "" {
		b.WriteString(".SH DESCRIPTION\n")
		manText(&b, c.Long)
	}
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	manFlags(&b, c)
	manCommands(&b, c)
	manStatus(&b, c)
	b.WriteString(".SH ENVIRONMENT\n.TP\nNO_COLOR\nno colour, unless \\-\\-color=always is given\n" +
		".TP\nDEBUGINFOD_URLS\nthe servers of \\-\\-debuginfod, separated by spaces\n")
	return b.String()
}

// manText writes text: paragraphs are filled again, indented lines are kept.
func manText(b *strings.Builder, text string) {
	for _, line := range strings.Split(text, "\n") {
		switch {
		case line == "":
			b.WriteString(".PP\n")
		case strings.HasPrefix(line, " "):
			fmt.Fprintf(b, ".br\n\\ %s\n.br\n", roff(line))
		default:
			fmt.Fprintf(b, "%s\n", roff(line))
		}
	}
}

// manFlags writes the flags of c with the words that each takes.
func manFlags(b *strings.Builder, c *cobra.Command) {
	addHelpFlag(c)
	b.WriteString(".SH OPTIONS\n")
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if title := f.Annotations[sectionKey]; len(title) > 0 {
			fmt.Fprintf(b, ".SS %s\n", roff(title[0]))
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(flagLeft(f))), roff(flagText(f)))
		if values, ok := f.Value.(chooser); ok {
			b.WriteString(".RS\n")
			for _, w := range values.words() {
				fmt.Fprintf(b, ".IP \\fI%s\\fR 12\n%s\n", roff(w.word), roff(w.means))
			}
			b.WriteString(".RE\n")
		}
	})
}

func manCommands(b *strings.Builder, c *cobra.Command) {
	below := listed(c)
	if len(below) > 0 {
		b.WriteString(".SH COMMANDS\n")
	}
	for _, sub := range below {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
	}
}

// manStatus writes the exit statuses of c, and that of a mistake on the command line, which all have.
func manStatus(b *strings.Builder, c *cobra.Command) {
	b.WriteString(".SH EXIT STATUS\n")
	var pairs []string
	if c.Annotations[statusKey] != "" {
		pairs = strings.Split(c.Annotations[statusKey], "\n")
	}
	pairs = append(pairs, fmt.Sprint(statusUsage), "the command line is wrong")
	for i := 0; i+1 < len(pairs); i += 2 {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", pairs[i], roff(pairs[i+1]))
	}
}

// roff makes text mean itself: backslashes, hyphens, and lines that begin like a request. groff_char(7)
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
