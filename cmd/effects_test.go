package cmd

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// sample is a value that flag f takes.
func sample(f *pflag.FlagSet, name string) string {
	flag := f.Lookup(name)
	switch {
	case flag == nil:
		return ""
	case flag.Value.Type() == "bool":
		return "true"
	}
	if c, ok := flag.Value.(chooser); ok {
		return c.words()[0].word
	}
	switch flag.Value.Type() {
	case "int", "float64":
		return "2"
	case "SHARE":
		return "0.5"
	case "N[,N…]":
		return "4194303"
	case "TIME", "TIME|auto":
		return "2s"
	case "SIZE":
		return "1M"
	}
	if name == "push" {
		return "otlp+http://127.0.0.1:1"
	}
	if name == "push-header" || name == "label" {
		return "a: b"
	}
	if name == "type" {
		return "wall"
	}
	return "some"
}

// TestRulesOnce: no command has a rule twice, which docs/options.md would show.
func TestRulesOnce(t *testing.T) {
	for command, all := range rules {
		seen := map[rule]bool{}
		for _, r := range all {
			if seen[r] {
				t.Errorf("%s has this rule twice: %+v", command, r)
			}
			seen[r] = true
		}
	}
}

// words are those of a command line that makes a circumstance hold.
func words(t *testing.T, f *pflag.FlagSet, circumstance string) []string {
	t.Helper()
	name, value, valued := strings.Cut(circumstance, "=")
	switch circumstance {
	case ofProcess:
		return []string{"-p", "4194304"}
	case ofCommand:
		return []string{"--", "true"}
	case toFile:
		return []string{"-o", filepath.Join(t.TempDir(), "out")}
	case string(saved), string(document):
		return []string{kinds(t, content(circumstance))}
	case "format=none":
		return []string{"--push", "otlp+http://127.0.0.1:1"}
	}
	if f.Lookup(name) == nil {
		t.Errorf("no flag and no circumstance is called %q", circumstance)
		return nil
	}
	if !valued {
		value = sample(f, name)
	}
	return []string{"--" + name + "=" + value}
}

// kinds makes a file of that content.
func kinds(t *testing.T, what content) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kept")
	data := bytes.NewBufferString(`{"schema":"fpstack.dump/1"}`)
	if what == saved {
		data.Reset()
		z := gzip.NewWriter(data)
		io.WriteString(z, "fpstack snapshot 1\n")
		z.Close()
	}
	if err := os.WriteFile(path, data.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// subjects are words that each command needs besides its options.
var subjects = map[string][]string{"flame": {"/nowhere"}, "run": {"--", "true"}, "agent": {"-n", "x"}}

// commandLine is a call of c with these options.
func commandLine(c *cobra.Command, options ...[]string) []string {
	var line, command []string
	if c.HasParent() {
		line = append(line, c.Name())
	}
	given := false
	for _, o := range options {
		if len(o) > 0 && o[0] == "--" {
			command, given = o, true
			continue
		}
		line = append(line, o...)
		given = given || len(o) > 0 && (o[0] == "-p" || !strings.HasPrefix(o[0], "-"))
	}
	if c.Name() == "agent" {
		line = append(line, "--push=otlp+http://127.0.0.1:1")
	}
	if subject, ok := subjects[c.Name()]; ok && !given {
		line = append(line, subject...)
	} else if !given {
		line = append(line, "-p", "4194304")
	}
	return append(line, command...)
}

// TestEachPair runs each pair of the table that contradicts, and each option without what it needs: status 64, and both
// are named. A line of the table without effect, or one that another says already, fails.
func TestEachPair(t *testing.T) {
	t.Setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1")
	for _, c := range allCommands() {
		f := c.Flags()
		for i := range rules[c.Name()] {
			r := &rules[c.Name()][i]
			for _, option := range strings.Fields(r.options) {
				if r.only != "" && r.only != ofProcess {
					checkRefused(t, commandLine(c, words(t, f, option), otherFormat(f, r.only)), spelled(option))
				}
				for _, other := range strings.Split(r.not, "|") {
					if other != "" {
						checkRefused(t, commandLine(c, words(t, f, option), words(t, f, other)), spelled(option))
					}
				}
				if r.only == ofProcess {
					checkRefused(t, commandLine(c, words(t, f, option), []string{kinds(t, document)}), spelled(option))
				}
			}
		}
	}
}

// otherFormat chooses a format that is none of only; nothing where that is about no formats.
func otherFormat(f *pflag.FlagSet, only string) []string {
	if !strings.HasPrefix(only, "format=") {
		return nil
	}
	for _, w := range f.Lookup("format").Value.(chooser).words() {
		if !slices.Contains(strings.Split(only, "|"), "format="+w.word) {
			return []string{"-f", w.word}
		}
	}
	return nil
}

func checkRefused(t *testing.T, line []string, option string) {
	t.Helper()
	var out, complaint bytes.Buffer
	if got := Execute(line, &out, &complaint); got != statusUsage || out.Len() > 0 {
		t.Errorf("fpstack %q: status %d, want %d; %s%s", line, got, statusUsage, out.String(), complaint.String())
	} else if !strings.Contains(complaint.String(), option+" with") {
		t.Errorf("fpstack %q: %q does not name %q", line, complaint.String(), option)
	}
}

// TestRulesNameOptions: what the table says is about flags that there are, of commands that there are.
func TestRulesNameOptions(t *testing.T) {
	a := &app{stdout: io.Discard, stderr: io.Discard}
	root := a.root()
	a.addRest(root)
	all := append([]*cobra.Command{root}, root.Commands()...)
	for name, of := range rules {
		i := slices.IndexFunc(all, func(c *cobra.Command) bool { return c.Name() == name })
		if i < 0 {
			t.Errorf("no command is named %q", name)
			continue
		}
		for _, r := range of {
			for _, option := range strings.Fields(r.options) {
				flag, value, _ := strings.Cut(option, "=")
				known := all[i].Flags().Lookup(flag)
				if known == nil || value != "" && known.Value.Set(value) != nil {
					t.Errorf("%s: no option is %q", name, option)
				}
			}
			if r.why == "" || r.not == "" && r.only == "" {
				t.Errorf("%s: %q has no reason or no condition", name, r.options)
			}
		}
	}
}
