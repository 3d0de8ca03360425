package cmd

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// allCommands are all that a person can call, also those that cobra makes.
func allCommands() []*cobra.Command {
	a := &app{stdout: io.Discard, stderr: io.Discard}
	root := a.root()
	a.addRest(root)
	var all []*cobra.Command
	var add func(*cobra.Command)
	add = func(c *cobra.Command) {
		all = append(all, c)
		for _, sub := range c.Commands() {
			if !sub.Hidden {
				add(sub)
			}
		}
	}
	add(root)
	return all
}

// TestHelpFitsTerminal holds that help is at most 80 columns wide, that its texts begin in one column, and that its
// first page fits a terminal.
func TestHelpFitsTerminal(t *testing.T) {
	for _, c := range allCommands() {
		var out bytes.Buffer
		c.SetOut(&out)
		(&app{}).showHelp(c, nil)
		page, most := strings.Count(out.String(), "\n"), commandPage
		if !c.HasParent() {
			most = rootPage
		}
		if page > most {
			t.Errorf("help of %s: %d lines, want at most %d", c.CommandPath(), page, most)
		}
		writeHelp(&out, c)
		for line := range strings.Lines(out.String()) {
			line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "        ")
			if n := utf8.RuneCountInString(line); n > helpWidth {
				t.Errorf("help of %s: %d columns: %q", c.CommandPath(), n, line)
			}
			if flag := strings.TrimLeft(line, " "); !strings.HasPrefix(flag, "-") || !strings.HasPrefix(line, "  ") {
				continue
			}
			column := []rune(line)
			if len(column) <= flagColumn || column[flagColumn-1] != ' ' || column[flagColumn] == ' ' {
				t.Errorf("help of %s: no text at column %d: %q", c.CommandPath(), flagColumn, line)
			}
		}
	}
}

// TestHelpSections holds that every flag has a text, and that those of the commands that take most are divided.
func TestHelpSections(t *testing.T) {
	for _, c := range allCommands() {
		flags, titles := 0, 0
		c.Flags().VisitAll(func(f *pflag.Flag) {
			flags++
			titles += len(f.Annotations[sectionKey])
			if strings.TrimSpace(flagText(f)) == "" {
				t.Errorf("%s --%s has no text", c.CommandPath(), f.Name)
			}
			if choice, ok := f.Value.(chooser); ok {
				for _, w := range choice.words() {
					if !strings.Contains(flagText(f), w.word) || w.means == "" {
						t.Errorf("%s --%s: %q is not explained", c.CommandPath(), f.Name, w.word)
					}
				}
			}
		})
		if flags > 5 && titles < 2 {
			t.Errorf("%s: %d flags in %d sections", c.CommandPath(), flags, titles)
		}
	}
}

// TestManPages holds that each command has a page with all that its help says, which groff takes without a warning.
func TestManPages(t *testing.T) {
	for _, c := range allCommands() {
		page := manPage(c)
		want := []string{".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS", ".SH EXIT STATUS", ".B 64"}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			want = append(want, roff("--"+f.Name))
			if choice, ok := f.Value.(chooser); ok {
				for _, w := range choice.words() {
					want = append(want, `.IP \fI`+w.word+`\fR`)
				}
			}
		})
		if c.HasParent() && c.Parent() == c.Root() && c.Name() != "help" && c.Name() != "completion" {
			want = append(want, ".B 0\n")
		}
		for _, s := range want {
			if !strings.Contains(page, s) {
				t.Errorf("page of %s has no %q", c.CommandPath(), s)
			}
		}
		checkRoff(t, c.CommandPath(), page)
	}
}

// checkRoff lets groff read page, where it is installed.
func checkRoff(t *testing.T, name, page string) {
	t.Helper()
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Logf("groff is not installed: the page of %s is not read by it", name)
		return
	}
	run := exec.Command(groff, "-man", "-Kutf8", "-Tutf8", "-ww")
	run.Stdin = strings.NewReader(page)
	var complaint bytes.Buffer
	run.Stderr = &complaint
	if out, err := run.Output(); err != nil || complaint.Len() > 0 || len(out) == 0 {
		t.Errorf("groff on the page of %s: %v, %d bytes\n%s", name, err, len(out), complaint.String())
	}
}

// TestFirstPages holds that what is on a first page is an option of the command.
func TestFirstPages(t *testing.T) {
	for _, c := range allCommands() {
		for _, name := range firstPages[c.Name()] {
			if c.Flags().Lookup(name) == nil {
				t.Errorf("%s has no --%s, which is on its first page of help", c.CommandPath(), name)
			}
		}
	}
}
