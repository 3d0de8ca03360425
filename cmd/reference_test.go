package cmd

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/text"
)

var update = flag.Bool("update", false, "write docs/options.md")

// TestReference holds that docs/options.md is what the flags and the table of what means something say.
func TestReference(t *testing.T) {
	const path = "../docs/options.md"
	want := reference()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/options.md is not what the flags say (%v): go test ./cmd -run TestReference -update", err)
	}
}

// reference describes all options of all commands.
func reference() []byte {
	var b bytes.Buffer
	b.WriteString(strings.ReplaceAll(`# Options

Made from the flags by 'go test ./cmd -run TestReference -update'. 'fpstack man COMMAND' says the same.

A time is seconds, or a number with its unit: '10', '10s', '500ms', '5m'. A share is '5%' or '0.05'. A size is '64M'
or '1G'. An option that has no effect in a call, and two that contradict, are refused with status 64.
`, "'", "`"))
	for _, c := range allCommands() {
		if c.Name() == "dump" || c.HasParent() && c.Parent() != c.Root() || !hasOptions(c) {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n    %s\n", c.CommandPath(), useLine(c))
		if !hasTopics(c) {
			b.WriteByte('\n')
		}
		if c == c.Root() {
			b.WriteString("\n`fpstack dump` is the same.\n")
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				writeOption(&b, f)
			}
		})
		writeRules(&b, c.Name())
	}
	return b.Bytes()
}

// item writes a line of a list, which goes on in further lines.
func item(b *bytes.Buffer, indent int, line string) {
	b.WriteString(strings.Repeat(" ", indent) + text.Wrap("- "+line, 116-indent, indent+2) + "\n")
}

// hasTopics reports whether options of c stand below titles.
func hasTopics(c *cobra.Command) bool {
	found := false
	c.Flags().VisitAll(func(f *pflag.Flag) { found = found || len(f.Annotations[sectionKey]) > 0 })
	return found
}

func hasOptions(c *cobra.Command) bool {
	n := 0
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			n++
		}
	})
	return n > 0
}

// writeOption writes an option, the words that it takes, and a topic before it where one begins.
func writeOption(b *bytes.Buffer, f *pflag.Flag) {
	if title := f.Annotations[sectionKey]; len(title) > 0 {
		fmt.Fprintf(b, "\n%s:\n\n", title[0])
	}
	_, means := pflag.UnquoteUsage(f)
	if value := flagDefault(f); value != "" {
		means += " (default " + value + ")"
	}
	item(b, 0, "`"+strings.TrimSpace(flagLeft(f))+"`: "+means)
	if c, ok := f.Value.(chooser); ok {
		for _, w := range c.words() {
			item(b, 2, "`"+w.word+"`: "+w.means)
		}
	}
}

// writeRules writes what is refused.
func writeRules(b *bytes.Buffer, command string) {
	for i, r := range rules[command] {
		if i == 0 {
			b.WriteString("\nRefused:\n\n")
		}
		var options []string
		for _, o := range strings.Fields(r.options) {
			options = append(options, code(o))
		}
		word, from := " with ", r.not
		if r.only != "" {
			word, from = " without ", r.only
		}
		item(b, 0, strings.Join(options, ", ")+word+anyOf(strings.Split(from, "|"), code)+": "+r.why)
	}
}

// code is a circumstance as Markdown shows it.
func code(circumstance string) string {
	name := spelled(circumstance)
	if strings.HasPrefix(name, "--") {
		return "`" + name + "`"
	}
	return name
}
