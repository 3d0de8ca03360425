//go:build linux

package cmd

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

var update = flag.Bool("update", false, "write the manual pages anew")

// TestManPages holds that the pages are those of the commands' help texts.
func TestManPages(t *testing.T) {
	if *update {
		if err := os.RemoveAll("pages"); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir("pages", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a := &app{stdout: io.Discard, stderr: io.Discard}
	root := a.root()
	a.addRest(root)
	root.DisableAutoGenTag = true
	seen := 0
	walkCommands(root, func(c *cobra.Command) {
		seen++
		title := strings.ToUpper(strings.TrimSuffix(pageName(c), ".1"))
		date := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		var want bytes.Buffer
		if err := doc.GenMan(c, &doc.GenManHeader{Title: title, Section: "1", Source: versionHere, Date: &date}, &want); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("pages", pageName(c))
		if *update {
			if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s is not that of the help text (%v): go test ./cmd -run ManPages -update", path, err)
		}
	})
	if files, _ := filepath.Glob("pages/*.1"); len(files) != seen || seen < 8 {
		t.Errorf("%d pages of %d commands", len(files), seen)
	}
}

// walkCommands calls f for c and what is below it, but for help.
func walkCommands(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		if sub.Name() != "help" && !sub.Hidden {
			walkCommands(sub, f)
		}
	}
}
